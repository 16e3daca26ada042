package planning

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/effects"
	"agency/internal/schedule"
	"agency/internal/text"
)

// maxTitle is how much of a title its heading shows: a line, whatever its author wrote.
const maxTitle = 200

// inLines are contracts no text of which makes lines of its own, but for the descriptions,
// which are quoted.
func inLines(plan []agency.Contract) []agency.Contract {
	return text.InLines(plan, text.MostLine, "Description")
}

// PlanText is a plan for people, with what it may take where that is known.
func PlanText(plan []agency.Contract, e *agency.PlanEstimate, parallel int) string {
	s := agency.Things(len(plan), "contract", "contracts")
	if parallel > 0 {
		s += fmt.Sprintf(", at most %d at work at once", parallel)
	}
	s += ".\n"
	if e != nil {
		s += "\n" + effects.EstimateText(*e, "")
	}
	return s + planList(plan, effects.MaxListed)
}

// teamBody is a plan as the person at the plan gate reads it.
func teamBody(in Input, budget int, plan []agency.Contract, cost *effects.Forecast) string {
	var b strings.Builder
	path := schedule.Longest(plan)
	fmt.Fprintf(&b, "%s, at most %d at work at once. The longest chain has %d: %s.\n", agency.Things(len(plan), "contract", "contracts"), in.Parallel, len(path), agency.JoinIDs(path, ", "))
	if cost == nil {
		fmt.Fprintf(&b, "At worst %s, %d of each contract.\n", agency.Things(budget*len(plan), "attempt", "attempts"), budget)
	}
	most := len(plan)
	if cost != nil {
		b.WriteString("\n" + cost.Text())
		most = effects.MaxListed
	}
	b.WriteString(planList(plan, most))
	b.WriteString("\nApprove to begin; reject with a reason to have it planned again.\n")
	return b.String()
}

// tiersBody is a plan of workstreams as the person at the plan gate reads it.
func tiersBody(f agency.TierFacts, budget int, plan []agency.Contract) string {
	return TiersText(f, plan) +
		fmt.Sprintf("\nAt most %s of each task. What it costs is known when its tasks are; the run's budget holds until then.\n", agency.Things(budget, "attempt", "attempts")) +
		"\nApprove to begin; reject with a reason to have it planned again.\n"
}

// TiersText is a plan of workstreams for people.
func TiersText(f agency.TierFacts, plan []agency.Contract) string {
	var b strings.Builder
	f = text.InLines(f, text.MostLine)
	fmt.Fprintf(&b, "%s, complexity %s.\n", agency.Things(len(plan), "workstream", "workstreams"), f.Complexity)
	if len(f.Sequence) > 1 {
		fmt.Fprintf(&b, "Groups, one after the other: %s.\n", strings.Join(f.Sequence, ", "))
	}
	if f.SelfCritique != "" {
		fmt.Fprintf(&b, "\nWhat its author found when looking for its faults: %s\n", f.SelfCritique)
	}
	if len(f.Amended) > 0 {
		fmt.Fprintf(&b, "\nAmended by that:\n\n```diff\n%s\n```\n", strings.Join(f.Amended, "\n"))
	}
	for _, p := range inLines(plan) {
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\nGoes through %s", p.ID, text.OneLine(p.Title, maxTitle), text.Quote(p.Description), agency.PathText(p.TierPath))
		if p.Domain != "" {
			fmt.Fprintf(&b, ", domain %s", p.Domain)
		}
		fmt.Fprintf(&b, ", group %s", p.Phase)
		if len(p.DependsOn) > 0 {
			fmt.Fprintf(&b, ", after %s", agency.JoinIDs(p.DependsOn, ", "))
		}
		if len(p.Writes) > 0 { // by which a person gives leave, too
			fmt.Fprintf(&b, ", may change %s", strings.Join(p.Writes, ", "))
		}
		b.WriteString(".\n" + whoWorks(p) + "\n")
		for _, cr := range p.AcceptanceCriteria {
			fmt.Fprintf(&b, "- %s: %s%s\n", cr.ID, cr.Text, checkText(cr.Check))
		}
	}
	return b.String()
}

// whoWorks says which agents take a workstream on, in their order.
func whoWorks(p agency.Contract) string {
	words := map[agency.Tier]string{
		agency.TierArchitect: "architects design it", agency.TierSquadLead: "a squad lead splits it into tasks",
		agency.TierImplementer: "implementers do them", agency.TierVerifier: "verifiers judge each before it is integrated",
	}
	if p.TierPath[0] == agency.TierImplementer {
		words[agency.TierImplementer], words[agency.TierVerifier] = "one implementer does it", "a verifier judges it before it is integrated"
	}
	who := make([]string, len(p.TierPath))
	for i, t := range p.TierPath {
		who[i] = words[t]
	}
	line := strings.Join(who, "; ") + "."
	for _, s := range []string{p.Specialist(), p.Talent} {
		if s != "" {
			line += " Specialist: " + s + "."
		}
	}
	return strings.ToUpper(line[:1]) + line[1:]
}

// planList is the contracts of a plan for people, one after the other.
func planList(plan []agency.Contract, most int) string {
	var b strings.Builder
	for i, p := range inLines(plan) {
		if i == most {
			fmt.Fprintf(&b, "\nAnd %s more.\n", agency.Things(len(plan)-i, "contract", "contracts"))
			break
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\nRole %s", p.ID, text.OneLine(p.Title, maxTitle), p.AssignedRole)
		if len(p.DependsOn) > 0 {
			fmt.Fprintf(&b, ", after %s", agency.JoinIDs(p.DependsOn, ", "))
		}
		if w := p.WriteSet(); len(w) > 0 {
			fmt.Fprintf(&b, ", may change %s", strings.Join(w, ", "))
		} else {
			b.WriteString(", does not say what it will change")
		}
		b.WriteString(".\n\n")
		for _, cr := range p.AcceptanceCriteria {
			fmt.Fprintf(&b, "- %s: %s%s\n", cr.ID, cr.Text, checkText(cr.Check))
		}
	}
	return b.String()
}

// planBody is a contract as the person at the plan gate reads it.
func planBody(p agency.Contract, cost *effects.Forecast) string {
	var b strings.Builder
	p = inLines([]agency.Contract{p})[0]
	fmt.Fprintf(&b, "## %s\n\n%s\n\nCriteria:\n\n", text.OneLine(p.Title, maxTitle), text.Quote(p.Description))
	for _, cr := range p.AcceptanceCriteria {
		fmt.Fprintf(&b, "- %s: %s%s\n", cr.ID, cr.Text, checkText(cr.Check))
	}
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s:\n\n- %s\n", title, strings.Join(lines, "\n- "))
		}
	}
	list("Constraints", p.Constraints)
	list("May change", p.WriteSet())
	list("To read first", p.RelevantFiles)
	list("Interfaces", p.APIDefinitions)
	fmt.Fprintf(&b, "\nComplexity: %s. At most %s.\n", p.Complexity, agency.Things(p.RetryBudget, "attempt", "attempts"))
	if cost != nil {
		b.WriteString("\n" + cost.Text())
	}
	b.WriteString("\nApprove to begin; reject with a reason to have it written again.\n")
	return b.String()
}

func checkText(c *agency.Check) string {
	switch {
	case c == nil:
		return ""
	case c.Test != "":
		return " (test `" + c.Test + "`)"
	case c.Command != "":
		return " (command `" + c.Command + "`)"
	case c.File != "":
		return " (file `" + c.File + "`)"
	case c.Created != "":
		return " (file `" + c.Created + "`, that the work adds)"
	case c.Modified != "":
		return " (file `" + c.Modified + "`, that the work changes)"
	}
	return "" // the criterion's text says it
}

// Writes are the writes of contracts that say what they will change.
func Writes(plan []agency.Contract) map[agency.ContractID][]string {
	out := map[agency.ContractID][]string{}
	for _, c := range plan {
		if w := c.WriteSet(); len(w) > 0 {
			out[c.ID] = w
		}
	}
	return out
}

func (d *Draft) summary(plan []agency.Contract) string {
	if d.tiers != nil {
		return "the plan: " + agency.Things(len(plan), "workstream", "workstreams")
	}
	if d.many {
		return "the plan: " + agency.Things(len(plan), "contract", "contracts")
	}
	return text.FirstLine("the contract: "+plan[0].Title, 100)
}

func (d *Draft) body(will []agency.Contract, cost *effects.Forecast) string {
	if d.tiers != nil {
		return tiersBody(*d.tiers, d.shared.RetryBudget, will)
	}
	if d.many {
		return teamBody(d.in, d.shared.RetryBudget, will, cost)
	}
	return planBody(will[0], cost)
}
