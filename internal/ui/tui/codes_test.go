package tui

import (
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
)

// A code stands for the step that it names, and for nothing else that its role does.
func TestCodesNameTheirStep(t *testing.T) {
	for _, tt := range []struct {
		role     agency.RoleID
		contract agency.ContractID
		d        agency.Detail
		want     string
	}{
		{agency.RoleVisionary, "plan", agency.Spawned{}, "PLAN_START"},
		{agency.RoleVisionary, "replan", agency.Spawned{}, "PLAN_START"},
		{agency.RoleVisionary, "accept", agency.Spawned{}, "spawned"},
		{agency.RoleVisionary, "accept-2", agency.Spawned{}, "spawned"},
		{agency.RoleSquadLead, "api-tasks", agency.Spawned{}, "MESH_START"},
		{agency.RoleSquadLead, "api-tasks", agency.PlanSubmitted{Contracts: 3}, "MESH_DONE"},
		{agency.RoleSquadLead, "api-verdict-2", agency.Spawned{}, "spawned"},
		{agency.RoleSquadLead, "api", agency.Completed{Outcome: "landed"}, "completed"},
		{agency.RoleImplementer, "t", agency.Completed{Outcome: "landed"}, "DONE"},
		{agency.RoleImplementer, "t", agency.Completed{Session: "r/t/attempt-1"}, "completed"},
		{agency.RoleLead, "t2-design", agency.Published{Kind: agency.ArtifactBoundaries, Version: 1}, "BOUNDS_READY"},
		{agency.RoleLead, "t2-design", agency.Published{Kind: agency.ArtifactAssumptions, Version: 1}, "published"},
		{agency.RoleLead, "t2-synthesis", agency.Published{Kind: agency.ArtifactArchitecture, Version: 2}, "SYNTH_DONE"},
		{agency.RoleArchitect, "t2-web", agency.Published{Kind: agency.ArtifactProposal, Version: 1}, "published"},
		{agency.RoleImplementer, "api", agency.SwarmStarted{Round: 1}, "SWARM_START"},
		{agency.RoleLead, "t2-design", agency.Completed{Outcome: "published"}, "LEAD_DONE"},
		{agency.RoleScaffolder, "api", agency.Merged{Contract: "api", Branch: "agency/r/main"}, "integrated"},
		{"", "", agency.Merged{Branch: "main"}, "merged"},
	} {
		ev := agency.NewEvent("run-abcd2345", agency.SeverityInfo, "said", tt.d)
		ev.Role, ev.ContractID = tt.role, tt.contract
		if got := strings.Fields(EventLine(Style{Width: 49}, time.UTC, ev))[0]; got != tt.want {
			t.Errorf("%s of %s on %s: %s, want %s", ev.Type, tt.role, tt.contract, got, tt.want)
		}
	}
}
