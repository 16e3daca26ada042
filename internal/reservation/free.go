package reservation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/lease"
	"agency/internal/store"
	"agency/internal/text"
)

// freed is the kind of the leases that keep a contract from a name that a person freed.
const freed = "freed_name"

// mostNamed is how many names an error lists.
const mostNamed = 20

// Free takes a name from the contract that has it, for a person: anybody may reserve it then.
// The contract itself may not land a change that takes it before it has reserved it again;
// whoever works on it is told. KindNotFound where nobody has it.
func Free(tx *store.Tx, run agency.RunID, name, by string) (r agency.Reservation, err error) {
	all, contracts, err := read(tx, run)
	if err != nil {
		return r, err
	}
	n, err := Parse(name)
	if err != nil { // nobody can have it
		n = Name{shown: name}
	}
	at := slices.IndexFunc(all, func(h held) bool { return h.name.key() == n.key() })
	if at < 0 {
		return r, nobody(run, n, all)
	}
	h, by := all[at], cmp.Or(by, agency.FromHuman)
	if err := lease.Release(tx, h.key, h.Fence); err != nil {
		return r, err
	}
	why := "freed by " + by
	if err := tell(tx, h.Reservation, fmt.Sprintf("%s frees %s, which contract %s held", text.OneLine(by, 100), h.Name, h.Contract), agency.SeverityWarning,
		agency.NameReleased{Name: h.Name, Reason: why}); err != nil {
		return r, err
	}
	h.FreedBy = by
	if contracts[h.Contract].Status.Final() {
		return h.Reservation, nil
	}
	said, err := json.Marshal(note{By: h.By, Why: h.Why, Sort: h.Sort, FreedBy: by})
	if err != nil {
		return r, err
	}
	l, err := lease.Acquire(tx, lease.Request{Key: freedKey(run, h.Contract, n), Holder: string(h.Contract), Label: h.Name, Note: string(tx.Redact(said))})
	if err != nil {
		return r, err
	}
	h.Fence, h.Since = l.Fence, l.Since
	return h.Reservation, notify(tx, h.Reservation)
}

func freedKey(run agency.RunID, of agency.ContractID, n Name) lease.Key {
	return lease.Key{Kind: freed, Run: run, Name: string(of) + " " + n.key()}
}

func nobody(run agency.RunID, n Name, all []held) error {
	there := ""
	if len(all) > 0 {
		names := make([]string, len(all))
		for i, h := range all {
			names[i] = h.Name
		}
		there = "; there are: " + text.Few(names, mostNamed)
	}
	return agency.Errorf(agency.KindNotFound, "no contract of run %s has reserved %q%s", run, n.shown, there).WithMend("agency inspect %s --decisions", run)
}

// notify tells the agent that reserved a name that a person freed it; one that has ended reads
// nothing.
func notify(tx *store.Tx, r agency.Reservation) error {
	err := board.Send(tx, agency.Message{
		ID: agency.MessageID(fmt.Sprintf("freed/%d/%d", r.Fence.Epoch, r.Fence.N)), RunID: r.Run, From: agency.FromSystem, To: string(r.By), Type: agency.MessageStateChanged,
		Subject: "A person freed a name", ContractID: r.Contract,
		Body: fmt.Sprintf("A person has freed %q, which contract %s had reserved: others may take it now. A change of yours that takes it is refused unless you reserve it again.", r.Name, r.Contract),
	})
	if kind := agency.KindOf(err); kind == agency.KindNotFound || kind == agency.KindConflict {
		return nil
	}
	return err
}

// Freed are the names that people took from contracts which have not ended, nor reserved them
// again.
func Freed(q store.Querier, run agency.RunID) (out []agency.Reservation, err error) {
	all, contracts, err := readKind(q, freed, run)
	for _, h := range all {
		if !contracts[h.Contract].Status.Final() {
			out = append(out, h.Reservation)
		}
	}
	return out, err
}

// again lets a contract take a name that a person freed: it has reserved it again.
func again(tx *store.Tx, of agency.Reservation, n Name) error {
	return forgetFreed(tx, of.Run, func(h held) bool { return h.Contract == of.Contract && h.name.key() == n.key() })
}

func forgetFreed(tx *store.Tx, run agency.RunID, which func(held) bool) error {
	all, _, err := readKind(tx, freed, run)
	for _, h := range all {
		if err == nil && which(h) {
			err = lease.Release(tx, h.key, h.Fence)
		}
	}
	return err
}
