package tui

import (
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// A gate shows what happened since the last one that was answered; what a person saw there is
// not told again.
func TestAnomaliesSinceTheLastGate(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	since := func(minute int) *time.Time { now := at(minute); return &now }
	d := api.InspectDoc{
		Contracts: []api.ContractDoc{
			{Contract: agency.Contract{ID: "old", Error: "failed before", CompletedAt: at(1)}},
			{Contract: agency.Contract{ID: "new", Error: "failed after", CompletedAt: at(11)}},
			{Contract: agency.Contract{ID: "now", Error: "fails now"}},
		},
		Sessions: []api.SessionDoc{
			{Role: "a", Health: "slow", HealthReason: "slow before", HealthSince: since(2)},
			{Role: "b", Health: "slow", HealthReason: "slow after", HealthSince: since(12)},
		},
		Interventions: []agency.Intervention{{Agent: "c", Cause: "nudged before", Time: at(3)}, {Agent: "c", Cause: "nudged after", Time: at(13)}},
		Conflicts:     []api.ConflictDoc{{Resource: "before.go", CreatedAt: at(4)}, {Resource: "after.go", CreatedAt: at(14)}},
	}
	first := agency.Gate{ID: "1", Decision: agency.Decision{Verb: agency.Approve, At: at(10)}}
	second := agency.Gate{ID: "2", CreatedAt: at(15), Weakened: []agency.Weakening{{Name: "TestX"}}}
	for _, tt := range []struct {
		gate  agency.Gate
		parts int
		title string
	}{{first, 10, "anomalies\n"}, {second, 7, "anomalies since the last gate\n"}} {
		got := Anomalies(Style{}, d, []agency.Gate{first, second}, tt.gate)
		if n := strings.Count(got, "\n"); n != tt.parts || !strings.Contains(got, tt.title) {
			t.Errorf("%d lines, want %d:\n%s", n, tt.parts, got)
		}
		for _, part := range []string{"failed before", "slow before", "nudged before", "before.go"} {
			if strings.Contains(got, part) != (tt.gate.ID == "1") {
				t.Errorf("gate %s and %q:\n%s", tt.gate.ID, part, got)
			}
		}
	}
	if got := Anomalies(Style{}, api.InspectDoc{}, []agency.Gate{first}, agency.Gate{}); got != "  anomalies since the last gate  none\n" {
		t.Errorf("%q", got)
	}
}
