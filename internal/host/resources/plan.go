package resources

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/tool/team"
)

// PlanFaults names everything that is wrong with a plan that a person gives a
// run of a configuration: by the rules to which a manager's plan is held.
func PlanFaults(c config.Config, p agency.Plan) []agency.PlanFault {
	faults := agency.ValidatePlan(p.Contracts, rulesOf(c, nil, ""))
	if m := p.RetryBudgetMultiplier; m != 0 {
		if err := agency.CheckMultiplier(m); err != nil {
			faults = append(faults, agency.PlanFault{What: err.Error()})
		}
	}
	if n := len(p.Contracts); !c.Mode.Team() && n > 1 {
		faults = append(faults, agency.PlanFault{What: fmt.Sprintf("the plan has %d contracts, the most in mode %s is 1", n, c.Mode)})
	}
	for _, one := range p.Contracts {
		faults = append(faults, team.DraftFaults(one)...)
	}
	return faults
}

// checkPlan refuses a plan with faults. Whoever reads it from a file has named
// their places; this is for all others.
func checkPlan(c config.Config, p agency.Plan) error {
	if c.Mode == agency.ModeSingle {
		return agency.Errorf(agency.KindInvalid, "mode single has no plan").WithMend("agency run --mode multi_agent FILE")
	}
	faults := PlanFaults(c, p)
	if len(faults) == 0 {
		return nil
	}
	lines := make([]string, 0, len(faults))
	for i, f := range faults {
		if i == maxFaults {
			lines = append(lines, "and "+agency.Things(len(faults)-i, "more fault", "more faults"))
			break
		}
		lines = append(lines, f.String())
	}
	return agency.Errorf(agency.KindInvalid, "the plan is faulty: %s", strings.Join(lines, "; "))
}

// maxFaults bounds what is told of a plan that is something else entirely.
const maxFaults = 50
