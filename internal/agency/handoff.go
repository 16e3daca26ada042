package agency

import (
	"encoding/json"
	"fmt"
	"strings"
)

// HandoffPackage is what one agent leaves to the next. It goes with a
// message of type task_complete, whose body is its instructions.
type HandoffPackage struct {
	Run    RunID   `json:"-"`
	From   AgentID `json:"from_agent_id"`
	To     AgentID `json:"to_agent_id,omitempty"` // or whoever of ToRole takes it first
	ToRole RoleID  `json:"to_role,omitempty"`

	// Contract is what was worked on, Status how far it is; NextContract is what
	// the next agent works on, the same where that goes on with it.
	Contract ContractID      `json:"subcontract_id"`
	Status   Status          `json:"status"`
	Outputs  json.RawMessage `json:"outputs,omitempty"`
	// Base is what the work began at, Tree the files that it came to.
	Base OID `json:"base,omitempty"`
	Tree OID `json:"tree,omitempty"`

	NextContract ContractID `json:"next_subcontract_id,omitempty"`
	Instructions string     `json:"-"`

	FilesModified    []string     `json:"files_modified,omitempty"`
	DependenciesUsed []ContractID `json:"dependencies_used,omitempty"`
	// Checks are the last results of the commands that ran, a line each, Warnings
	// those of them that were red.
	Checks   []string `json:"checks,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// HandoffID is the id of the message that brings the n-th package for a
// contract. No agent can choose such an id.
func HandoffID(next ContractID, n int) MessageID {
	return MessageID(fmt.Sprintf("%s%d", handoffPrefix(next), n))
}

func handoffPrefix(next ContractID) string { return "handed/" + string(next) + "/" }

// HandoffOf is the package that a message brings; ok is false where it brings
// none.
func HandoffOf(m Message) (p HandoffPackage, ok bool) {
	if m.Type != MessageTaskComplete || len(m.Payload) == 0 {
		return p, false
	}
	if err := json.Unmarshal(m.Payload, &p); err != nil || p.NextContract == "" || !strings.HasPrefix(string(m.ID), handoffPrefix(p.NextContract)) {
		return HandoffPackage{}, false
	}
	p.Run, p.Instructions = m.RunID, m.Body
	return p, true
}
