package mode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

// estimates are those that the log tells.
func (s *stage) estimates() (out []agency.PlanEstimated) {
	s.t.Helper()
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		evs, err := event.Since(q, 0, event.Filter{Run: run, Types: []agency.EventType{agency.PlanEstimatedType}}, 0)
		for _, ev := range evs {
			d, err := agency.DecodeDetail(ev)
			if err != nil {
				return err
			}
			out = append(out, *d.(*agency.PlanEstimated))
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *stage) gateBody(name string) string {
	s.t.Helper()
	body := ""
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		gates, err := registry.Gates(q, run)
		for _, g := range gates {
			if g.ID == contractrun.GateID(run, name) {
				body = g.Body
			}
		}
		return err
	})
	if err != nil || body == "" {
		s.t.Fatalf("no gate %s: %v", name, err)
	}
	return body
}

// From twenty contracts of a size on, the gate shows what these took.
func TestPlanGateEstimatesByPast(t *testing.T) {
	s, in := newStage(t), teamInput
	in.PlanGate, in.Routing = true, routing
	did := agency.Effort{Turns: 4, Usage: agency.Usage{In: 9000, Out: 1000}}
	s.past(agency.EnoughPast, agency.Outcome{
		Role: "scaffolder", Complexity: agency.Small, Complete: true, Attempts: 1, Tries: []agency.Try{{Parts: []agency.Part{{Model: "p/m", Effort: did}}}},
	})
	s.plans = []session.Outcome{plan(part("a"), part("b"))}
	s.run(Team, in)
	body := s.gateBody("plan-1")
	for _, want := range []string{
		"Estimate: about 8 turns, 20 k tokens, unpriced (from 20 past contracts of this size).",
		"Likely range: 8 to 8 turns, 20 k to 20 k tokens, ", "| a | small | p/fast-cheap | 4 | 10 k |",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
}

// The plan gate says what the plan may take, by contract and in sum, and so
// does the log, once.
func TestPlanGateEstimates(t *testing.T) {
	s, in := newStage(t), teamInput
	in.PlanGate, in.Routing, in.Review = true, routing, agency.ReviewRules{MaxIterations: 5}
	free := part("d")
	free.Writes = nil
	twin := part("b2")
	twin.Writes = []string{"b.go"}
	s.plans = []session.Outcome{plan(part("a"), part("b"), part("c", "a", "b"), twin, free)}
	s.run(Team, in)
	body := s.gateBody("plan-1")
	for _, want := range []string{
		"5 contracts, at most 2 at work at once",
		"Estimate: about 60 turns, ", "(from a table, no past contract known)",
		"10 attempts", // two of each
		"Unpriced, so that only the limit of tokens holds: p/fast-cheap.",
		"Critical path: a -> c; about 24 turns one after the other of 60 in all.",
		"Unbounded, which do not say what they will change: d.",
		"- b and b2: b.go is also written by b (b.go)",
		"The run stops at a gate before it spends the $1.00 or 100 tokens that its budget has left.",
		"| a | small | p/fast-cheap | 12 | ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	told := s.estimates()
	// Two attempts of each: two of a worker, and five rounds of two tries.
	if len(told) != 1 || told[0].Attempts != 10 || told[0].WorstTokens != 5*2*12*100_000 || told[0].Attempt != 1 {
		t.Errorf("the log tells %+v", told)
	}
}

// A plan's multiplier is honoured: so many attempts, and no more.
func TestPlanRaisesAttempts(t *testing.T) {
	for name, program := range map[string]func(flow.Ctx, Input) (Result, error){"a team": Team, "one contract": Contract} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			in.PlanGate = true
			twice := plan(part("a"))
			twice.Multiplier = 2
			s.plans = []session.Outcome{twice, {Kind: session.Incomplete, Reason: "no idea"}, {Kind: session.Incomplete, Reason: "no idea"}}
			s.verdicts = slices.Repeat([]agency.Verdict{red}, 5)
			if got, want := s.run(program, in), "all 4 attempts are used"; got.Succeeded || !strings.Contains(got.Reason, want) {
				t.Errorf("ended %+v, want %s", got, want)
			}
			if n := s.contract("a").Attempts; n != 4 {
				t.Errorf("%d attempts", n)
			}
			if body := s.gateBody("plan-1"); !strings.Contains(body, "its limit: 4 attempts") {
				t.Errorf("the gate says\n%s", body)
			}
		})
	}
}
