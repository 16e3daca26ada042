package mode

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/session"
)

// A plan that a person gives is carried out as a manager's would be, through
// the plan gate where there is one, and nobody is asked to plan.
func TestGivenPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		set   func(*stage, *Input)
		want  Result
		order []string
	}{
		"carried out": {func(*stage, *Input) {}, merged, []string{"land a: true", "session b 1.1", "land b: true", "gate merge-1: approve"}},
		"approved": {
			func(_ *stage, in *Input) { in.PlanGate = true }, merged, []string{"gate plan-1: approve", "session a 1.1", "land b: true"},
		},
		"rejected": {
			func(s *stage, in *Input) {
				in.PlanGate, in.OnError = true, "single"
				s.answers = map[string]agency.Decision{"plan-1": {Verb: agency.Reject, Note: "not so"}}
			},
			Result{Reason: "a person rejected it: not so"},
			[]string{"gate plan-1: reject"},
		},
		"what fails is planned anew by the manager": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red, "a 3": red, "a 4": red}
				s.plans = []session.Outcome{plan(part("a2"))}
			}, merged, []string{"verify a 4: false", "session replan 1.1", "land a2: true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			in.Plan = &agency.Plan{RetryBudgetMultiplier: 2, Contracts: []agency.Contract{part("a"), part("b", "a")}}
			tt.set(s, &in)
			if got := s.run(Team, in); got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			s.order(tt.order...)
			if slices.ContainsFunc(s.said, func(l string) bool { return strings.HasPrefix(l, "session plan") }) {
				t.Errorf("a manager was asked to plan:\n%s", strings.Join(s.said, "\n"))
			}
			if told := s.estimates(); len(told) == 0 || told[0].Attempts != 8 {
				t.Errorf("the log tells %+v", told)
			}
		})
	}
}

func TestGivenPlanDiesAtEachStep(t *testing.T) {
	in := teamInput
	in.PlanGate, in.Plan = true, &agency.Plan{Contracts: []agency.Contract{part("a")}}
	diesAtEach(t, Team, in, func(*stage) {}, merged, 5, 1, func(n int, s *stage) {
		if told := s.estimates(); len(told) != 1 {
			t.Errorf("death %d: %d estimates", n, len(told))
		}
	})
}

// A dry run ends with its plan: nobody works on it, and nobody is asked.
func TestDryRun(t *testing.T) {
	s, in := newStage(t), teamInput
	in.Dry, in.PlanGate = true, true
	s.plans = []session.Outcome{plan(part("a"), part("b", "a"))}
	if got := s.run(Team, in); !got.Succeeded || got.Commit != "" {
		t.Errorf("ended %+v", got)
	}
	if want := []string{"session plan 1.1"}; !slices.Equal(s.said, want) {
		t.Errorf("it did %v", s.said)
	}
	if c := s.contract("b"); c.Status != agency.StatusPending || len(s.estimates()) != 1 {
		t.Errorf("b is %s, %d estimates", c.Status, len(s.estimates()))
	}
	s = newStage(t)
	in.OnError = "single"
	s.plans = []session.Outcome{{Kind: session.Incomplete, Reason: "no idea"}, {Kind: session.Incomplete, Reason: "no idea"}}
	if got := s.run(Team, in); got.Succeeded || len(s.said) != 2 {
		t.Errorf("ended %+v after %v", got, s.said)
	}
}
