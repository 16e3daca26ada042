package planning

import (
	"strings"
	"testing"

	"agency/internal/agency"
)

// Whoever approves a plan of workstreams sees the files that each may change: it is by
// them that a person gives leave.
func TestTiersTextNamesFiles(t *testing.T) {
	plan := []agency.Contract{
		{ID: "a", Title: "A", Description: "a", TierPath: []agency.Tier{agency.TierImplementer, agency.TierVerifier}, Phase: "one", Writes: []string{"Makefile", "x.go"}},
		{ID: "b", Title: "B", Description: "b", TierPath: []agency.Tier{agency.TierImplementer, agency.TierVerifier}, Phase: "one"},
	}
	got := TiersText(agency.TierFacts{Complexity: agency.Small}, plan)
	if !strings.Contains(got, "group one, may change Makefile, x.go.\n") || !strings.Contains(got, "group one.\n") {
		t.Errorf("no files in\n%s", got)
	}
}
