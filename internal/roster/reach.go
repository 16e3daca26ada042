package roster

import (
	"slices"

	"agency/internal/agency"
)

// MaySend tells whether an agent of one role may write to one of another. An
// agent reports to whoever leads it and speaks with those whose work touches
// its own. The overseer nudges, which is the harness's own mail; nobody writes to
// it but the manager.
func MaySend(from, to agency.RoleID) bool {
	return slices.Contains(reach()[from], to)
}

// Spawns are the roles that an agent of a role may start on a contract: who leads whom. A
// role without a line works and starts nobody.
func Spawns(by agency.RoleID) []agency.RoleID {
	switch by {
	case agency.RoleProjectManager:
		return []agency.RoleID{agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleReviewer, agency.RoleCleanup, agency.RoleGeneralist}
	case agency.RoleVisionary:
		return []agency.RoleID{agency.RoleSquadLead, agency.RoleImplementer}
	case agency.RoleSquadLead:
		return []agency.RoleID{agency.RoleImplementer}
	default:
		return nil
	}
}

// MaySpawn tells whether an agent of one role may start one of another.
func MaySpawn(by, role agency.RoleID) bool { return slices.Contains(Spawns(by), role) }

// Leads tells whether an agent of a role leads others: it plans, starts them and
// answers what they ask.
func Leads(role agency.RoleID) bool { return len(Spawns(role)) > 0 }

// Implements tells whether agents of a role change what the product does.
func Implements(role agency.RoleID) bool {
	return slices.Contains([]agency.RoleID{agency.RoleScaffolder, agency.RoleGeneralist, agency.RoleCleanup, agency.RoleImplementer}, role)
}

// Team are the contracts of a run that are worked on below a lead whose own
// contract is plan: its members have the same parent as that one, and so has what
// comes of their work. What a lead below it has for a parent is that one's team.
func Team(all []agency.Contract, plan agency.ContractID) (team []agency.Contract) {
	known := map[agency.ContractID]agency.Contract{}
	for _, c := range all {
		known[c.ID] = c
	}
	led := func(c agency.Contract) agency.ContractID { // that the lead of c carries out; empty: the goal
		for range all { // no more often than there can be parents
			if c.ParentID == "" || Leads(known[c.ParentID].AssignedRole) {
				return c.ParentID
			}
			c = known[c.ParentID]
		}
		return ""
	}
	own := known[plan]
	return slices.DeleteFunc(slices.Clone(all), func(c agency.Contract) bool { return c.AssignedRole == own.AssignedRole || led(c) != led(own) })
}

func reach() map[agency.RoleID][]agency.RoleID {
	return map[agency.RoleID][]agency.RoleID{
		agency.RoleProjectManager: {agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleReviewer, agency.RoleOverseer, agency.RoleCleanup, agency.RoleGeneralist},
		agency.RoleScaffolder:     {agency.RoleProjectManager, agency.RoleTestEngineer},
		agency.RoleTestEngineer:   {agency.RoleProjectManager, agency.RoleScaffolder},
		agency.RoleReviewer:       {agency.RoleProjectManager, agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleCleanup, agency.RoleGeneralist},
		agency.RoleCleanup:        {agency.RoleProjectManager},
		agency.RoleGeneralist:     {agency.RoleProjectManager},
		agency.RoleVisionary:      {agency.RoleLead, agency.RoleSquadLead},
		agency.RoleLead:           {agency.RoleVisionary, agency.RoleArchitect, agency.RoleSquadLead, agency.RoleLead},
		agency.RoleArchitect:      {agency.RoleLead, agency.RoleArchitect},
		agency.RoleSquadLead:      {agency.RoleVisionary, agency.RoleLead, agency.RoleSquadLead, agency.RoleImplementer, agency.RoleVerifier},
		agency.RoleImplementer:    {agency.RoleSquadLead, agency.RoleVerifier},
		agency.RoleVerifier:       {agency.RoleSquadLead, agency.RoleImplementer},
	}
}
