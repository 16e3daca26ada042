package report

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
)

// What landed on which level, by what; a line that is not on the branch is said to be apart.
func TestLevels(t *testing.T) {
	task := func(id, parent string) agency.Contract {
		c := contract(id, agency.StatusComplete)
		c.ParentID, c.AssignedRole = agency.ContractID(parent), agency.RoleImplementer
		return c
	}
	stream := func(id string, status agency.Status) agency.Contract {
		c := contract(id, status)
		c.AssignedRole = agency.RoleSquadLead
		return c
	}
	on := func(id, commit string, level agency.LandingLevel, name string) agency.Merged {
		return agency.Merged{Contract: agency.ContractID(id), Commit: agency.OID(commit), Level: level, Branch: name, MergeDetails: agency.MergeDetails{Checked: "t-" + agency.OID(commit)}}
	}
	from := Records{
		Contracts: []agency.Contract{stream("w", agency.StatusComplete), task("a", "w"), stream("v", agency.StatusFailed), task("b", "v"), stream("x", agency.StatusInProgress), task("c", "x")},
		Landings: []agency.Merged{
			on("a", "c1", agency.OnWorkstream, "workstream w"), on("b", "c2", agency.OnWorkstream, "workstream v"), on("c", "c3", agency.OnWorkstream, "workstream x"),
			on("w", "c4", agency.OnIntegration, "the integration of web"), on("w", "c5", agency.OnRun, "agency/run/main"),
		},
		Receipts: []agency.Receipt{tested("landing", "t-c5", 0, "T"), tested("landing", "t-c2", 1)},
	}
	r := fold(from, Input{Landed: []git.CommitChanges{{Commit: "c5"}, {Commit: "c4"}, {Commit: "c1"}}})
	var got []string
	for _, l := range r.Rollup.Levels {
		got = append(got, strings.Join([]string{l.Name, agency.JoinIDs(l.Contracts, ","), string(l.Tree), agency.JoinIDs(l.Checks, ","), map[bool]string{true: "apart"}[l.Apart]}, "|"))
	}
	want := []string{"workstream w|a|t-c1||", "workstream v|b|t-c2||apart", "workstream x|c|t-c3||apart", "the integration of web|w|t-c4||", "agency/run/main|w|t-c5|test|"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	status := map[agency.ContractID]agency.Status{}
	for _, c := range r.Contracts {
		status[c.ID] = c.Status
	}
	if status["a"] != agency.StatusComplete || status["b"] != agency.StatusCancelled || status["c"] != agency.StatusComplete || r.Rollup.Complete != 2 {
		t.Errorf("%v", status)
	}
	text, err := Markdown(r)
	if err != nil || !strings.Contains(text, "- agency/run/main: w, as c5; test passed on t-c5") || !strings.Contains(text, "workstream v: b, as c2; no check ran on t-c2; not on the run's branch") {
		t.Errorf("%v\n%s", err, text)
	}
}
