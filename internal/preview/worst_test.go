package preview

import (
	"testing"

	"agency/internal/agency"
	"agency/internal/config"
)

func staff(priced bool) func(agency.RoleID, agency.Level) (agency.Staffing, error) {
	return func(role agency.RoleID, _ agency.Level) (agency.Staffing, error) {
		m := agency.Offer{Model: "p/m", Window: 200_000}
		if priced {
			m.Price = &agency.Price{In: 1, CachedIn: 0.1, Out: 5}
		}
		return agency.Staffing{May: []agency.Offer{m}, Tokens: 100_000, Turns: config.Defaults().Agents[string(role)].MaxTurns}, nil
	}
}

func TestForesee(t *testing.T) {
	tests := map[string]struct {
		goal   string
		priced bool
		set    func(*config.Config)
		steps  []string
		first  agency.GateKind
		worst  float64
		tokens int64
	}{
		// A session is 100 000 tokens at 5 dollars a million and 50 prompts of
		// 100 000 from the cache at 0.1: 0.5 + 0.5; three attempts of up to four that go on from each other.
		"single alone": {
			goal: "do it", priced: true, set: func(c *config.Config) { c.Triggers = nil },
			steps: []string{"main"}, first: agency.GateMerge, worst: 12, tokens: 1_200_000,
		},
		"single, and what it moves up to": { // 26.4 without the budget
			goal: "do it", priced: true, set: func(*config.Config) {},
			steps: []string{"main", "plan", "(as planned)"}, first: agency.GateMerge, worst: 20, tokens: 2_700_000,
		},
		"the budget is the limit": {
			goal: "do it", priced: true, set: func(c *config.Config) { c.Budget.USD, c.Budget.Tokens = 2, 1000 },
			steps: []string{"main", "plan", "(as planned)"}, first: agency.GateMerge, worst: 2, tokens: 1000,
		},
		"a wish moves up at once": {
			goal: "do it, in contract mode", priced: true, set: func(*config.Config) {},
			steps: []string{"plan", "(as planned)"}, first: agency.GateMerge, worst: 3 * (0.8 + 4), tokens: 1_500_000,
		},
		"a team is bounded by the budget alone": {
			goal: "do it", priced: true, set: func(c *config.Config) { c.Mode, c.Budget.USD, c.Budget.Tokens = agency.ModeMultiAgent, 7, 1000 },
			steps: []string{"plan", "(each as planned)", "(each as planned)"}, first: agency.GateMerge, worst: 7, tokens: 1000,
		},
		"a critic reads each round": { // of at most 20 turns: 0.5 + 0.2
			goal: "do it", priced: true, set: func(c *config.Config) {
				c.Mode, c.Budget.USD, c.Budget.Tokens = agency.ModeProducerCritic, 1000, 1_000_000_000
			},
			steps: []string{"plan", "(as planned)", "(as planned)"}, first: agency.GateMerge, worst: 3*(0.8+4) + 15*0.7, tokens: 3_000_000,
		},
		"contract with a plan gate, unpriced": {
			goal: "do it", set: func(c *config.Config) {
				c.Mode, c.Visibility.InspectionGates.Plan = agency.ModeContract, true
			},
			steps: []string{"plan", "(as planned)"}, first: agency.GatePlan, tokens: 1_500_000,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := config.Defaults()
			tt.set(&c)
			doc, err := unstarted{Goal: tt.goal, Config: c, Staff: staff(tt.priced)}.foresee()
			if err != nil {
				t.Fatal(err)
			}
			var steps []string
			for _, s := range doc.Steps {
				steps = append(steps, s.Contract)
			}
			if len(steps) != len(tt.steps) || steps[0] != tt.steps[0] || doc.Gates[0].Kind != tt.first {
				t.Errorf("steps %v, first gate %s", steps, doc.Gates[0].Kind)
			}
			if d := doc.WorstUSD - tt.worst; d > 1e-6 || d < -1e-6 || doc.WorstTokens != tt.tokens {
				t.Errorf("at most $%v and %d tokens, want $%v and %d", doc.WorstUSD, doc.WorstTokens, tt.worst, tt.tokens)
			}
			if (len(doc.Unpriced) == 1) == tt.priced {
				t.Errorf("unpriced: %v", doc.Unpriced)
			}
		})
	}
}
