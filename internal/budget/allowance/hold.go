package allowance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/store"
)

// now are the limits that hold and their store; false where there are none.
func (l *Ledger) now() ([]Limit, *store.DB, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limits, l.db, len(l.limits) > 0
}

// Look says how much may still be spent, by the limit that leaves the least.
func (l *Ledger) Look(ctx context.Context) (a budget.Allowance, err error) {
	limits, db, ok := l.now()
	if !ok {
		return a, nil
	}
	if err := l.book(ctx); err != nil {
		return a, err
	}
	read := func(q store.Querier) (err error) {
		a, err = l.left(q, limits)
		return err
	}
	err = db.Read(ctx, func(q *store.Snapshot) error { return read(q) })
	if err != nil || a.Held == 0 || !l.mayLookAfterHosts() {
		return a, err
	}
	if swept, err := l.sweep(ctx); err != nil || !swept {
		return a, err
	}
	err = db.Read(ctx, func(q *store.Snapshot) error { return read(q) })
	return a, err
}

// Hold holds a request's worst case of every limit before it is sent; the same request
// again holds what it says then. A *budget.Exhausted refuses it, and nothing has changed.
func (l *Ledger) Hold(ctx context.Context, run agency.RunID, key string, most agency.Money) error {
	limits, db, ok := l.now()
	if !ok || most == 0 {
		return nil
	}
	id := []any{l.o.Repo, string(run), key}
	var refused *budget.Exhausted
	err := db.Write(ctx, func(tx *store.Tx) error {
		refused = nil
		var have int64
		if err := tx.QueryRow(selectHeld, id...).Scan(&have); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		a, err := l.left(tx, limits)
		if err != nil {
			return err
		}
		if a.Left, a.Held = a.Left+agency.Money(have), a.Held-agency.Money(have); most > a.Left {
			refused = a.Refuse(most)
			return nil
		}
		_, err = tx.Exec(putHeld, append(id, l.o.Epoch, l.o.Place, int64(most))...)
		return err
	})
	switch {
	case err != nil:
		return err
	case refused != nil:
		return agency.Errorf(agency.KindExhausted, "%w", refused)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[request{run, key}] = true
	return nil
}

// left is what the tightest limit leaves.
func (l *Ledger) left(q store.Querier, limits []Limit) (a budget.Allowance, err error) {
	var held int64
	if err := q.QueryRow(sumHeld).Scan(&held); err != nil {
		return a, err
	}
	for _, limit := range limits {
		var spent int64
		if err := q.QueryRow(sumSpent, limit.Period.begin(l.o.Now())).Scan(&spent); err != nil {
			return a, err
		}
		if left := limit.Money - agency.Money(spent+held); !a.Limited || left < a.Left {
			a = budget.Allowance{Limited: true, Name: limit.Period.name(l.o.Now()), Text: limit.String(), Limit: limit.Money, Left: left, Held: agency.Money(held)}
		}
	}
	return a, nil
}

// held is what a request holds.
type held struct {
	run, key, place string
	money           int64
}

// spend ends a request that held something, and books what it came to.
func (l *Ledger) spend(tx *store.Tx, repo string, h held) error {
	res, err := tx.Exec(deleteHeld, repo, h.run, h.key)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 || h.money == 0 {
		return err
	}
	_, err = tx.Exec(addSpent, Day.begin(l.o.Now()), repo, h.run, h.place, h.money)
	return err
}

// holder is a host whose requests hold something.
type holder struct {
	repo  string
	epoch int64
}

func hostsOf(q store.Querier) ([]holder, error) {
	return store.All(q, func(row store.Scanner) (h holder, err error) {
		err = row.Scan(&h.repo, &h.epoch)
		return h, err
	}, selectHosts)
}

// charge books in full what a host held whose requests nobody will settle.
func (l *Ledger) charge(tx *store.Tx, of holder) error {
	all, err := store.All(tx, func(row store.Scanner) (h held, err error) {
		err = row.Scan(&h.run, &h.key, &h.place, &h.money)
		return h, err
	}, selectOf, of.repo, of.epoch)
	for _, h := range all {
		err = errors.Join(err, l.spend(tx, of.repo, h))
	}
	return err
}

// sweepEvery is how far looks after other hosts are apart: each takes their locks for
// a moment.
const sweepEvery = time.Second

func (l *Ledger) mayLookAfterHosts() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.db.Mono()
	if l.swept > 0 && now-l.swept < sweepEvery {
		return false
	}
	l.swept = now
	return true
}

// sweep charges what dead hosts held, and tells whether there were any.
func (l *Ledger) sweep(ctx context.Context) (swept bool, err error) {
	var dead []holder
	err = l.db.Read(ctx, func(q *store.Snapshot) error {
		hosts, err := hostsOf(q)
		for _, h := range hosts {
			if h.repo != l.o.Repo && !l.o.Alive(h.repo) {
				dead = append(dead, h)
			}
		}
		return err
	})
	if err != nil || len(dead) == 0 {
		return false, err
	}
	err = l.db.Write(ctx, func(tx *store.Tx) (err error) {
		for _, h := range dead {
			err = errors.Join(err, l.charge(tx, h))
		}
		return err
	})
	return err == nil, err
}

// mostSpenders is how many runs are named.
const mostSpenders = 5

// Tell says in a line for each limit how it stands and which runs spent it.
func (l *Ledger) Tell(ctx context.Context) (lines []string, err error) {
	limits, db, ok := l.now()
	if !ok {
		return nil, nil
	}
	err = db.Read(ctx, func(q *store.Snapshot) error {
		lines, err = Tell(q, limits, l.o.Now())
		return err
	})
	return lines, err
}

// Tell says in a line for each limit how it stands and which runs spent it.
func Tell(q store.Querier, limits []Limit, now time.Time) (lines []string, err error) {
	var held int64
	if err := q.QueryRow(sumHeld).Scan(&held); err != nil {
		return nil, err
	}
	for _, limit := range limits {
		var all agency.Money
		var by []string
		err := store.Each(q, func(row store.Scanner) error {
			var repo, run, place string
			var money int64
			if err := row.Scan(&repo, &run, &place, &money); err != nil {
				return err
			}
			all += agency.Money(money)
			by = append(by, fmt.Sprintf("%s %s (%s)", run, agency.Money(money), place))
			return nil
		}, selectSpenders, limit.Period.begin(now))
		if err != nil {
			return nil, err
		}
		line := fmt.Sprintf("Of %s %s is spent", limit, all)
		if held > 0 {
			line += fmt.Sprintf(" and %s held by requests under way", agency.Money(held))
		}
		if n := len(by) - mostSpenders; n > 0 {
			by = append(by[:mostSpenders], fmt.Sprintf("and %d more", n))
		}
		if len(by) > 0 {
			line += ", by runs: " + strings.Join(by, ", ")
		}
		lines = append(lines, line+".")
	}
	return lines, nil
}
