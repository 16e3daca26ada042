// Package reservation keeps the names of a run that only one of its contracts may take: the
// number of a migration, a port, a route, a file, a file#Symbol.
//
// A name is a lease of the contract, whoever works on it, so that its next attempt has the
// name still. It ends with the contract, but where that has landed: then what has the name
// is in the tree, and the name is taken for as long as the run is kept. Whoever
// lands a change asks here what of it takes a name of others (Change).
//
// A contract that builds on another, by its dependencies or below it, uses what that one
// has: such a name is not another's.
package reservation

import (
	"encoding/json"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
)

// MaxNames is how many names a contract may hold: more than one piece of work takes, and few
// enough that nobody reserves a range, and that a landing compares with all in a moment.
const MaxNames = 20

// kind is the kind of the leases that are names.
const kind = "name"

// note is what the lease says of a reservation.
type note struct {
	By   agency.AgentID `json:"by"`
	Why  string         `json:"why,omitempty"`
	Sort string         `json:"namespace,omitempty"`
	// FreedBy is the person who took it from the contract.
	FreedBy string `json:"freed_by,omitempty"`
}

// held is a name with who has it.
type held struct {
	agency.Reservation
	name Name
	key  lease.Key
}

// Reserve gives a contract a name, which nobody else may take until it is released. What the
// contract has already it gets again. Where another contract has it, or a part of it, or
// what it is a part of, got is false and the reservation is that one's. What is held by
// the contract's leads goes over to it.
func Reserve(tx *store.Tx, want agency.Reservation) (r agency.Reservation, got bool, err error) {
	n, err := Parse(want.Name)
	if err != nil {
		return want, false, err
	}
	c, err := registry.Contract(tx, want.Run, want.Contract)
	if err != nil {
		return want, false, err
	}
	if c.Status.Final() {
		return want, false, agency.Errorf(agency.KindConflict, "contract %s has ended: it reserves nothing", c.ID)
	}
	all, contracts, err := read(tx, want.Run)
	if err != nil {
		return want, false, err
	}
	if err := declared(tx, c, n); err != nil {
		return want, false, err
	}
	own := 0
	for _, h := range all {
		leads := builds(c.ID, h.Contract, contracts, parent) || h.Landed && (h.name.path != "" || c.Redoes(h.Contract))
		same := h.name.key() == n.key()
		switch {
		case h.Contract == c.ID && same:
			return h.Reservation, true, nil
		case h.Contract == c.ID:
			own++
		case leads && same:
			if err := release(tx, h, "contract "+string(c.ID)+" takes it over"); err != nil {
				return want, false, err
			}
		case !leads && h.name.touches(n):
			return h.Reservation, false, tell(tx, want, fmt.Sprintf("%s is refused: %s", n.shown, h.Held()), agency.SeverityInfo, agency.NameRefused{Name: n.shown, HeldBy: h.Contract})
		}
	}
	if own >= MaxNames {
		return want, false, agency.Errorf(agency.KindConflict, "contract %s holds %d names, the most; release what it does not take", c.ID, own)
	}
	if err := again(tx, want, n); err != nil {
		return want, false, err
	}
	said, err := json.Marshal(note{By: want.By, Why: want.Why, Sort: want.Sort})
	if err != nil {
		return want, false, err
	}
	l, err := lease.Acquire(tx, lease.Request{
		Key: lease.Key{Kind: kind, Run: want.Run, Name: n.key()}, Holder: string(c.ID), Label: n.shown, Note: string(tx.Redact(said)),
	})
	if err != nil {
		return want, false, err
	}
	contracts[c.ID] = c
	h, err := heldBy(l, contracts)
	if err != nil {
		return want, false, err
	}
	return h.Reservation, true, tell(tx, h.Reservation, "reserves "+h.Name+because(h.Why), agency.SeverityInfo, agency.NameReserved{Name: h.Name, Why: h.Why, Fence: h.Fence})
}

// declared refuses a file that another contract was given to change: its plan says who does.
func declared(q store.Querier, c agency.Contract, n Name) error {
	if n.path == "" {
		return nil
	}
	all, err := registry.Contracts(q, c.RunID)
	contracts := map[agency.ContractID]agency.Contract{}
	for _, o := range all {
		contracts[o.ID] = o
	}
	for _, o := range all {
		if o.ID == c.ID || o.Status.Final() || builds(c.ID, o.ID, contracts, parent) || builds(o.ID, c.ID, contracts, parent) {
			continue
		}
		if _, file, meet := agency.Overlap([]string{n.entry()}, o.WriteSet(), nil); meet {
			return agency.Errorf(agency.KindConflict, "%q is not free: contract %s was given %s to change. What your own contract may change needs no name", n.shown, o.ID, file)
		}
	}
	return err
}

// Of are the names that a contract has.
func Of(q store.Querier, run agency.RunID, contract agency.ContractID) (out []agency.Reservation, err error) {
	all, err := List(q, run)
	return slices.DeleteFunc(all, func(r agency.Reservation) bool { return r.Contract != contract }), err
}

// Landed gives back the names of a contract that its change does not take: what has landed
// holds only what is in it.
func Landed(tx *store.Tx, run agency.RunID, contract agency.ContractID, took []agency.Fence) error {
	all, _, err := read(tx, run)
	for _, h := range all {
		if h.Contract == contract && !slices.Contains(took, h.Fence) && err == nil {
			err = release(tx, h, "what landed does not take it")
		}
	}
	return err
}

// Release gives a name back. One that nobody has is free already: given is false. KindDenied
// where another contract has it.
func Release(tx *store.Tx, run agency.RunID, contract agency.ContractID, name string) (given bool, err error) {
	n, err := Parse(name)
	if err != nil {
		return false, err
	}
	all, _, err := read(tx, run)
	for _, h := range all {
		switch {
		case h.name.key() != n.key():
		case h.Contract != contract:
			return false, agency.Errorf(agency.KindDenied, "%s: who holds a name gives it back", h.Held())
		default:
			return true, release(tx, h, "")
		}
	}
	return false, err
}

// Ended gives back what a contract has that has ended, but where its work has landed.
func Ended(tx *store.Tx, c agency.Contract) error {
	if landed(c) {
		return nil
	}
	all, _, err := read(tx, c.RunID)
	for _, h := range all {
		if h.Contract == c.ID && err == nil {
			err = release(tx, h, fmt.Sprintf("contract %s is %s", c.ID, c.Status))
		}
	}
	return err
}

// landed tells whether a contract's change is in the tree.
func landed(c agency.Contract) bool {
	return c.Status == agency.StatusComplete && c.ActualOutputs.Commit != ""
}

// List are the names that a run's contracts hold, in the order in which they were reserved.
func List(q store.Querier, run agency.RunID) ([]agency.Reservation, error) {
	all, _, err := read(q, run)
	out := make([]agency.Reservation, len(all))
	for i, h := range all {
		out[i] = h.Reservation
	}
	return out, err
}

// Others are the names of a run that a contract may not take, those that a person took from it
// among them. With is the one whose work
// lands with it, all that was done below it; empty: its own alone. A file or a symbol whose
// contract has landed is anybody's to change again, and who does work once more may take what
// it took.
func Others(q store.Querier, run agency.RunID, contract, with agency.ContractID) (out []agency.Reservation, err error) {
	all, contracts, err := read(q, run)
	for _, h := range all {
		switch {
		case h.Contract == contract, h.Landed && h.name.path != "", h.Landed && contracts[contract].Redoes(h.Contract):
		case with != "" && (h.Contract == with || builds(h.Contract, with, contracts, parent)):
		case builds(contract, h.Contract, contracts, func(c agency.Contract) []agency.ContractID { return append(parent(c), c.DependsOn...) }):
		default:
			out = append(out, h.Reservation)
		}
	}
	if err != nil {
		return out, err
	}
	taken, err := Freed(q, run)
	return append(out, slices.DeleteFunc(taken, func(r agency.Reservation) bool { return r.Contract != contract })...), err
}

func parent(c agency.Contract) []agency.ContractID { return []agency.ContractID{c.ParentID} }

// Drop gives back what contracts below one have, landed or not: their work was dropped with
// the line that it landed on.
func Drop(tx *store.Tx, run agency.RunID, below agency.ContractID) error {
	all, contracts, err := read(tx, run)
	for _, h := range all {
		if err == nil && builds(h.Contract, below, contracts, parent) {
			err = release(tx, h, "what "+string(h.Contract)+" landed was dropped")
		}
	}
	return err
}

// Forget removes a run's names.
func Forget(tx *store.Tx, run agency.RunID) error {
	if err := lease.Forget(tx, freed, run); err != nil {
		return err
	}
	return lease.Forget(tx, kind, run)
}

// builds tells whether a contract is the other's, or of one that is, by what each is below of.
func builds(c, on agency.ContractID, contracts map[agency.ContractID]agency.Contract, above func(agency.Contract) []agency.ContractID) bool {
	seen, next := map[agency.ContractID]bool{}, []agency.ContractID{c}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		for _, up := range above(contracts[id]) {
			if up == on {
				return true
			}
			if up != "" && !seen[up] {
				seen[up] = true
				next = append(next, up)
			}
		}
	}
	return false
}

// read are the names of a run with its contracts, which are read only where there is a name.
func read(q store.Querier, run agency.RunID) (all []held, contracts map[agency.ContractID]agency.Contract, err error) {
	return readKind(q, kind, run)
}

func readKind(q store.Querier, kind string, run agency.RunID) (all []held, contracts map[agency.ContractID]agency.Contract, err error) {
	leases, err := lease.List(q, kind, run)
	contracts = map[agency.ContractID]agency.Contract{}
	if err != nil || len(leases) == 0 {
		return nil, contracts, err
	}
	of, err := registry.Contracts(q, run)
	for _, c := range of {
		contracts[c.ID] = c
	}
	for _, l := range leases {
		if err != nil {
			break
		}
		var h held
		if h, err = heldBy(l, contracts); err == nil {
			all = append(all, h)
		}
	}
	return slices.Clip(all), contracts, err
}

func heldBy(l lease.Lease, contracts map[agency.ContractID]agency.Contract) (h held, err error) {
	var said note
	if err := json.Unmarshal([]byte(l.Note), &said); err != nil {
		return h, agency.Errorf(agency.KindInternal, "the note of %s: %w", l.Key, err)
	}
	c := contracts[agency.ContractID(l.Holder)]
	h.key = l.Key
	h.Reservation = agency.Reservation{
		Name: l.Label, Sort: said.Sort, Why: said.Why, Run: l.Run, Contract: agency.ContractID(l.Holder), Title: text.FirstLine(c.Title, 100),
		By: said.By, Landed: landed(c), Fence: l.Fence, Since: l.Since, FreedBy: said.FreedBy,
	}
	h.name, err = Parse(l.Label)
	return h, err
}

// release ends a lease, for a reason where it was not its contract that did.
func release(tx *store.Tx, h held, reason string) error {
	if err := lease.Release(tx, h.key, h.Fence); err != nil {
		return err
	}
	return tell(tx, h.Reservation, "releases "+h.Name+because(reason), agency.SeverityInfo, agency.NameReleased{Name: h.Name, Reason: reason})
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + text.FirstLine(why, 200)
}

func tell(tx *store.Tx, r agency.Reservation, said string, s agency.Severity, d agency.Detail) error {
	ev := agency.NewEvent(r.Run, s, said, d)
	ev.AgentID, ev.ContractID = r.By, r.Contract
	_, err := event.Append(tx, ev)
	return err
}
