package mode

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

var routing = agency.Routing{
	Strategy: agency.RouteByComplexity, Bounds: agency.DefaultBounds(), Roles: []agency.RoleID{"scaffolder", "generalist"},
}

// routes are the decisions that the log tells, a line each, sorted.
func (s *stage) routes() (out []string) {
	s.t.Helper()
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		evs, err := event.Since(q, 0, event.Filter{Run: run, Types: []agency.EventType{agency.ModelRoutedType}}, 0)
		for _, ev := range evs {
			d, err := agency.DecodeDetail(ev)
			if err != nil {
				return err
			}
			r := d.(*agency.ModelRouted)
			out = append(out, fmt.Sprintf("%s %d by %s: %s up %d unpriced %v", ev.ContractID, r.Attempt, ev.AgentID, r.Level, r.Up, r.Unpriced))
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// past keeps n outcomes of earlier runs, which ended so long after now.
func (s *stage) past(n int, o agency.Outcome, after ...time.Duration) {
	s.t.Helper()
	err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		o.Run, o.Duty, o.EndedAt = "earlier", agency.DutyWork, tx.Now
		for _, d := range after {
			o.EndedAt = o.EndedAt.Add(d)
		}
		for i := range n {
			o.Contract = agency.ContractID(fmt.Sprint("c", i))
			if err := registry.KeepOutcome(tx, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// levels are those of the sessions, sorted.
func (s *stage) levels() (out []string) {
	for _, spec := range s.specs {
		if spec.Level != "" || spec.Role != aManager {
			out = append(out, fmt.Sprintf("%s %d.%d: %s", spec.Contract, spec.Attempt, spec.Part, spec.Level))
		}
	}
	slices.Sort(out)
	return out
}

func TestRouting(t *testing.T) {
	wide := part("b")
	wide.RelevantFiles = []string{"1", "2", "3", "4", "5", "6"}
	wide.AcceptanceCriteria = slices.Repeat([]agency.Criterion{{Text: "done"}}, 4)
	wide.DependsOn = []agency.ContractID{"a"}
	for name, tt := range map[string]struct {
		set    func(*stage, *Input)
		routes []string
		levels []string
	}{
		"by size": {
			func(s *stage, _ *Input) { s.plans = []session.Outcome{plan(part("a"), wide)} },
			[]string{"a 1 by scaffolder-a: fast-cheap up 0 unpriced true", "b 1 by scaffolder-b: reasoning-heavy up 0 unpriced false"},
			[]string{"a 1.1: fast-cheap", "b 1.1: reasoning-heavy"},
		},
		"a failed attempt moves up, all parts of an attempt stay": {
			func(s *stage, _ *Input) {
				s.plans = []session.Outcome{plan(part("a"))}
				s.judged = map[string]agency.Verdict{"a 1": red}
				s.byAttempt = map[string]session.Outcome{"a 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "call-1"}}
			},
			[]string{"a 1 by scaffolder-a: fast-cheap up 0 unpriced true", "a 2 by scaffolder-a: capable up 1 unpriced false"},
			[]string{"a 1.1: fast-cheap", "a 1.2: fast-cheap", "a 2.1: capable"},
		},
		"that others were faster does not": {
			func(s *stage, _ *Input) {
				s.plans = []session.Outcome{plan(part("a"))}
				s.landed = map[string]land.Outcome{"a 1": {Conflict: &agency.Conflict{Head: "head"}, Reason: "it conflicts"}}
			},
			[]string{"a 1 by scaffolder-a: fast-cheap up 0 unpriced true", "a 2 by scaffolder-a: fast-cheap up 0 unpriced true"},
			[]string{"a 1.1: fast-cheap", "a 2.1: fast-cheap"},
		},
		"work like what failed begins higher": {
			func(s *stage, in *Input) {
				in.RetryBudget = 1
				again := part("a2")
				again.Writes = []string{"a.go"}
				s.judged = map[string]agency.Verdict{"a 1": red}
				s.plans = []session.Outcome{plan(part("a")), plan(again)}
			},
			[]string{"a 1 by scaffolder-a: fast-cheap up 0 unpriced true", "a2 1 by scaffolder-a2: capable up 0 unpriced false"},
			[]string{"a 1.1: fast-cheap", "a2 1.1: capable"},
		},
		"a level that did poorly before is not begun on": {
			func(s *stage, in *Input) {
				s.past(agency.EnoughPast, agency.Outcome{Role: "scaffolder", Complexity: agency.Small, Level: agency.FastCheap, Raised: 1, Complete: true, Attempts: 2})
				s.plans = []session.Outcome{plan(part("a"), wide)}
			},
			[]string{"a 1 by scaffolder-a: capable up 0 unpriced false", "b 1 by scaffolder-b: reasoning-heavy up 0 unpriced false"},
			[]string{"a 1.1: capable", "b 1.1: reasoning-heavy"},
		},
		"what ended since it began raises no second attempt": {
			func(s *stage, _ *Input) {
				s.past(agency.EnoughPast, agency.Outcome{Role: "scaffolder", Complexity: agency.Small, Level: agency.FastCheap, Raised: 1}, time.Hour)
				s.plans = []session.Outcome{plan(part("a"))}
				s.judged = map[string]agency.Verdict{"a 1": red}
			},
			[]string{"a 1 by scaffolder-a: fast-cheap up 0 unpriced true", "a 2 by scaffolder-a: capable up 1 unpriced false"},
			[]string{"a 1.1: fast-cheap", "a 2.1: capable"},
		},
		"a role that is not routed keeps its own": {
			func(s *stage, _ *Input) {
				tests := part("a")
				tests.AssignedRole = "test_engineer"
				s.plans = []session.Outcome{plan(tests)}
			}, nil, []string{"a 1.1: "},
		},
		"nothing is routed": {
			func(s *stage, in *Input) {
				in.Routing = agency.Routing{}
				s.plans = []session.Outcome{plan(part("a"))}
			}, nil, []string{"a 1.1: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			in.Routing = routing
			tt.set(s, &in)
			if got := s.run(Team, in); got != merged {
				t.Fatalf("ended %+v", got)
			}
			if diff := cmp.Diff(tt.routes, s.routes()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.levels, s.levels()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
