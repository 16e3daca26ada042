package resources

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/mode"
	"agency/internal/roster"
)

// A plan cannot take the id of a contract that the run makes itself: the second
// of that id would end the run.
func TestReservedIDs(t *testing.T) {
	rules := rulesOf(config.Config{Mode: agency.ModeMultiAgent}, []agency.Contract{{ID: "old"}}, agency.PlanContract, agency.RoleProjectManager)
	for _, id := range append(mode.Reserved(), "old") {
		faults := agency.ValidatePlan([]agency.Contract{{ID: id, AssignedRole: "scaffolder"}}, rules)
		if len(faults) != 1 || !strings.Contains(faults[0].What, "is taken") {
			t.Errorf("a contract %s has the faults %v", id, faults)
		}
	}
	if faults := agency.ValidatePlan([]agency.Contract{{ID: "reporting", AssignedRole: "scaffolder"}}, rules); len(faults) != 0 {
		t.Errorf("an id of its own has the faults %v", faults)
	}
}

// A new plan may build on the one before it, but on nothing that can not land.
func TestPlansBuildOnWhatIsThere(t *testing.T) {
	known := []agency.Contract{
		{ID: "plan", AssignedRole: "project_manager", Status: agency.StatusComplete},
		{ID: "done", AssignedRole: "scaffolder", Status: agency.StatusComplete},
		{ID: "busy", AssignedRole: "scaffolder", Status: agency.StatusInProgress},
		{ID: "lost", AssignedRole: "scaffolder", Status: agency.StatusFailed},
		{ID: "stuck", AssignedRole: "scaffolder", Status: agency.StatusBlocked},
	}
	rules := rulesOf(config.Config{Mode: agency.ModeMultiAgent}, known, agency.PlanContract, agency.RoleProjectManager)
	for id, want := range map[agency.ContractID]string{"done": "", "busy": "", "lost": "is failed", "stuck": "is blocked", "plan": "not in the plan"} {
		faults := agency.ValidatePlan([]agency.Contract{{ID: "new", AssignedRole: "scaffolder", DependsOn: []agency.ContractID{id}}}, rules)
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0].What, want)) {
			t.Errorf("after %s: %v", id, faults)
		}
	}
}

// The limits that a run has by default are those of the roles (docs/design.md, Modes).
func TestDefaultLimitsAreTheRoles(t *testing.T) {
	agents := config.Defaults().Agents
	for _, role := range roster.Roles() {
		if got := limitsOf(role.Limits, agents[string(role.ID)]); got != role.Limits {
			t.Errorf("%s has the limits %+v by default, want %+v", role.ID, got, role.Limits)
		}
	}
}
