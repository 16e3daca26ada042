package tui

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/text/texttest"
)

// No text of an agent or of a repository makes a line of what is shown of a run.
func TestAgentsMakeNoLinesOfAView(t *testing.T) {
	d := texttest.Plant[api.InspectDoc]("Goal", "Answer", "Agent")
	g := texttest.Plant[agency.Gate]("Body")
	for name, got := range map[string]string{
		"inspect": Inspect(Style{}, d), "checks": Checks(Style{}, d, false) + Checks(Style{}, d, true), "anomalies": Anomalies(Style{}, d, nil, g),
		"gate": Gate(Style{}, g, ""), "notice": GateNotice(g),
	} {
		texttest.Check(t, name, got)
	}
	for _, tier := range []agency.Tier{agency.TierVisionary, agency.TierArchitect, agency.TierSquadLead, agency.TierVerifier} {
		d.Contracts[0].Tier, d.Artifacts[0].Kind = string(tier), agency.ArtifactProposal
		if tier == agency.TierSquadLead {
			d.Artifacts[0].Kind = agency.ArtifactTasks
		}
		texttest.Check(t, string(tier), Tier(Style{}, d, tier))
	}
	d.Agent = "x"
	texttest.Check(t, "answered", Inspect(Style{}, d))
}

// A merge is said once, by its row.
func TestInspectSaysOfAMergeOnce(t *testing.T) {
	var d api.InspectDoc
	d.Merged, d.Landings = "0123456789abcdef", []api.LandingDoc{{Commit: "0123456789abcdef", Branch: "main"}}
	if got := Inspect(Style{}, d); strings.Count(got, "0123456789") != 1 {
		t.Errorf("it says:\n%s", got)
	}
}
