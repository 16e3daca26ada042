// Package roster knows the roles: which tools each is offered, by which of
// them its session ends, its limits, and its prompt. The set of roles is fixed
// (docs/design.md, What a model is shown); which tools a role has is decided here and nowhere else.
//
// It does not know what a tool does (package tool), which model a role uses
// (configuration), or what a session is told beyond its role (package brief).
package roster

import (
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
)

// Limits bound one session of a role (docs/design.md, Modes). A zero field is no limit,
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
	Limits Limits
	// Holds tells whether contracts may be assigned to the role.
	Holds bool
}

// MostSessions is how many sessions an attempt of a role has at most, where each uses up
// what it may and leaves the next a record. Who leads or reviews begins anew instead.
func MostSessions(id agency.RoleID) int {
	if Leads(id) || id == agency.RoleReviewer || id == agency.RoleVerifier {
		return 1
	}
	return 4
}

func limits(turns int, output, tokens int64, seconds int) Limits {
	return Limits{Turns: turns, CallsPerTurn: callsPerTurn, MaxOutput: output, Tokens: tokens, Seconds: seconds}
}

// Roles are all roles, in the order in which they are listed.
func Roles() []Role {
	return []Role{
		{agency.RoleProjectManager, "Project Manager", limits(30, 0, 100_000, 900), false},
		{agency.RoleScaffolder, "Scaffolder", limits(50, 0, 150_000, 1800), true},
		{agency.RoleTestEngineer, "Test Engineer", limits(40, 0, 100_000, 1200), true},
		{agency.RoleReviewer, "Reviewer", limits(20, 0, 100_000, 600), true},
		{agency.RoleOverseer, "Overseer", limits(100, 2048, 100_000, 1800), false},
		{agency.RoleCleanup, "Cleanup", limits(50, 0, 100_000, 1800), true},
		{agency.RoleGeneralist, "Generalist", limits(50, 0, 100_000, 1800), true},
		{agency.RoleVisionary, "Visionary", limits(50, 0, 100_000, 1800), false},
		{agency.RoleLead, "Tier Lead", limits(50, 0, 100_000, 1800), false},
		{agency.RoleArchitect, "Architect", limits(50, 0, 100_000, 1800), false},
		{agency.RoleSquadLead, "Squad Lead", limits(50, 0, 100_000, 1800), false},
		{agency.RoleImplementer, "Implementer", limits(50, 0, 100_000, 1800), true},
		{agency.RoleVerifier, "Verifier", limits(50, 0, 100_000, 1800), true},
	}
}

// agent is the role of an agent of a file. It is none that a configuration or a plan can
// name: which tools it is offered its Persona says.
func agent() Role {
	return Role{agency.RoleAgent, "Agent", limits(30, 0, 150_000, 1800), false}
}

// Find looks a role up; KindInvalid for a name that is no role.
func Find(id agency.RoleID) (Role, error) {
	roles := append(Roles(), agent())
	i := slices.IndexFunc(roles, func(r Role) bool { return r.ID == id })
	if i < 0 {
		return Role{}, agency.Errorf(agency.KindInvalid, "role %q is not known", id)
	}
	return roles[i], nil
}

// Name is the role in a sentence.
func Name(id agency.RoleID) string {
	r, err := Find(id)
	if err != nil {
		return string(id)
	}
	return strings.ToLower(r.Title)
}

// Tools are the names of the tools that the role is offered in this version,
// sorted. A tool outside of them is refused.
func (r Role) Tools() []string { return r.named(func(row) bool { return true }) }

// Endings are the role's tools by which its session ends.
func (r Role) Endings() []string { return r.named(func(w row) bool { return w.ending }) }

func (r Role) named(which func(row) bool) (out []string) {
	for _, row := range rows() {
		if row.offers(r.ID) && which(row) {
			out = append(out, row.tool)
		}
	}
	slices.Sort(out)
	return out
}

// Offers tells whether the role may call a tool.
func (r Role) Offers(tool string) bool {
	return slices.ContainsFunc(rows(), func(row row) bool { return row.tool == tool && row.offers(r.ID) })
}
