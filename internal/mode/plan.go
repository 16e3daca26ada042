package mode

import (
	_ "embed"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/schedule"
)

// replanWords tell a manager how to plan anew; replanApart are those of runs
// that began when a new plan could not build on the old one.
var (
	//go:embed replan.md
	replanWords string
	//go:embed replan_apart.md
	replanApart string
)

// Reserved are the ids of contracts that a team's run makes itself: no plan may
// take one.
func Reserved() []agency.ContractID {
	return []agency.ContractID{"plan", ReplanContract, "report", "rework", "main", "main-2", BacklogContract}
}

// replanText is what the manager is told when a part of its plan failed. Of a
// long plan it names the first most contracts and blocked ones, all where most
// is 0: the text must fit into a model's window.
func replanText(in Input, words string, all []agency.Contract, f schedule.Failure, most int) string {
	var b strings.Builder
	b.WriteString(in.Goal + "\n\n" + words + "\n")
	fmt.Fprintf(&b, "Failed for good: %s (%s): %s\n", f.Contract.ID, f.Contract.Title, f.Reason)
	if len(f.Blocked) > 0 {
		blocked, more := ids(f.Blocked), ""
		if n := len(blocked) - most; most > 0 && n > 0 {
			blocked, more = blocked[:most], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(&b, "Blocked by it, and replaced by what you submit: %s%s\n", strings.Join(blocked, ", "), more)
	}
	b.WriteString("\nThe plan so far:\n")
	for i, c := range all {
		if most > 0 && i == most {
			fmt.Fprintf(&b, "And %s more.\n", agency.Things(len(all)-i, "contract", "contracts"))
			break
		}
		fmt.Fprintf(&b, "- %s: %s\n", c.ID, c.Title)
	}
	return b.String()
}

// PlanText is a plan for people, with what it may take where that is known.
func PlanText(plan []agency.Contract, e *agency.PlanEstimate, parallel int) string {
	s := agency.Things(len(plan), "contract", "contracts")
	if parallel > 0 {
		s += fmt.Sprintf(", at most %d at work at once", parallel)
	}
	s += ".\n"
	if e != nil {
		s += "\n" + estimateText(*e, "")
	}
	return s + planList(plan, maxListed)
}

// teamBody is a plan as the person at the plan gate reads it.
func teamBody(in Input, plan []agency.Contract, cost *forecast) string {
	var b strings.Builder
	path := schedule.Longest(plan)
	fmt.Fprintf(&b, "%s, at most %d at work at once. The longest chain has %d: %s.\n", agency.Things(len(plan), "contract", "contracts"), in.Parallel, len(path), strings.Join(ids(path), ", "))
	if cost == nil {
		fmt.Fprintf(&b, "At worst %s, %d of each contract.\n", agency.Things(in.RetryBudget*len(plan), "attempt", "attempts"), in.RetryBudget)
	}
	most := len(plan)
	if cost != nil {
		b.WriteString("\n" + cost.text())
		most = maxListed
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
			fmt.Fprintf(&b, ", after %s", strings.Join(ids(p.DependsOn), ", "))
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
