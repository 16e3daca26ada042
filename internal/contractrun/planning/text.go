package planning

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/effects"
	"agency/internal/schedule"
	"agency/internal/text"
)

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

// planList is the contracts of a plan for people, one after the other.
func planList(plan []agency.Contract, most int) string {
	var b strings.Builder
	for i, p := range plan {
		if i == most {
			fmt.Fprintf(&b, "\nAnd %s more.\n", agency.Things(len(plan)-i, "contract", "contracts"))
			break
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\nRole %s", p.ID, p.Title, p.AssignedRole)
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
	fmt.Fprintf(&b, "## %s\n\n%s\n\nCriteria:\n\n", p.Title, p.Description)
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
	if d.many {
		return "the plan: " + agency.Things(len(plan), "contract", "contracts")
	}
	return text.FirstLine("the contract: "+plan[0].Title, 100)
}

func (d *Draft) body(will []agency.Contract, cost *effects.Forecast) string {
	if d.many {
		return teamBody(d.in, d.shared.RetryBudget, will, cost)
	}
	return planBody(will[0], cost)
}
