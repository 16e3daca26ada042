package main

import (
	"slices"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/mode"
	"agency/internal/ui/tui"
)

// planOf is a run's plan as it stands, in the form that submit_plan takes:
// without what the harness adds, and without what a new plan replaced.
func planOf(run api.InspectDoc) (agency.Plan, error) {
	plan := agency.Plan{GoalAnchor: run.Goal, RetryBudgetMultiplier: 1}
	for _, c := range run.Contracts {
		if c.Status != agency.StatusCancelled && !slices.Contains(mode.Reserved(), c.ID) {
			plan.Contracts = append(plan.Contracts, c.Contract)
		}
	}
	if len(plan.Contracts) == 0 {
		return plan, agency.Errorf(agency.KindNotFound, "run %s has no plan", run.ID).WithMend("agency inspect %s", run.ID)
	}
	for _, p := range run.Plans {
		if p.Contract == "plan" {
			plan.RetryBudgetMultiplier = p.RetryBudgetMultiplier
		}
	}
	return plan, nil
}

// estimateOf is what was reckoned of the plan that was accepted; nil where that
// is not known, or a new plan made it another.
func estimateOf(run api.InspectDoc) *agency.PlanEstimate {
	last := len(run.Plans) - 1
	if last < 0 || run.Plans[last].Estimate == nil || run.Plans[last].Contract != "plan" {
		return nil
	}
	return &run.Plans[last].Estimate.PlanEstimate
}

// printPlan prints a run's plan.
func (a *app) printPlan(run api.InspectDoc, asJSON bool) error {
	plan, err := planOf(run)
	if err != nil {
		return err
	}
	return a.show(asJSON, plan, func() string {
		return tui.Line(run.Goal) + "\n\n" + tui.Clean(mode.PlanText(plan.Contracts, estimateOf(run), 0))
	})
}
