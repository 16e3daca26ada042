package agency

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func stream(id, group, domain string, path ...Tier) Contract {
	return Contract{ID: ContractID(id), Title: id, Phase: group, Domain: domain, TierPath: path}
}

// Every fault of a plan of workstreams is named at once, and t5 is never left out.
func TestValidateTiers(t *testing.T) {
	sound := TierPlan{
		Complexity:  Medium,
		Workstreams: []Contract{stream("a", "A", "web", "t2", "t3", "t4", "t5"), stream("b", "B", "", "t4", "t5")},
		Groups:      map[string][]ContractID{"A": {"a"}, "B": {"b"}}, Sequence: []string{"A", "B"},
	}
	if faults := ValidateTiers(sound); len(faults) > 0 {
		t.Errorf("a sound plan has the faults %v", faults)
	}
	for name, tt := range map[string]struct {
		change func(*TierPlan)
		want   []string
	}{
		"nothing":              {func(p *TierPlan) { *p = TierPlan{} }, []string{"no workstreams"}},
		"no verifier":          {func(p *TierPlan) { p.Workstreams[1].TierPath = []Tier{"t4"} }, []string{"t5 can never be left out"}},
		"a tier in between":    {func(p *TierPlan) { p.Workstreams[0].TierPath = []Tier{"t2", "t4", "t5"} }, []string{"want [t2, t3, t4, t5]"}},
		"an unknown tier":      {func(p *TierPlan) { p.Workstreams[0].TierPath = []Tier{"t1", "t9", "t5"} }, []string{`"t1"`, `"t9"`}},
		"no path":              {func(p *TierPlan) { p.Workstreams[0].TierPath = nil }, []string{"t5 can never be left out"}},
		"no domain":            {func(p *TierPlan) { p.Workstreams[0].Domain = "" }, []string{"has no domain"}},
		"no group":             {func(p *TierPlan) { p.Workstreams[0].Phase = "" }, []string{"has no parallel_group", "names it, and its parallel_group is"}},
		"an unknown group":     {func(p *TierPlan) { p.Workstreams[0].Phase = "C" }, []string{"is none of parallelism.groups", "names it"}},
		"not in its group":     {func(p *TierPlan) { p.Groups["A"] = []ContractID{} }, []string{"does not name it"}},
		"a group of strangers": {func(p *TierPlan) { p.Groups["B"] = []ContractID{"b", "z"} }, []string{`"z", which is no workstream`}},
		"a circle":             {func(p *TierPlan) { p.Sequence = []string{"A", "B", "A"} }, []string{`circle: the group "A" comes twice`}},
		"a group left out":     {func(p *TierPlan) { p.Sequence = []string{"A"} }, []string{`does not name the group "B"`}},
		"no such group":        {func(p *TierPlan) { p.Sequence = []string{"A", "B", "C"} }, []string{`"C", which is no group`}},
		"several":              {func(p *TierPlan) { p.Sequence = nil; p.Complexity = "huge"; p.Workstreams[1].TierPath = []Tier{"t5"} }, []string{"t5", `"A"`, `"B"`, "complexity"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := sound
			p.Workstreams = slices.Clone(sound.Workstreams)
			p.Groups = map[string][]ContractID{"A": {"a"}, "B": {"b"}}
			tt.change(&p)
			faults := ValidateTiers(p)
			for _, want := range tt.want {
				if !slices.ContainsFunc(faults, func(f PlanFault) bool { return strings.Contains(f.String(), want) }) {
					t.Errorf("no fault says %q: %v", want, faults)
				}
			}
		})
	}
	got := sound.Ordered()
	if got[0].AssignedRole != RoleSquadLead || got[1].AssignedRole != RoleImplementer || !slices.Equal(got[1].DependsOn, []ContractID{"a"}) {
		t.Errorf("ordered as %+v", got)
	}
}

// A path only grows, to one that there is, and keeps its end.
func TestAmended(t *testing.T) {
	for _, tt := range []struct {
		path, add []Tier
		before    Tier
		want      string
	}{
		{[]Tier{"t4", "t5"}, []Tier{"t3"}, "t4", "t3 → t4 → t5"},
		{[]Tier{"t4", "t5"}, []Tier{"t2", "t3"}, "t4", "t2 → t3 → t4 → t5"},
		{[]Tier{"t3", "t4", "t5"}, []Tier{"t2"}, "t3", "t2 → t3 → t4 → t5"},
		{[]Tier{"t4", "t5"}, []Tier{"t2"}, "t4", ""},
		{[]Tier{"t4", "t5"}, nil, "t4", ""},
		{[]Tier{"t4", "t5"}, []Tier{"t3"}, "t5", ""},
		{[]Tier{"t4", "t5"}, []Tier{"t3"}, "t3", ""},
		{[]Tier{"t3", "t4", "t5"}, []Tier{"t5"}, "t3", ""},
	} {
		got, err := Amended(tt.path, tt.add, tt.before)
		if PathText(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%v with %v before %s: %s, %v", tt.path, tt.add, tt.before, PathText(got), err)
		}
	}
}

// What was measured wins over what a squad lead says.
func TestMeasuredVerdict(t *testing.T) {
	for name, tt := range map[string]struct {
		said   JointVerdict
		red    []string
		failed []ContractID
		want   string
	}{
		"a pass":                  {JointVerdict{Verdict: JointPass}, nil, nil, JointPass},
		"a pass of a failed task": {JointVerdict{Verdict: JointPass}, nil, []ContractID{"a"}, JointPartial},
		"a pass of red work":      {JointVerdict{Verdict: JointPass}, []string{"TestX fails"}, nil, JointFail},
		"a partial":               {JointVerdict{Verdict: JointPartial, FailedScopes: []ContractID{"a"}}, nil, nil, JointPartial},
		"a partial of nothing":    {JointVerdict{Verdict: JointPartial}, nil, nil, JointFail},
		"a fail":                  {JointVerdict{Verdict: JointFail}, nil, nil, JointFail},
	} {
		if got := tt.said.Measured(tt.red, tt.failed); got.Verdict != tt.want || (got.Verdict != tt.said.Verdict) != (got.Reason != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPlanChanges(t *testing.T) {
	before := []Contract{stream("a", "A", "web", "t4", "t5"), stream("gone", "A", "web", "t4", "t5")}
	now := stream("a", "A", "web", "t3", "t4", "t5")
	want := []string{"- a path: t4 → t5", "+ a path: t3 → t4 → t5", "- gone: gone", "+ new: new (t4 → t5)"}
	if diff := cmp.Diff(want, PlanChanges(before, []Contract{now, stream("new", "A", "web", "t4", "t5")})); diff != "" {
		t.Error(diff)
	}
	if got := PlanChanges(before, before); len(got) > 0 {
		t.Errorf("the same plan differs by %v", got)
	}
}

func TestOwnTierID(t *testing.T) {
	for id, want := range map[ContractID]bool{
		"api": false, "tasks": false, "a-taskset": false, "retry": false, "reworked": false,
		"accept": true, "replan-3": true, "t2-web": true, "web-tasks": true, "web-verdict-102": true, "web-retask": true, "x-r2": true,
		ContractID(strings.Repeat("x", 49)): true,
	} {
		if got := OwnTierID(id); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}
