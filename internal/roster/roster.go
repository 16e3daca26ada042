// Package roster knows the roles: which tools each is offered, by which of
// them its session ends, its limits, and its prompt. The set of roles is fixed
// (INTERFACES 4); what a role may do is decided here and nowhere else.
//
// It does not know what a tool does (package tool), which model a role uses
// (configuration), or what a session is told beyond its role (package brief).
package roster

import (
	"slices"
	"time"

	"agency/internal/agency"
)

// The roles (INTERFACES 4).
const (
	ProjectManager agency.RoleID = "project_manager"
	Scaffolder     agency.RoleID = "scaffolder"
	TestEngineer   agency.RoleID = "test_engineer"
	Reviewer       agency.RoleID = "reviewer"
	Overseer       agency.RoleID = "overseer"
	Cleanup        agency.RoleID = "cleanup"
	Generalist     agency.RoleID = "generalist"
	Visionary      agency.RoleID = "t1_visionary"
	Lead           agency.RoleID = "t2_lead"
	Architect      agency.RoleID = "t2_architect"
	SquadLead      agency.RoleID = "t3_lead"
	Implementer    agency.RoleID = "t4_implementer"
	Verifier       agency.RoleID = "t5_verifier"
)

// Limits bound one session of a role (DESIGN 15). A zero field is no limit,
// except MaxOutput, whose zero leaves it to the model's adapter.
type Limits struct {
	Turns        int   `json:"turns"`
	CallsPerTurn int   `json:"calls_per_turn"`
	MaxOutput    int64 `json:"max_output"`     // tokens of one answer
	Tokens       int64 `json:"session_tokens"` // output plus uncached input, summed
	Seconds      int   `json:"timeout_seconds"`
}

// Timeout is the time at work that a session may take; waiting does not count.
func (l Limits) Timeout() time.Duration { return time.Duration(l.Seconds) * time.Second }

// callsPerTurn is more than a careful model asks for at once, and few enough
// that a runaway answer is stopped before it has done much.
const callsPerTurn = 32

// Role is who an agent is allowed to be.
type Role struct {
	ID     agency.RoleID
	Title  string
	Letter byte // of the tool rows of INTERFACES 5
	Limits Limits
	// Holds tells whether contracts may be assigned to the role.
	Holds bool
}

func limits(turns int, output, tokens int64, seconds int) Limits {
	return Limits{Turns: turns, CallsPerTurn: callsPerTurn, MaxOutput: output, Tokens: tokens, Seconds: seconds}
}

// Roles are all roles, in the order of INTERFACES 4.
func Roles() []Role {
	return []Role{
		{ProjectManager, "Project Manager", 'P', limits(30, 4096, 100_000, 900), false},
		{Scaffolder, "Scaffolder", 'S', limits(50, 8192, 150_000, 1800), true},
		{TestEngineer, "Test Engineer", 'T', limits(40, 8192, 100_000, 1200), true},
		{Reviewer, "Reviewer", 'R', limits(20, 4096, 100_000, 600), true},
		{Overseer, "Overseer", 'O', limits(100, 2048, 100_000, 1800), false},
		{Cleanup, "Cleanup", 'C', limits(50, 8192, 100_000, 1800), true},
		{Generalist, "Generalist", 'G', limits(50, 8192, 100_000, 1800), true},
		{Visionary, "Visionary", 'V', limits(50, 8192, 100_000, 1800), false},
		{Lead, "Tier Lead", 'L', limits(50, 8192, 100_000, 1800), false},
		{Architect, "Architect", 'A', limits(50, 8192, 100_000, 1800), false},
		{SquadLead, "Squad Lead", 'Q', limits(50, 8192, 100_000, 1800), false},
		{Implementer, "Implementer", 'I', limits(50, 8192, 100_000, 1800), true},
		{Verifier, "Verifier", 'F', limits(50, 8192, 100_000, 1800), true},
	}
}

// Find looks a role up; KindInvalid for a name that is no role.
func Find(id agency.RoleID) (Role, error) {
	roles := Roles()
	i := slices.IndexFunc(roles, func(r Role) bool { return r.ID == id })
	if i < 0 {
		return Role{}, agency.Errorf(agency.KindInvalid, "role %q is not known", id)
	}
	return roles[i], nil
}

// Tools are the names of the tools that the role is offered in this version,
// sorted. A tool outside of them is refused.
func (r Role) Tools() []string {
	var out []string
	for _, row := range rows() {
		if row.offers(r.Letter) {
			out = append(out, row.tool)
		}
	}
	slices.Sort(out)
	return out
}

// Endings are the role's tools by which its session ends.
func (r Role) Endings() []string {
	var out []string
	for _, row := range rows() {
		if row.ending && row.offers(r.Letter) {
			out = append(out, row.tool)
		}
	}
	slices.Sort(out)
	return out
}

// Offers tells whether the role may call a tool.
func (r Role) Offers(tool string) bool {
	for _, row := range rows() {
		if row.tool == tool {
			return row.offers(r.Letter)
		}
	}
	return false
}
