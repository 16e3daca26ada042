package agency

import (
	"encoding/json"
	"slices"
	"time"
)

// Plan is what a manager submits, or a person in its place.
type Plan struct {
	// GoalAnchor is the goal that it was made for, where it says so.
	GoalAnchor string
	// RetryBudgetMultiplier is by how much it raises the attempts of its
	// contracts: 1 or 2; 0 is 1 (docs/design.md, Contracts).
	RetryBudgetMultiplier int
	Contracts             []Contract
}

// maxMultiplier is the most that a plan may raise a run's attempts by.
const maxMultiplier = 2

// Attempts are those that each contract of the plan has, of a run that allows
// so many.
func (p Plan) Attempts(budget int) int { return budget * max(1, p.RetryBudgetMultiplier) }

// CheckMultiplier refuses a retry_budget_multiplier that no plan may have.
func CheckMultiplier(n int) error {
	if n < 1 || n > maxMultiplier {
		return Errorf(KindInvalid, "retry_budget_multiplier is %d, want 1 or %d", n, maxMultiplier)
	}
	return nil
}

// planDoc is the form that submit_plan takes.
type planDoc struct {
	GoalAnchor            string            `json:"goal_anchor,omitempty"`
	RetryBudgetMultiplier int               `json:"retry_budget_multiplier"`
	Contracts             []json.RawMessage `json:"contracts"`
}

// MarshalJSON writes the form that submit_plan takes: what a contract's author
// says of it, and nothing of what became of it.
func (p Plan) MarshalJSON() ([]byte, error) {
	doc := planDoc{GoalAnchor: p.GoalAnchor, RetryBudgetMultiplier: max(1, p.RetryBudgetMultiplier), Contracts: make([]json.RawMessage, len(p.Contracts))}
	for i, c := range p.Contracts {
		raw, err := json.Marshal(drafted(c))
		if err != nil {
			return nil, err
		}
		doc.Contracts[i] = raw
	}
	return json.Marshal(doc)
}

// UnmarshalJSON reads what MarshalJSON wrote; what people and models write is
// read more strictly elsewhere.
func (p *Plan) UnmarshalJSON(raw []byte) error {
	var doc planDoc
	if err := json.Unmarshal(raw, &doc); err != nil {
		return err
	}
	*p = Plan{GoalAnchor: doc.GoalAnchor, RetryBudgetMultiplier: doc.RetryBudgetMultiplier, Contracts: make([]Contract, len(doc.Contracts))}
	for i, one := range doc.Contracts {
		if err := json.Unmarshal(one, &p.Contracts[i]); err != nil {
			return err
		}
		p.Contracts[i] = Promised(p.Contracts[i])
	}
	return nil
}

// drafted leaves out what the harness decides and counts, and criteria that other
// fields promise.
func drafted(c Contract) any {
	c.AcceptanceCriteria = slices.DeleteFunc(slices.Clone(c.AcceptanceCriteria), func(cr Criterion) bool { return cr.From != "" })
	type view struct {
		contractView
		RunID       *RunID   `json:"run_id,omitempty"`
		RetryBudget *int     `json:"retry_budget,omitempty"`
		Attempts    *int     `json:"attempts,omitempty"`
		Status      *Status  `json:"status,omitempty"`
		TokensUsed  *int64   `json:"tokens_used,omitempty"`
		CostUSD     *float64 `json:"cost_usd,omitempty"`
	}
	c.Phase, c.AssignedAgentID, c.Tier, c.Domain, c.GoalAnchor = "", "", "", "", ""
	c.ActualOutputs, c.Stage, c.Iterations, c.Error = Results{}, "", 0, ""
	c.CreatedAt, c.StartedAt, c.CompletedAt = time.Time{}, time.Time{}, time.Time{}
	return view{contractView: contractView(c)}
}
