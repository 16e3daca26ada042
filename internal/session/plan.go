package session

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/text"
	"agency/internal/tool"
	"agency/internal/tool/team"
)

// maxReturns is how often a faulty plan goes back to its author (docs/design.md, Contracts).
const maxReturns = 2

// drafted keeps the contracts that the turn's calls drafted, in their order.
func (t *Effects) drafted() {
	for i := range t.Calls {
		k := &t.Calls[i]
		draft, ok := k.Result.Effect.(tool.Draft)
		if !k.Ran || !ok {
			continue
		}
		if i := t.returnedAs(draft.Contract.ID); i >= 0 {
			t.Notes.Drafts = slices.Clone(t.Notes.Drafts)
			t.Notes.Drafts[i] = draft.Contract
			t.Notes.Drafts = agency.Ordered(t.Notes.Drafts)
			k.Result.Text = fmt.Sprintf("contract %s is noted anew, in place of what came back", draft.Contract.ID)
			continue
		}
		if t.taken(draft.Contract.ID) {
			k.Result = tool.Refusal("the id %q is taken by a contract of this run", text.Head(string(draft.Contract.ID), 80))
			continue
		}
		if t.Spec.Leads {
			k.Result.Text = fmt.Sprintf("contract %s is noted; spawn_agent starts it now, submit_plan with the rest", draft.Contract.ID)
		}
		t.Notes.Drafts = agency.Ordered(append(slices.Clone(t.Notes.Drafts), draft.Contract))
	}
}

// returnedAs is the place of the noted contract of this id that came back with
// a faulty plan and is written anew; -1 where there is none.
func (t *Effects) returnedAs(id agency.ContractID) int {
	if t.Notes.Returns == 0 {
		return -1
	}
	return slices.IndexFunc(t.Notes.Drafts, func(o agency.Contract) bool { return strings.EqualFold(string(o.ID), string(id)) })
}

// taken tells whether an id is that of a noted contract or, where contracts are
// started one by one, of one that the run has.
func (t *Effects) taken(id agency.ContractID) bool {
	same := func(o agency.ContractID) bool { return strings.EqualFold(string(o), string(id)) }
	for _, o := range t.Notes.Drafts {
		if same(o.ID) {
			return true
		}
	}
	for o := range t.Rules.Taken {
		if t.Spec.Leads && same(o) {
			return true
		}
	}
	return false
}

// submit judges a plan. A faulty one goes back with every fault at once, at
// most twice; then it ends the session with its faults. What a leader noted one
// by one stays noted: whoever mends one contract must not lose the others.
func (t *Effects) submit(k *Call, e tool.Plan) {
	plan := e.Plan
	if e.Tiers != nil {
		submitTiers(t, k, e)
		return
	}
	kept := len(plan.Contracts) == 0 && t.Spec.MaxContracts != 1
	var noted []agency.Contract
	if len(plan.Contracts) == 0 || len(t.Notes.Split) > 0 { // of the parts alone, or with more, the rest stays noted
		noted, kept = t.Notes.Drafts, kept || len(t.Notes.Split) > 0
	}
	var faults []agency.PlanFault
	plan.Contracts, t.Notes.Split, faults = agency.Resubmitted(plan.Contracts, noted, t.Notes.Split)
	faults = append(ofForm(e.Form), faults...)
	rules := t.Rules
	if t.Spec.Leads {
		rules = t.building(t.known, nil, "")
	}
	if len(plan.Contracts) > 0 || len(t.known) == 0 && len(faults) == 0 { // all that there is to do may have been started
		faults = append(faults, t.planFaults(plan.Contracts, rules)...)
	}
	if len(faults) > 0 && t.Notes.Returns < maxReturns {
		t.Notes.Returns++
		if split, rest := agency.TooLarge(plan.Contracts, faults); rules.Decompose && len(split) > 0 {
			t.Notes.Drafts, t.Notes.Split = rest, append(slices.Clone(t.Notes.Split), split...)
			k.Result = tool.Refusal("%s", t.toSplit(faults, split, maxReturns-t.Notes.Returns))
			return
		}
		if t.Notes.Drafts = plan.Contracts; !kept {
			t.Notes.Drafts = nil
		}
		k.Result = tool.Refusal("%s", t.returned(faults, kept, maxReturns-t.Notes.Returns))
		return
	}
	if t.Spec.Drafts && !t.Notes.Drafted && len(faults) == 0 {
		t.Notes.Drafted = true
		t.asks(k, AgentsAsk{Draft: plan.Contracts})
		return
	}
	t.End = &Outcome{Kind: Planned, Plan: plan.Contracts, Faults: faults, Tree: t.Tree}
	if plan.RetryBudgetMultiplier > 1 {
		t.End.Multiplier = plan.RetryBudgetMultiplier
	}
}

// submitTiers judges a plan of workstreams. The first one without faults comes back once,
// for its author to look for what it has missed; what is amended then is told.
func submitTiers(t *Effects, k *Call, e tool.Plan) {
	plan, multiplier := *e.Tiers, e.RetryBudgetMultiplier
	streams := plan.Ordered()
	faults := ofForm(e.Form)
	if len(streams) > 0 || len(faults) == 0 { // of what could be read
		faults = slices.Concat(faults, agency.ValidateTiers(plan), unknownSpecialists(t.Rules.Base, streams), t.planFaults(streams, t.Rules))
	}
	if len(faults) > 0 && t.Notes.Returns < maxReturns {
		t.Notes.Returns++
		k.Result = tool.Refusal("%s", t.returned(faults, false, maxReturns-t.Notes.Returns))
		return
	}
	if len(faults) == 0 && t.Notes.Critiqued == nil {
		t.Notes.Critiqued = streams
		k.Result = tool.Result{Text: selfCritique}
		return
	}
	t.End = &Outcome{
		Kind: Planned, Plan: streams, Faults: faults, Tree: t.Tree, ToolUse: k.Use.ID,
		Tiers: &agency.TierFacts{Complexity: plan.Complexity, Sequence: plan.Sequence, SelfCritique: plan.SelfCritique, Amended: agency.PlanChanges(t.Notes.Critiqued, streams)},
	}
	if multiplier > 1 {
		t.End.Multiplier = multiplier
	}
}

// ofForm are faults of a plan's form.
func ofForm(form []string) (faults []agency.PlanFault) {
	for _, what := range form {
		faults = append(faults, agency.PlanFault{What: what})
	}
	return faults
}

// unknownSpecialists are the faults of workstreams whose designer nobody knows.
func unknownSpecialists(base *agency.PlanBase, streams []agency.Contract) (faults []agency.PlanFault) {
	for _, w := range streams {
		name := w.Specialist()
		if name != "" && base != nil && base.Talent != nil {
			if what := base.Talent(name); what != "" {
				faults = append(faults, agency.PlanFault{Contract: w.ID, What: "t2_specialist: " + what})
			}
		}
	}
	return faults
}

// selfCritique asks for a plan once more.
//
//go:embed self_critique.md
var selfCritique string

// toSplit asks for the parts of contracts that are too large.
func (t *Effects) toSplit(faults []agency.PlanFault, split []agency.Contract, left int) string {
	var b strings.Builder
	b.WriteString("the plan is not accepted yet: contracts are larger than one may be:\n" + listed(faults))
	for _, c := range split {
		fmt.Fprintf(&b, "Split %s: note its parts, each with an id of its own and parent_id %s, and with what of its criteria it brings about. What depends on %s will depend on all of them.\n", c.ID, c.ID, c.ID)
	}
	b.WriteString("All other contracts stay noted as they are; submit_plan without a plan then, or with the parts alone.")
	if left == 0 {
		b.WriteString(lastReturn)
	}
	return b.String()
}

// lastReturn ends what is said when a plan comes back for the last time.
const lastReturn = " This was the last time that it comes back: another fault goes to a person."

func (t *Effects) returned(faults []agency.PlanFault, kept bool, left int) string {
	var b strings.Builder
	b.WriteString("the plan is not accepted. Its faults, all of them:\n" + listed(faults))
	switch {
	case kept && t.Spec.Leads:
		b.WriteString("All contracts stay noted. Mend the faulty ones by update_subcontract, or note them again under their ids, and submit_plan without a plan; " +
			"or submit the whole plan, mended, which replaces what is noted.")
	case kept:
		b.WriteString("All contracts stay noted. Note the faulty ones again under their ids and submit_plan without a plan; or submit the whole plan, mended, which replaces what is noted.")
	default:
		b.WriteString("Submit the whole plan again, mended; contracts that were noted one by one are forgotten.")
	}
	if left == 0 {
		b.WriteString(lastReturn)
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
func (t *Effects) planFaults(contracts []agency.Contract, rules agency.PlanRules) []agency.PlanFault {
	rules.Alone = t.Spec.MaxContracts == 1
	faults := agency.ValidatePlan(contracts, rules)
	if most := t.Spec.MaxContracts; most > 0 && len(contracts) > most {
		faults = append(faults, agency.PlanFault{What: fmt.Sprintf("the plan has %d contracts, the most is %d", len(contracts), most)})
	}
	for _, one := range contracts {
		faults = append(faults, team.DraftFaults(one)...)
		if strings.EqualFold(string(one.ID), string(t.Spec.Contract)) {
			faults = append(faults, agency.PlanFault{Contract: one.ID, What: "the id is taken by the contract of this plan itself"})
		}
	}
	return faults
}
