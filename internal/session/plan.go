package session

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

// maxReturns is how often a faulty plan goes back to its author (DESIGN 5).
const maxReturns = 2

// notes keeps the contracts that the turn's calls drafted, in their order.
func (c *conversation) notes(d *done) {
	for i := range d.calls {
		k := &d.calls[i]
		draft, ok := k.res.Effect.(tool.Draft)
		if !k.ran || !ok {
			continue
		}
		taken := slices.ContainsFunc(d.st.Drafts, func(o agency.Contract) bool {
			return strings.EqualFold(string(o.ID), string(draft.Contract.ID))
		})
		if taken {
			k.res = tool.Refusal("the id %q is taken by a contract of this plan", clip(string(draft.Contract.ID), 80))
			continue
		}
		d.st.Drafts = append(slices.Clone(d.st.Drafts), draft.Contract)
	}
}

// submit judges a plan. A faulty one goes back with every fault at once, at
// most twice; then it ends the session with its faults.
func (c *conversation) submit(d *done, k *call, plan agency.Plan) {
	if len(plan.Contracts) == 0 {
		plan.Contracts = d.st.Drafts
	}
	faults := c.planFaults(plan.Contracts)
	if len(faults) > 0 && d.st.Returns < maxReturns {
		d.st.Returns++
		d.st.Drafts = nil
		k.res = tool.Refusal("%s", returned(faults, maxReturns-d.st.Returns))
		return
	}
	d.end = &Outcome{Kind: Planned, Plan: plan.Contracts, Faults: faults, Tree: d.tree}
	if plan.RetryBudgetMultiplier > 1 {
		d.end.Multiplier = plan.RetryBudgetMultiplier
	}
}

func returned(faults []agency.PlanFault, left int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the plan is not accepted. Its faults, all of them:\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	b.WriteString("Submit the whole plan again, mended; contracts that were noted one by one are forgotten.")
	if left == 0 {
		b.WriteString(" This was the last time that it comes back: another fault goes to a person.")
	}
	return b.String()
}

// planFaults is everything that is wrong with a plan, by the rules of agency
// and of this run.
func (c *conversation) planFaults(contracts []agency.Contract) []agency.PlanFault {
	faults := agency.ValidatePlan(contracts, c.setup.Rules)
	if most := c.spec.MaxContracts; most > 0 && len(contracts) > most {
		faults = append(faults, agency.PlanFault{What: fmt.Sprintf("the plan has %d contracts, the most is %d", len(contracts), most)})
	}
	for _, one := range contracts {
		faults = append(faults, tool.DraftFaults(one)...)
		if strings.EqualFold(string(one.ID), string(c.spec.Contract)) {
			faults = append(faults, agency.PlanFault{Contract: one.ID, What: "the id is taken by the contract of this plan itself"})
		}
	}
	return faults
}
