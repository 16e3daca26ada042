package board

import (
	"cmp"
	"context"
	"encoding/json"

	"agency/internal/agency"
	"agency/internal/store"
)

// manager is the role that decides who goes on with what.
const manager agency.RoleID = "project_manager"

// HandoffPackage is what one agent leaves to the next (R1 4.4).
type HandoffPackage struct {
	Run    agency.RunID   `json:"-"`
	From   agency.AgentID `json:"from_agent_id"`
	To     agency.AgentID `json:"to_agent_id,omitempty"` // or whoever of ToRole takes it first
	ToRole agency.RoleID  `json:"to_role,omitempty"`

	Contract agency.ContractID `json:"subcontract_id"`
	Status   string            `json:"status"`
	Outputs  json.RawMessage   `json:"outputs,omitempty"`
	// Base and Commit are the work: what it began at and what it came to.
	Base   agency.OID `json:"base,omitempty"`
	Commit agency.OID `json:"commit,omitempty"`

	NextContract agency.ContractID `json:"next_subcontract_id,omitempty"`
	Instructions string            `json:"instructions,omitempty"`

	FilesModified    []string `json:"files_modified,omitempty"`
	DependenciesUsed []string `json:"dependencies_used,omitempty"`
	Warnings         []string `json:"warnings,omitempty"`
}

// OutputsKey is where the outputs of a contract stand in the shared state.
func OutputsKey(run agency.RunID, contract agency.ContractID) Key {
	return Key{Namespace: OfContract, Run: run, Of: string(contract), Name: "outputs"}
}

// Handoff is HandoffTx in a transaction of its own.
func (b *Board) Handoff(ctx context.Context, id agency.MessageID, p HandoffPackage) error {
	return b.db.Write(ctx, func(tx *store.Tx) error { return b.HandoffTx(tx, id, p) })
}

// HandoffTx shares the outputs of a contract and tells the next agent, both or
// neither. The same package under the same id again is nothing.
func (b *Board) HandoffTx(tx *store.Tx, id agency.MessageID, p HandoffPackage) error {
	if p.Contract == "" || p.Status == "" {
		return agency.Errorf(agency.KindInvalid, "handoff %s: contract %q with status %q: want both", id, p.Contract, p.Status)
	}
	for i, file := range p.FilesModified {
		at, err := parsePath(file)
		if err != nil {
			return err
		}
		p.FilesModified[i] = at.shown
	}
	payload, err := json.Marshal(p)
	if err != nil {
		return agency.Errorf(agency.KindInvalid, "handoff %s: %w", id, err)
	}
	m := agency.Message{
		ID: id, RunID: p.Run, From: string(p.From), To: string(p.To), ToRole: p.ToRole, Type: agency.MessageTaskComplete,
		Subject: "Handoff: " + string(p.Contract), Payload: payload, ContractID: p.Contract,
		Body: cmp.Or(p.Instructions, "Contract "+string(p.Contract)+" is "+p.Status+"."),
	}
	if m.To != "" {
		m.ToRole = ""
	}
	if err := b.SendTx(tx, m); err != nil || len(p.Outputs) == 0 {
		return err
	}
	_, err = PutState(tx, Write{Key: OutputsKey(p.Run, p.Contract), Value: p.Outputs, By: string(p.From), ID: string(id)})
	return err
}

// RequestHandoff is RequestHandoffTx in a transaction of its own.
func (b *Board) RequestHandoff(ctx context.Context, id agency.MessageID, run agency.RunID, from agency.AgentID, to agency.RoleID, reason string) error {
	return b.db.Write(ctx, func(tx *store.Tx) error { return b.RequestHandoffTx(tx, id, run, from, to, reason) })
}

// RequestHandoffTx asks the project manager to give an agent's work to another
// role. The answer is a reply to the message that it sends.
func (b *Board) RequestHandoffTx(tx *store.Tx, id agency.MessageID, run agency.RunID, from agency.AgentID, to agency.RoleID, reason string) error {
	if to == "" || b.o.Role != nil && !b.o.Role(to) {
		return agency.Errorf(agency.KindNotFound, "handoff %s: there is no role %q", id, clip(string(to)))
	}
	a, err := AgentOf(tx, run, from)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(struct {
		Role agency.RoleID `json:"to_role"`
	}{to})
	if err != nil {
		return err
	}
	return b.SendTx(tx, agency.Message{
		ID: id, RunID: run, From: string(from), ToRole: manager, Type: agency.MessageRequestInput,
		Subject: "Request handoff to " + string(to), Body: reason, Payload: payload, ContractID: a.Contract, RequiresResponse: true,
	})
}
