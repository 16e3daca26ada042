package land

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/reservation"
	"agency/internal/store"
	"agency/internal/text"
)

// refuseReserved names what a candidate takes that another contract of the run holds.
func (l *landing) refuseReserved(ctx context.Context, c *Candidate) (Outcome, error) {
	var others []agency.Reservation
	err := l.o.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		others, err = reservation.Others(q, l.spec.Run, l.spec.Contract)
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	taken, err := l.takes(ctx, c, c.Head, others)
	l.o.reached("land.names")
	if err != nil || len(taken) == 0 {
		return Outcome{}, err
	}
	var names, words []string
	for _, t := range taken {
		names, words = append(names, t.Name), append(words, takenWords(t))
	}
	out := Outcome{Refused: &Refusal{Cause: CauseReserved, Paths: names}, Reason: strings.Join(words, "; ")}
	if l.trial { // it is told when it lands alone
		return out, nil
	}
	return out, l.o.write(ctx, func(tx *store.Tx) error { return l.tellReserved(tx, taken) })
}

// takes compares a candidate, which goes on top of a commit, with names of others, and
// remembers which.
func (l *landing) takes(ctx context.Context, c *Candidate, on agency.OID, names []agency.Reservation) ([]reservation.Taking, error) {
	change := reservation.Change{Dir: l.run.Dir(), Before: on, After: c.Tree, Syntax: l.o.Syntax}
	taken, err := change.Takes(ctx, names)
	if c.compared == nil {
		c.compared = map[agency.Fence]bool{}
	}
	for _, r := range names {
		c.compared[r.Fence] = true
	}
	return taken, err
}

// compared tells whether each step was compared with all names that others hold by now;
// fresh are those that it was not.
func compared(tx *store.Tx, steps []*step, fresh [][]agency.Reservation) (all bool, err error) {
	all = true
	for i, s := range steps {
		others, err := reservation.Others(tx, s.spec.Run, s.spec.Contract)
		if err != nil {
			return false, err
		}
		for _, r := range others {
			if !s.cand.compared[r.Fence] {
				fresh[i], all = append(fresh[i], r), false
			}
		}
	}
	return all, nil
}

// takenWords say to whoever made a change what it takes and how to mend it.
func takenWords(t reservation.Taking) string {
	ask := fmt.Sprintf("; choose another name, or ask %s by send_message to release it", t.By)
	if t.Landed {
		ask = "; choose another name"
	}
	return fmt.Sprintf("%s takes a name that another contract holds: %s%s", t.Place, text.FirstLine(t.Holder(), 400), ask)
}

// tellReserved tells once of each name that a landing is refused for.
func (l *landing) tellReserved(tx *store.Tx, taken []reservation.Taking) error {
	told, err := event.Since(tx, 0, event.Filter{Run: l.spec.Run, Contract: l.spec.Contract, Types: []agency.EventType{agency.NameRefusedType}}, 0)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, ev := range told {
		d, err := agency.DecodeDetail(ev)
		if err != nil {
			return err
		}
		if r, ok := d.(*agency.NameRefused); ok && r.Step == l.key {
			known[r.Name] = true
		}
	}
	for _, t := range taken {
		if known[t.Name] {
			continue
		}
		if err := appendEvent(tx, agency.NewEvent(l.spec.Run, agency.SeverityWarning, takenWords(t),
			agency.NameRefused{Name: t.Name, HeldBy: t.Contract, Place: t.Place, Step: l.key}), l.spec.Contract); err != nil {
			return err
		}
	}
	return nil
}
