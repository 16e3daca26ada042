package mode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// The manager reads what was measured, and its words are kept as they are, or
// why there are none.
func TestReportOfATeam(t *testing.T) {
	for name, tt := range map[string]struct {
		out    session.Outcome
		want   agency.ManagerWords
		status agency.Status
	}{
		"words": {session.Outcome{Kind: session.Reported, Report: "All is well."}, agency.ManagerWords{Session: "run-1/report/attempt-1", Text: "All is well."}, agency.StatusComplete},
		"none":  {session.Outcome{Kind: session.Incomplete, Reason: "30 turns"}, agency.ManagerWords{Missing: "30 turns"}, agency.StatusCancelled},
		"no money": {
			session.Outcome{Kind: session.Parked, For: session.ForBudget, Reason: "r"},
			agency.ManagerWords{Missing: "no money is left for it: r"},
			agency.StatusCancelled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
			s.plans = []session.Outcome{plan(part("a"), part("b")), {Kind: session.Incomplete, Reason: "no idea"}, {Kind: session.Incomplete, Reason: "no idea"}}
			s.reports = []session.Outcome{tt.out}
			s.run(Team, teamInput)
			if c := s.contract("report"); c.Status != tt.status || !strings.Contains(c.Inputs.Text("rollup"), "- Contracts: 1 of 2 integrated, 1 failed;") {
				t.Errorf("the contract is %s and tells\n%s", c.Status, c.Inputs.Text("rollup"))
			}
			var got *agency.ManagerWords
			if err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { got, err = registry.Words(q, run); return err }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Report }); i < 0 || s.specs[i].Answer != nil {
				t.Errorf("the sessions are %+v", s.specs)
			}
		})
	}
}
