package mode

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

// What is not as its gate showed it is shown again, by a gate of its own, and
// an approval is of the head of its gate.
func TestWhatChangedIsShownAgain(t *testing.T) {
	const begin = "session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; verify tree mix on new; verify tree mix on base; "
	for name, c := range map[string]struct {
		moved land.Moved
		said  string
		heads string
		noYes bool
	}{
		"the target, as shown": {
			land.Moved{Target: "new", Head: "c-main", Tree: "mix"},
			begin + "merge into trunk, verified true: true", "c-main c-main", false,
		},
		"the target, otherwise": {
			land.Moved{Target: "new", Head: "c-main", Tree: "mix", Why: "other files: a.go"},
			begin + "gate merge-2: approve; merge into trunk, verified true: true", "c-main c-main", false,
		},
		"the branch": {
			land.Moved{Target: "new", Head: "hers", Tree: "mix", Why: "somebody moved it", ByHand: true},
			begin + "gate merge-2: approve; merge into trunk, verified true: true", "c-main hers", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.merges = []land.MergeOutcome{{Moved: &c.moved}}
			if got := s.play(input); got != merged {
				t.Errorf("ended %+v", got)
			}
			if got := strings.Join(s.said, "; "); got != c.said {
				t.Errorf("happened:\n  %s\nwant:\n  %s", got, c.said)
			}
			var heads []string
			for _, m := range s.merged {
				heads = append(heads, string(m.Head))
			}
			if got := strings.Join(heads, " "); got != c.heads {
				t.Errorf("merged %s, want %s", got, c.heads)
			}
			gates := s.allGates()
			last := gates[len(gates)-1]
			if c.moved.Why != "" && (!strings.Contains(last.Body, c.moved.Why) || last.NoYes != c.noYes || last.Head != c.moved.Head || last.Base != "new") {
				t.Errorf("the gate is %+v", last)
			}
			if d := gates[0].Decision; d.Head != "c-main" || d.Base != "base" {
				t.Errorf("the approval is of %s from %s", d.Head, d.Base)
			}
			err := s.db.Write(t.Context(), func(tx *store.Tx) error {
				_, err := registry.Decide(tx, gates[0].ID, agency.Decision{Verb: agency.Approve, By: "late"})
				return err
			})
			if agency.KindOf(err) != agency.KindConflict {
				t.Errorf("an answer to a gate that was answered: %v", err)
			}
		})
	}
}

func (s *stage) allGates() (out []agency.Gate) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), func(q *store.Snapshot) (err error) {
		out, err = registry.Gates(q, run)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// A branch that is to keep the work and is held back asks again.
func TestHeldBranchAsksAgain(t *testing.T) {
	s, in := newStage(t), input
	in.Land = agency.LandBranch
	s.held = []string{"it is checked out in ../linked"}
	if got := s.play(in); !got.Succeeded || got.Reason != "landed on its branch" {
		t.Errorf("ended %+v", got)
	}
	gates := s.allGates()
	if len(gates) != 2 || !strings.Contains(gates[1].Body, "checked out in ../linked") {
		t.Errorf("%d gates, the last %+v", len(gates), gates[len(gates)-1])
	}
}

// A retry stands on what it needs and has landed since its base was taken.
func TestRetryStandsOnWhatLandedSince(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{plan(part("a"), tests("t", "a"), part("u", "a"))}
	s.byAttempt = map[string]session.Outcome{
		"t 1.1": bug(), "u 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"},
	}
	s.judged = map[string]agency.Verdict{"u 1": red}
	s.landed = map[string]land.Outcome{}
	s.heads = func() agency.OID { return agency.OID("head-" + strings.Repeat("x", len(s.lands))) }
	s.hold = func(open []agency.Gate) bool { return false }
	in := teamInput
	in.Parallel = 2
	if got := s.run(Team, in); got != merged {
		t.Fatalf("ended %+v", got)
	}
	s.order("land a: true", "verify u 1: false", "verify u 2: true", "land u: true")
	bases := map[int]agency.OID{}
	for _, v := range s.claims {
		if v.Contract == "u" {
			bases[v.Attempt] = v.Base
		}
	}
	s.order("land a-fix-1: true", "verify u 1: false")
	if bases[1] == "" || bases[2] == bases[1] {
		t.Errorf("the attempts stand on %v", bases)
	}
}
