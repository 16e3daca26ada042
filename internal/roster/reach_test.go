package roster

import (
	"testing"

	"agency/internal/agency"
)

func TestMaySend(t *testing.T) {
	for _, c := range []struct {
		from, to agency.RoleID
		want     bool
	}{
		{agency.RoleProjectManager, agency.RoleOverseer, true},
		{agency.RoleScaffolder, agency.RoleProjectManager, true},
		{agency.RoleScaffolder, agency.RoleTestEngineer, true},
		{agency.RoleScaffolder, agency.RoleReviewer, false},
		{agency.RoleTestEngineer, agency.RoleScaffolder, true},
		{agency.RoleReviewer, agency.RoleTestEngineer, true},
		{agency.RoleReviewer, agency.RoleOverseer, false},
		{agency.RoleGeneralist, agency.RoleGeneralist, false},
		{agency.RoleImplementer, agency.RoleSquadLead, true},
		{agency.RoleImplementer, agency.RoleVisionary, false},
		{"critic", agency.RoleProjectManager, false},
		{agency.RoleProjectManager, "critic", false},
	} {
		if got := MaySend(c.from, c.to); got != c.want {
			t.Errorf("%s to %s: %v", c.from, c.to, got)
		}
	}
}

// Whoever may be written to exists, and every role that holds contracts can
// report to somebody.
func TestReach(t *testing.T) {
	for from, to := range reach() {
		for _, id := range append(to, from) {
			if _, err := Find(id); err != nil {
				t.Error(err)
			}
		}
	}
	for _, r := range Roles() {
		if (len(reach()[r.ID]) == 0) != (r.ID == agency.RoleOverseer) { // which nudges, as the harness
			t.Errorf("role %s can write to %v", r.ID, reach()[r.ID])
		}
	}
}

// Who leads starts those who can hold a contract; who works starts nobody.
func TestMaySpawn(t *testing.T) {
	for _, by := range Roles() {
		for _, role := range Roles() {
			tiered := role.ID.Tier() != ""
			want := by.ID == agency.RoleProjectManager && role.Works() && !tiered ||
				by.ID == agency.RoleVisionary && (role.ID == agency.RoleSquadLead || role.ID == agency.RoleImplementer) ||
				by.ID == agency.RoleSquadLead && role.ID == agency.RoleImplementer
			if got := MaySpawn(by.ID, role.ID); got != want {
				t.Errorf("%s starts %s: %v", by.ID, role.ID, got)
			}
		}
	}
	if MaySpawn("critic", agency.RoleScaffolder) || MaySpawn(agency.RoleProjectManager, "critic") {
		t.Error("an unknown role starts or is started")
	}
}
