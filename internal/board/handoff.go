package board

import (
	"cmp"
	"encoding/json"

	"agency/internal/agency"
	"agency/internal/store"
)

// Handoff leaves the n-th package of a contract to its next agent, which has
// joined: it is in that agent's inbox, and told (see HandedOver), both or neither.
// Once more is nothing, whatever has become of the files or the
// checks since. An agent that has ended is spoken for by the harness.
func Handoff(tx *store.Tx, n int, p agency.HandoffPackage) error {
	if p.Contract == "" || p.Status == "" || p.NextContract == "" {
		return agency.Errorf(agency.KindInvalid, "handoff of contract %q with status %q to %q: want all three", p.Contract, p.Status, p.NextContract)
	}
	id := agency.HandoffID(p.NextContract, n)
	if _, err := one(tx, p.Run, id); agency.KindOf(err) != agency.KindNotFound {
		return err
	}
	for i, file := range p.FilesModified {
		at, err := cleanPath(file)
		if err != nil {
			return err
		}
		p.FilesModified[i] = at
	}
	payload, err := json.Marshal(p)
	if err != nil {
		return agency.Errorf(agency.KindInvalid, "handoff %s: %w", id, err)
	}
	m := agency.Message{
		ID: id, RunID: p.Run, From: string(p.From), To: string(p.To), ToRole: p.ToRole, Type: agency.MessageTaskComplete,
		Subject: "Handoff: " + string(p.Contract), Payload: payload, ContractID: p.NextContract,
		Body: cmp.Or(p.Instructions, "Contract "+string(p.Contract)+" is "+string(p.Status)+"."),
	}
	if m.To != "" {
		m.ToRole = ""
	}
	if from, err := AgentOf(tx, p.Run, p.From); err != nil {
		return err
	} else if from.Status.Ended() {
		m.From = agency.FromSystem
	}
	if err := Send(tx, m); err != nil {
		return err
	}
	return store.Tell(tx, HandedOver(), Package{id, p})
}
