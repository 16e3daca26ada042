package mode

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// Whether other contracts are open when the base of one is taken goes into its
// verification: the last one answers for all that is red.
func TestTheLastOneHasNobodyBeside(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{plan(part("a"), part("b"), part("c", "a", "b"))}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	got := map[agency.ContractID]bool{}
	for _, spec := range s.claims {
		got[spec.Contract] = spec.OthersOpen
	}
	if diff := cmp.Diff(map[agency.ContractID]bool{"a": true, "b": true, "c": false}, got); diff != "" {
		t.Errorf("verified beside others (-want +got):\n%s", diff)
	}
}

// A check that others kept from passing is made again when all have landed, and
// what it shows then is a failure that a person hears of.
func TestOwedChecksAreMadeAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		last agency.Verdict
		want string
	}{
		"it passes": {agency.Verdict{Pass: true}, ""},
		"it fails":  {agency.Verdict{Reasons: []string{"criterion all: `go test ./...` does not pass"}}, "a: integrated, but when all were: criterion all: `go test ./...` does not pass"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.plans = []session.Outcome{plan(part("a"), part("b"))}
			all := agency.Criterion{ID: "all", Check: &agency.Check{Command: "go test ./..."}}
			v := greenOf("ta")
			v.Proofs = []agency.Proof{{Criterion: all, Proof: agency.ProofAsserted, Others: []string{"TestB"}}}
			s.judged = map[string]agency.Verdict{"a 1": v, "b 1": greenOf("tb")}
			s.verdicts = []agency.Verdict{tt.last}
			if got := s.run(Team, teamInput); got != merged {
				t.Errorf("ended %+v", got)
			}
			s.order("land a: true", "verify tree head on base", "gate merge-1: approve")
			var g agency.Gate
			err := s.db.Read(t.Context(), func(q *store.Snapshot) (err error) { g, err = registry.Gate(q, IncompleteGate("run-1")); return err })
			if (err == nil) != (tt.want != "") || !strings.Contains(g.Body, tt.want) {
				t.Errorf("%v, the gate is %q", err, g.Body)
			}
		})
	}
}
