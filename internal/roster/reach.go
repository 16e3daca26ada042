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
// contract (R1 1): who leads starts those who do the work; who works starts
// nobody.
func MaySpawn(by, role agency.RoleID) bool { return slices.Contains(Spawns(by), role) }

// Spawns are the roles that an agent of a role may start.
func Spawns(by agency.RoleID) []agency.RoleID {
	if by == ProjectManager {
		return []agency.RoleID{Scaffolder, TestEngineer, Reviewer, Cleanup, Generalist}
	}
	return nil
}

func reach() map[agency.RoleID][]agency.RoleID {
	return map[agency.RoleID][]agency.RoleID{
		ProjectManager: {Scaffolder, TestEngineer, Reviewer, Overseer, Cleanup, Generalist},
		Scaffolder:     {ProjectManager, TestEngineer},
		TestEngineer:   {ProjectManager, Scaffolder},
		Reviewer:       {ProjectManager, Scaffolder, TestEngineer, Cleanup, Generalist},
		Overseer: {
			ProjectManager, Scaffolder, TestEngineer, Reviewer, Cleanup, Generalist,
			Visionary, Lead, Architect, SquadLead, Implementer, Verifier,
		},
		Cleanup:     {ProjectManager},
		Generalist:  {ProjectManager},
		Visionary:   {Lead, SquadLead},
		Lead:        {Visionary, Architect, SquadLead, Lead},
		Architect:   {Lead, Architect},
		SquadLead:   {Visionary, Lead, SquadLead, Implementer, Verifier},
		Implementer: {SquadLead, Verifier},
		Verifier:    {SquadLead, Implementer},
	}
}
