package roster

import (
	"slices"

	"agency/internal/agency"
)

// MaySend tells whether an agent of one role may write to one of another. An
// agent reports to whoever leads it and speaks with those whose work touches
// its own; nobody writes to the overseer but the manager.
func MaySend(from, to agency.RoleID) bool {
	return slices.Contains(reach()[from], to)
}

// MaySpawn tells whether an agent of one role may start one of another on a
// contract: who leads starts those who do the work; who works starts
// nobody.
func MaySpawn(by, role agency.RoleID) bool { return slices.Contains(Spawns(by), role) }

// Leads tells whether an agent of a role leads others: it plans, starts them and
// answers what they ask.
func Leads(role agency.RoleID) bool { return len(Spawns(role)) > 0 }

// Spawns are the roles that an agent of a role may start.
func Spawns(by agency.RoleID) []agency.RoleID {
	if by == agency.RoleProjectManager {
		return []agency.RoleID{agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleReviewer, agency.RoleCleanup, agency.RoleGeneralist}
	}
	return nil
}

func reach() map[agency.RoleID][]agency.RoleID {
	return map[agency.RoleID][]agency.RoleID{
		agency.RoleProjectManager: {agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleReviewer, agency.RoleOverseer, agency.RoleCleanup, agency.RoleGeneralist},
		agency.RoleScaffolder:     {agency.RoleProjectManager, agency.RoleTestEngineer},
		agency.RoleTestEngineer:   {agency.RoleProjectManager, agency.RoleScaffolder},
		agency.RoleReviewer:       {agency.RoleProjectManager, agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleCleanup, agency.RoleGeneralist},
		agency.RoleOverseer: {
			agency.RoleProjectManager, agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleReviewer, agency.RoleCleanup, agency.RoleGeneralist,
			agency.RoleVisionary, agency.RoleLead, agency.RoleArchitect, agency.RoleSquadLead, agency.RoleImplementer, agency.RoleVerifier,
		},
		agency.RoleCleanup:     {agency.RoleProjectManager},
		agency.RoleGeneralist:  {agency.RoleProjectManager},
		agency.RoleVisionary:   {agency.RoleLead, agency.RoleSquadLead},
		agency.RoleLead:        {agency.RoleVisionary, agency.RoleArchitect, agency.RoleSquadLead, agency.RoleLead},
		agency.RoleArchitect:   {agency.RoleLead, agency.RoleArchitect},
		agency.RoleSquadLead:   {agency.RoleVisionary, agency.RoleLead, agency.RoleSquadLead, agency.RoleImplementer, agency.RoleVerifier},
		agency.RoleImplementer: {agency.RoleSquadLead, agency.RoleVerifier},
		agency.RoleVerifier:    {agency.RoleSquadLead, agency.RoleImplementer},
	}
}
