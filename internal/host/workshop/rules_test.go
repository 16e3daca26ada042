package workshop

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/mode"
)

// A plan cannot take the id of a contract that the run makes itself: the second
// of that id would end the run.
func TestReservedIDs(t *testing.T) {
	rules := rulesOf(config.Config{Mode: agency.ModeMultiAgent}, []agency.Contract{{ID: "old"}})
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
