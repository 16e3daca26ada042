package mode

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

var asksFirst = session.Outcome{Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"}

// late sets the stage for squads of one domain of which v asks a person before it plans. The
// time of the others is up meanwhile; then is what happens while their gates and v's question
// are open, and nothing else is answered.
func (s *stage) late(squads []string, then func(question agency.Gate, gates []agency.Gate)) {
	clock := &handClock{}
	s.clock = clock
	s.byAttempt = map[string]session.Outcome{}
	var paths []string
	for _, id := range squads {
		paths = append(paths, id+": t3 t4 t5 web")
		s.byAttempt[id+"-tasks 1.1"], s.byAttempt[id+"-tasks 1.2"] = drafts("c1", part("t"+id)), tasks(part("t"+id))
	}
	s.byAttempt["plan 1.1"] = streams(paths...)
	s.byAttempt["v-tasks 1.1"], s.byAttempt["v-tasks 1.2"], s.byAttempt["v-tasks 1.3"] = asksFirst, drafts("c2", part("tv")), tasks(part("tv"))
	s.hold = func(open []agency.Gate) bool {
		i := slices.IndexFunc(open, func(g agency.Gate) bool { return g.Kind == agency.GateQuestion })
		var late []agency.Gate
		for _, g := range open {
			if g.Kind == agency.GateEscalation {
				late = append(late, g)
			}
		}
		switch {
		case i >= 0 && len(late) == len(squads)-1:
			then(open[i], late)
		case i < 0 && len(late) == 0:
			return false
		default:
			clock.by(tieredInput.Tiers.MeshTimeout)
		}
		if len(late) > len(squads) {
			s.t.Fatalf("gates without end: %+v", late)
		}
		return true
	}
}

// toMesh are the gates of squads that wait, as they were answered.
func (s *stage) toMesh() (out []string) {
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		all, err := registry.Gates(q, run)
		for _, g := range all {
			if g.Kind == agency.GateEscalation {
				out = append(out, fmt.Sprintf("%s: %s by %s: %s", strings.Split(string(g.ID), "-")[2], g.Decision.Verb, g.Decision.By, g.Decision.Note))
			}
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
	return out
}

// toldOf is what a squad lead was told last of drafts.
func (s *stage) toldOf(id agency.ContractID) string {
	for _, sp := range slices.Backward(s.specs) {
		if sp.Contract == id && sp.Answer != nil && len(sp.Answer.Replies) > 0 {
			return sp.Answer.Replies[0].Text
		}
	}
	return ""
}

// decides records what a person says at a gate; its signal is under way.
func (s *stage) decides(g agency.Gate, d agency.Decision) {
	if err := s.db.Write(context.Background(), func(tx *store.Tx) error { _, err := registry.Decide(tx, g.ID, d); return err }); err != nil {
		s.t.Error(err)
	}
}

// Who comes before a person has answered is not gone on without: the gate is withdrawn, and
// the squads go on.
func TestMeshGateIsWithdrawn(t *testing.T) {
	nothing := session.Outcome{Kind: session.Incomplete, Reason: "no idea"}
	for name, tt := range map[string]struct {
		squads []string
		set    func(*stage)
		want   []string
	}{
		"by a draft": {[]string{"w", "v"}, func(*stage) {}, []string{"w: approve by the harness: v gave its draft"}},
		"of each who waits": {
			[]string{"w", "v", "x"},
			func(*stage) {},
			[]string{"w: approve by the harness: v gave its draft", "x: approve by the harness: v gave its draft"},
		},
		"by an end": {
			[]string{"w", "v"},
			func(s *stage) {
				s.byAttempt["v-tasks 1.2"], s.byAttempt["v-tasks 2.1"], s.byAttempt["replan 1.1"] = nothing, nothing, streams("y: t4 t5 -")
			},
			[]string{"w: approve by the harness: v has ended its planning without tasks"},
		},
		"by a commit": {
			[]string{"w", "v"},
			func(s *stage) {
				s.byAttempt["v-tasks 1.1"], s.byAttempt["v-tasks 1.2"] = drafts("c2", part("tv")), asksFirst
			},
			[]string{"w: approve by the harness: v gave its commit"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.late(tt.squads, func(question agency.Gate, _ []agency.Gate) { s.answer(question) })
			tt.set(s)
			if got := s.run(Tiered, tieredInput); got != merged {
				t.Fatalf("ended %+v: %q", got, s.said)
			}
			got := slices.Sorted(slices.Values(s.toMesh()))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
			if n := len(s.notes("escalation gate withdrawn: v ")); n != len(tt.want) {
				t.Errorf("the log says it %d times", n)
			}
			s.order("session w-tasks 1.2", "land tw: true", "session accept 1.1")
		})
	}
}

// An approval of one counts for all who wait for the same; what was decided before anybody
// came stands, and is told as it was.
func TestMeshGoesOnWithout(t *testing.T) {
	t.Run("for all", func(t *testing.T) {
		s := newStage(t)
		approved := false
		s.late([]string{"w", "v", "x"}, func(_ agency.Gate, gates []agency.Gate) {
			approved = true
			s.answer(gates[0])
		})
		hold := s.hold
		s.hold = func(open []agency.Gate) bool {
			if approved && len(s.notes("escalation gate withdrawn")) > 0 && !slices.ContainsFunc(open, func(g agency.Gate) bool { return g.Kind == agency.GateEscalation }) {
				return false
			}
			return hold(open)
		}
		if got := s.run(Tiered, tieredInput); got != merged {
			t.Fatalf("ended %+v: %q", got, s.said)
		}
		if n := len(s.notes("escalation gate withdrawn: a person decided to go on without v")); n != 1 {
			t.Errorf("%q", s.toMesh())
		}
		if told := s.toldOf("w-tasks"); !strings.Contains(told, "none yet: a person decided to go on without it") {
			t.Errorf("told %s", told)
		}
	})
	t.Run("who came meanwhile", func(t *testing.T) {
		s := newStage(t)
		s.late([]string{"w", "v"}, func(question agency.Gate, gates []agency.Gate) {
			s.decides(gates[0], agency.Decision{Verb: agency.Approve, By: "tester"})
			s.answer(question)
		})
		if got := s.run(Tiered, tieredInput); got != merged {
			t.Fatalf("ended %+v: %q", got, s.said)
		}
		if n := len(s.notes("it was approved to go on without v, but meanwhile v gave its draft")); n != 1 {
			t.Errorf("%q", s.notes(""))
		}
		if told := s.toldOf("w-tasks"); !strings.Contains(told, "tv: Do tv") {
			t.Errorf("told %s", told)
		}
	})
}

// Where the process dies before, in or after a withdrawal, the run goes on by itself.
func TestMeshGateDiesAtEachStep(t *testing.T) {
	set := func(s *stage) {
		s.late([]string{"w", "v"}, func(question agency.Gate, _ []agency.Gate) { s.answer(question) })
	}
	diesAtEach(t, Tiered, tieredInput, set, merged, 60, *stride, func(n int, s *stage) {
		if diff := cmp.Diff([]string{"w: approve by the harness: v gave its draft"}, s.toMesh()); diff != "" {
			t.Errorf("death %d, gates (-want +got):\n%s", n, diff)
		}
		s.verified()
	})
}
