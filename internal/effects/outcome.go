package effects

import (
	"context"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session/record"
	"agency/internal/store"
)

// lookBack is how many of the latest contracts count, of all that ended and of those
// that failed: older ones were of code, prompts and models that have changed since.
const (
	lookBack  = 1000
	lookBadly = 100
)

// keepOutcome keeps what a contract that ended by itself came to, in the
// transaction that ends it: what was withdrawn tells nothing of the work.
func keepOutcome(tx *store.Tx, c agency.Contract, routing agency.Routing) error {
	if c.Attempts == 0 || c.Status != agency.StatusComplete && c.Status != agency.StatusFailed {
		return nil
	}
	run, err := registry.Run(tx, c.RunID)
	if err != nil {
		return err
	}
	o := agency.Outcome{
		Run: c.RunID, Contract: c.ID, Mode: run.WorksIn(), Role: c.AssignedRole, Duty: dutyOf(c), Kind: c.Type,
		Complexity: routing.Size(c), Complete: c.Status == agency.StatusComplete, Attempts: c.Attempts, EndedAt: tx.Now,
	}
	if err := addRoute(tx, c, &o); err != nil {
		return err
	}
	if err := addTries(tx, c, &o); err != nil || len(o.Tries) == 0 { // a plan that a person gave
		return err
	}
	spent, err := budget.Read(tx, c.RunID, budget.ContractNode(c.ID))
	if err != nil && agency.KindOf(err) != agency.KindNotFound {
		return err
	}
	o.Tokens, o.CostUSD, o.Seconds = spent.Tokens, spent.Money.Float(), spent.Wall.Seconds()
	return registry.KeepOutcome(tx, o)
}

// dutyOf says what a contract is for.
func dutyOf(c agency.Contract) agency.Duty {
	switch {
	case roster.Leads(c.AssignedRole):
		return agency.DutyLead
	case c.AssignedRole == agency.RoleReviewer:
		return agency.DutyReview
	}
	return agency.DutyWork
}

// addRoute adds on which level its role began, and how far its failures raised it.
func addRoute(q store.Querier, c agency.Contract, o *agency.Outcome) error {
	evs, err := event.Since(q, 0, event.Filter{Run: c.RunID, Contract: c.ID, Types: []agency.EventType{agency.ModelRoutedType}}, 0)
	if err != nil {
		return err
	}
	for _, ev := range evs {
		d, err := agency.DecodeDetail(ev)
		if err != nil {
			return err
		}
		if r, ok := d.(*agency.ModelRouted); ok && ev.Role == c.AssignedRole {
			if o.Level == "" && r.Up == 0 {
				o.Level = r.Level
			}
			o.Raised = max(o.Raised, r.Up)
		}
	}
	return nil
}

// addTries adds who worked in each attempt, and what critics did.
func addTries(q store.Querier, c agency.Contract, o *agency.Outcome) error {
	done, err := record.Efforts(q, c.RunID, c.ID)
	if err != nil {
		return err
	}
	last := 0
	for _, w := range done {
		o.Unpriced = o.Unpriced || w.Unpriced
		if w.Role == agency.RoleReviewer && c.AssignedRole != agency.RoleReviewer {
			o.Review = o.Review.Add(w.Effort)
			continue
		}
		spent, err := budget.Read(q, c.RunID, budget.SessionNode(w.ID))
		if err != nil && agency.KindOf(err) != agency.KindNotFound {
			return err
		}
		if w.Attempt != last { // others of the attempt are its later conversations
			o.Tries, last = append(o.Tries, agency.Try{Model: w.Model}), w.Attempt
		}
		t := &o.Tries[len(o.Tries)-1]
		t.Effort, t.Unpriced = t.Add(w.Effort), t.Unpriced || w.Unpriced
		t.Tokens, t.CostUSD = t.Tokens+spent.Tokens, agency.USD(t.CostUSD+spent.Money.Float()).Float()
	}
	return nil
}

// routingOf is how the run of a contract picks levels, where a fact can end it.
func (s *Activities) routingOf(ctx context.Context, run agency.RunID, f agency.Fact) (agency.Routing, error) {
	switch f.(type) {
	case agency.HasLanded, agency.GaveUp:
		return s.models.Routing(ctx, run)
	}
	return agency.Routing{}, nil
}
