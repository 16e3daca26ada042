package mode

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun/team"
	"agency/internal/regexp"
	"agency/internal/schedule"
)

// replanWords tell a manager how to plan anew.
//
//go:embed replan.md
var replanWords string

// Reserved are the ids of contracts that a team's run makes itself: no plan may
// take one.
func Reserved() []agency.ContractID {
	return []agency.ContractID{agency.PlanContract, agency.OverseerContract, ReplanContract, team.ReportContract, reworkContract, agency.MainContract, BacklogContract, beforeContract}
}

var againID = regexp.MustCompile(`^(main|rework|rebase|features\.json)-\d+$`)

// IsDoneAgain tells whether an id is of the form of contracts that do again what a person
// sent back, of which a run makes as many as that happens.
func IsDoneAgain(id agency.ContractID) bool { return againID.MatchString(string(id)) }

// IsReserved tells whether a contract is one that a team's run makes itself.
func IsReserved(id agency.ContractID) bool { return IsDoneAgain(id) || slices.Contains(Reserved(), id) }

// replanText is what the manager is told when a part of its plan failed. Of a
// long plan it names the first most contracts and blocked ones, all where most
// is 0: the text must fit into a model's window.
func replanText(all []agency.Contract, f schedule.Failure, most int) string {
	var b strings.Builder
	b.WriteString(replanWords + "\n")
	fmt.Fprintf(&b, "Failed for good: %s (%s): %s\n", f.Contract.ID, f.Contract.Title, f.Reason)
	if len(f.Blocked) > 0 {
		blocked, more := f.Blocked, ""
		if n := len(blocked) - most; most > 0 && n > 0 {
			blocked, more = blocked[:most], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(&b, "Blocked by it, and replaced by what you submit: %s%s\n", agency.JoinIDs(blocked, ", "), more)
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
