package agency

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// CoverageThreshold is the key of a contract's quality thresholds for the
// percentage of the changed lines that tests have to reach: the one that is measured.
const CoverageThreshold = "coverage"

// testName is what a test's name looks like, in any language: one word that is none of
// plain prose.
var testName = regexp.MustCompile(`^\S*[A-Z_:.#]\S*$`)

// Promised gives a contract with a criterion for each thing that its other fields say
// shall be true: what nobody looks at is not promised. The criteria are named by their
// field and place in it; those that stand there are made anew.
func Promised(c Contract) Contract {
	all := slices.DeleteFunc(slices.Clone(c.AcceptanceCriteria), func(cr Criterion) bool { return cr.From != "" })
	asked := map[Check]bool{}
	for _, cr := range all {
		if cr.Check != nil {
			asked[*cr.Check] = true
		}
	}
	promise := func(field string, n int, text string, check *Check) {
		if check != nil && asked[*check] {
			return
		}
		if check != nil {
			asked[*check] = true
		}
		all = append(all, Criterion{ID: fmt.Sprintf("%s.%d", field, n+1), Text: text, Check: check, From: field})
	}
	for i, t := range c.ExpectedOutputs.TestsPassing {
		promise("tests_passing", i, "the test "+t+" passes", &Check{Test: t})
	}
	for i, t := range c.TestRequirements {
		if t = strings.TrimSpace(t); testName.MatchString(t) {
			promise("test_requirements", i, "the test "+t+" passes", &Check{Test: t})
		} else {
			promise("test_requirements", i, t, nil)
		}
	}
	for i, f := range c.ExpectedOutputs.FilesCreated {
		promise("files_created", i, f+" is made", &Check{Created: f})
	}
	for i, f := range c.ExpectedOutputs.FilesModified {
		promise("files_modified", i, f+" is changed", &Check{Modified: f})
	}
	c.AcceptanceCriteria = all
	return c
}

// written counts the criteria that were written as such.
func written(criteria []Criterion) (n int) {
	for _, cr := range criteria {
		if cr.From == "" {
			n++
		}
	}
	return n
}
