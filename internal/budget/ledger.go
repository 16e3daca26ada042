package budget

import (
	"agency/internal/agency"
	"agency/internal/store"
)

// Ledger is everything that a run has spent, as Lines has it but told apart by the node that
// asked as well, as it stood when it was read last: a session's node is SessionNode. Who
// reads it again reads the requests after the oldest that was under way, for what is booked
// stays as it is.
type Ledger struct {
	Lines  []Line
	places map[Line]int   // of lines, by what tells them apart
	closed int64          // nothing is to come of the requests up to this one
	taken  map[int64]bool // those after it that are in the lines
}

// Refresh takes in what was booked since the last time.
func (l *Ledger) Refresh(q store.Querier, run agency.RunID) error {
	if l.places == nil {
		l.places, l.taken = map[Line]int{}, map[int64]bool{}
	}
	closed := true
	return store.Each(q, func(row store.Scanner) error {
		var n int64
		var state string
		var of Line
		one := Line{Requests: 1}
		err := row.Scan(&n, &state, &of.Agent, &of.Role, &of.Tier, &of.Model, &of.Contract, &of.Node, &one.Usage.In, &one.Usage.Cached,
			&one.Usage.CacheWrite, &one.Usage.Out, &one.Billed, (*int64)(&one.Money), &one.Unpriced, &one.Usage.Estimated)
		if err != nil {
			return err
		}
		closed = closed && state != "reserved"
		if booked := state == "settled" || state == "lost"; booked && !l.taken[n] {
			if state == "lost" {
				one.Lost = 1
			}
			l.add(of, one)
			l.taken[n] = true
		}
		if closed {
			l.closed = n
			delete(l.taken, n)
		}
		return nil
	}, selectAfter, string(run), l.closed)
}

// add takes a request in.
func (l *Ledger) add(of, one Line) {
	at, known := l.places[of]
	if !known {
		at = len(l.Lines)
		l.places[of], l.Lines = at, append(l.Lines, of)
	}
	to := &l.Lines[at]
	to.Requests += one.Requests
	to.Lost += one.Lost
	to.Usage = to.Usage.Add(one.Usage)
	to.Billed += one.Billed
	to.Money += one.Money
	to.Unpriced = to.Unpriced || one.Unpriced
}
