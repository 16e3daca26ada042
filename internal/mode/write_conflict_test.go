package mode

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// edited has the sessions of contracts change a file from the run's base on,
// as their turns do.
func (s *stage) edited(file string, by ...agency.ContractID) {
	s.during = func(in session.Spec) error {
		if !slices.Contains(by, in.Contract) {
			return nil
		}
		return s.db.Write(context.Background(), func(tx *store.Tx) error {
			return board.NoteEdits(tx, board.Edits{
				Run: run, Agent: in.Agent, Contract: in.Contract, Turn: string(in.ID()), First: true, Files: []string{file},
			})
		})
	}
}

// ends are the conflicts of the run, each in a line.
func (s *stage) ends() (out []string) {
	s.t.Helper()
	var all []board.Conflict
	if err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { all, err = board.Conflicts(q, run); return err }); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s %v %s by %q: %s (%s %s)", c.Resource, c.Agents, c.Status, c.By, c.How, c.Proof.Kind, c.Proof.Ref))
	}
	return out
}

// The same file changed by two contracts is a conflict until both have landed,
// or until one has ended and never will.
func TestEditsOfATeam(t *testing.T) {
	noIdea := session.Outcome{Kind: session.Incomplete, Reason: "no idea"}
	agents := "x.go [scaffolder-a scaffolder-b] "
	for name, tt := range map[string]struct {
		plan []agency.Contract
		set  func(*stage)
		want []string
	}{
		"both land": {
			[]agency.Contract{part("a"), part("b", "a")},
			func(*stage) {},
			[]string{agents + `resolved by "system": contract b was integrated on top of the other's work (commit c-b)`},
		},
		"the later never lands": {
			[]agency.Contract{part("a"), part("b", "a")},
			func(s *stage) { s.judged = map[string]agency.Verdict{"b 1": red, "b 2": red} },
			[]string{agents + `resolved by "system": contract b ended and changed nothing on the run's branch (contract b)`},
		},
		"git does not show both": {
			[]agency.Contract{part("a"), part("b", "a")},
			func(s *stage) { s.unproved = agency.Errorf(agency.KindInvalid, "not in it") },
			[]string{agents + `escalated by "":  ( )`},
		},
		"one is still to come": {
			[]agency.Contract{part("a"), part("b", "a"), part("c", "b")},
			func(s *stage) {
				s.edited("x.go", "a", "c")
				s.byAttempt = map[string]session.Outcome{"c 1.1": {Kind: session.Stopped, Reason: "cancelled"}}
			},
			[]string{`x.go [scaffolder-a scaffolder-c] resolved by "system": contract c ended and changed nothing on the run's branch (contract c)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.edited("x.go", "a", "b")
			s.plans = []session.Outcome{plan(tt.plan...), noIdea, noIdea}
			tt.set(s)
			s.run(Team, teamInput)
			if diff := cmp.Diff(tt.want, s.ends()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			told := "Conflicts that nothing has resolved:\n- scaffolder-a and scaffolder-b have changed x.go apart from each other (escalated)\n"
			if got := strings.Contains(s.mergeGate(), told); got != (s.unproved != nil) {
				t.Errorf("the merge gate tells of it: %t:\n%s", got, s.mergeGate())
			}
		})
	}
}

// mergeGate is what the first merge gate shows, if there was one.
func (s *stage) mergeGate() string {
	s.t.Helper()
	var g agency.Gate
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { g, err = registry.Gate(q, "run-1.merge-1"); return err })
	return g.Body
}

// A conflict is open while one of its sides is at work, and what has been
// decided is decided once, wherever the process dies.
func TestEditsDieAtEachStep(t *testing.T) {
	set := func(s *stage) {
		s.edited("x.go", "a", "b")
		s.plans = []session.Outcome{plan(part("a"), part("b", "a"))}
	}
	calm := newStage(t)
	set(calm)
	want := calm.run(Team, teamInput)
	diesAtEach(t, Team, teamInput, set, want, 30, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(calm.ends(), s.ends()); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
	})
}
