package mode

import (
	"context"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/store"
)

// adoption is a plan that a person gave in the place of a manager's.
type adoption struct {
	Run        agency.RunID      `json:"run"`
	Contract   agency.ContractID `json:"contract"` // that the manager would have held
	Contracts  int               `json:"contracts"`
	Multiplier int               `json:"retry_budget_multiplier,omitempty"`
}

var adoptPlan = flow.Activity[adoption, flow.None]{Name: "mode.adopt"}

// given tells whether the plan is not the manager's to make.
func (d *draft) given() bool { return d.in.Plan != nil && d.contract.ID == planContract(d.in).ID }

// adopt takes a plan that was given as if a manager had submitted it. It was
// validated when the run was started. Who rejects it mends it, and begins again.
func (d *draft) adopt(c flow.Ctx, plan agency.Plan) ([]agency.Contract, string, error) {
	d.contract.Title = firstLine("Plan that was given for: " + d.in.Goal)
	if _, err := flow.Call(c, createContract, path(d.contract.ID, "create"), d.contract); err != nil {
		return nil, "", err
	}
	d.next()
	if err := d.advance(c, "start", step{Started: &agency.Started{}}); err != nil {
		return nil, "", err
	}
	d.raise = plan.RetryBudgetMultiplier
	told := adoption{Run: d.in.Run, Contract: d.contract.ID, Contracts: len(plan.Contracts), Multiplier: d.raise}
	if _, err := flow.Call(c, adoptPlan, d.key("adopt"), told); err != nil {
		return nil, "", err
	}
	end, err := d.gate(c, plan.Contracts)
	switch {
	case err != nil:
		return nil, "", err
	case end.accepted:
		return plan.Contracts, "", nil
	}
	return nil, end.final, d.withdraw(c, end.final)
}

// adopt tells the log of the plan, once.
func (s *Steps) adopt(ctx context.Context, _ agency.StepKey, in adoption) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
		ev := agency.NewEvent(in.Run, agency.SeverityInfo, "a plan was given", agency.PlanSubmitted{Contracts: in.Contracts, RetryBudgetMultiplier: in.Multiplier})
		ev.ContractID = in.Contract
		old, err := event.Since(tx, 0, event.Filter{Run: in.Run, Contract: in.Contract, Types: []agency.EventType{ev.Type}}, 1)
		if err != nil || len(old) > 0 {
			return err
		}
		_, err = event.Append(tx, ev)
		return err
	})
}
