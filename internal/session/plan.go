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
		if i := c.returnedAs(d, draft.Contract.ID); i >= 0 {
			d.st.Drafts = slices.Clone(d.st.Drafts)
			d.st.Drafts[i] = draft.Contract
			d.st.Drafts = agency.Ordered(d.st.Drafts)
			k.res.Text = fmt.Sprintf("contract %s is noted anew, in place of what came back", draft.Contract.ID)
			continue
		}
		if c.taken(d, draft.Contract.ID) {
			k.res = tool.Refusal("the id %q is taken by a contract of this run", clip(string(draft.Contract.ID), 80))
			continue
		}
		if c.spec.Leads {
			k.res.Text = fmt.Sprintf("contract %s is noted; spawn_agent starts it now, submit_plan with the rest", draft.Contract.ID)
		}
		d.st.Drafts = agency.Ordered(append(slices.Clone(d.st.Drafts), draft.Contract))
	}
}

// returnedAs is the place of the noted contract of this id that came back with
// a faulty plan and is written anew; -1 where there is none.
func (c *conversation) returnedAs(d *done, id agency.ContractID) int {
	if d.st.Returns == 0 {
		return -1
	}
	return slices.IndexFunc(d.st.Drafts, func(o agency.Contract) bool { return strings.EqualFold(string(o.ID), string(id)) })
}

// taken tells whether an id is that of a noted contract or, where contracts are
// started one by one, of one that the run has.
func (c *conversation) taken(d *done, id agency.ContractID) bool {
	same := func(o agency.ContractID) bool { return strings.EqualFold(string(o), string(id)) }
	for _, o := range d.st.Drafts {
		if same(o.ID) {
			return true
		}
	}
	for o := range c.setup.Rules.Taken {
		if c.spec.Leads && same(o) {
			return true
		}
	}
	return false
}

// submit judges a plan. A faulty one goes back with every fault at once, at
// most twice; then it ends the session with its faults. What a leader noted one
// by one stays noted: whoever mends one contract must not lose the others.
func (c *conversation) submit(d *done, k *call, plan agency.Plan) {
	kept := len(plan.Contracts) == 0 && c.spec.MaxContracts != 1
	if len(plan.Contracts) == 0 {
		plan.Contracts = d.st.Drafts
	}
	plan.Contracts = agency.Ordered(plan.Contracts)
	rules := c.setup.Rules
	if c.spec.Leads {
		rules = c.building(d.known, nil, "")
	}
	var faults []agency.PlanFault
	if len(plan.Contracts) > 0 || len(d.known) == 0 { // all that there is to do may have been started
		faults = c.planFaults(plan.Contracts, rules)
	}
	if len(faults) > 0 && d.st.Returns < maxReturns {
		d.st.Returns++
		if !kept {
			d.st.Drafts = nil
		}
		k.res = tool.Refusal("%s", c.returned(faults, kept, maxReturns-d.st.Returns))
		return
	}
	d.end = &Outcome{Kind: Planned, Plan: plan.Contracts, Faults: faults, Tree: d.tree}
	if plan.RetryBudgetMultiplier > 1 {
		d.end.Multiplier = plan.RetryBudgetMultiplier
	}
}

func (c *conversation) returned(faults []agency.PlanFault, kept bool, left int) string {
	var b strings.Builder
	b.WriteString("the plan is not accepted. Its faults, all of them:\n" + listed(faults))
	switch {
	case kept && c.spec.Leads:
		b.WriteString("All contracts stay noted. Mend the faulty ones by update_subcontract, or note them again under their ids, and submit_plan without a plan; " +
			"or submit the whole plan, mended, which replaces what is noted.")
	case kept:
		b.WriteString("All contracts stay noted. Note the faulty ones again under their ids and submit_plan without a plan; or submit the whole plan, mended, which replaces what is noted.")
	default:
		b.WriteString("Submit the whole plan again, mended; contracts that were noted one by one are forgotten.")
	}
	if left == 0 {
		b.WriteString(" This was the last time that it comes back: another fault goes to a person.")
	}
	return b.String()
}

func listed(faults []agency.PlanFault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	return b.String()
}

// planFaults is everything that is wrong with a plan, by the rules of agency
// and of this run.
func (c *conversation) planFaults(contracts []agency.Contract, rules agency.PlanRules) []agency.PlanFault {
	faults := agency.ValidatePlan(contracts, rules)
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
