package allowance

import (
	"context"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/store"
)

// Record is what the runs of a repository have paid for, by its own store.
type Record struct {
	Repo, Place string
	Paid        []budget.Paid
}

// Records reads what the repositories of the user have paid since a time. One that
// cannot be read is left out.
type Records func(ctx context.Context, since time.Time) []Record

// spentKey is a row of what was spent.
type spentKey struct{ day, repo, run string }

// spender is what a run spent on a day, and where its repository is found.
type spender struct {
	spentKey
	place string
	money agency.Money
}

// spent is what each run spent on each day from one on: what was booked here, or what
// the record of its repository says, where that is more, for instance because no
// limit was set when the run began. A request that still holds something is not taken
// from the record: what it came to is booked when its hold ends.
func spent(ctx context.Context, q store.Querier, records Records, now time.Time) (booked, all map[spentKey]spender, err error) {
	begin := Month.begin(now)
	booked, all = map[spentKey]spender{}, map[spentKey]spender{}
	holds := map[string]bool{}
	if q != nil {
		if holds, err = readBooked(q, begin, booked); err != nil {
			return nil, nil, err
		}
	}
	recorded := map[spentKey]spender{}
	if records != nil {
		since, err := time.ParseInLocation(time.DateOnly, begin, now.Location())
		if err != nil {
			return nil, nil, err
		}
		for _, r := range records(ctx, since) {
			for _, p := range r.Paid {
				if holds[holdName(r.Repo, string(p.Run), p.Key)] {
					continue
				}
				k := spentKey{Day.begin(p.At.In(now.Location())), r.Repo, string(p.Run)}
				recorded[k] = spender{k, r.Place, recorded[k].money + p.Money}
			}
		}
	}
	for k, s := range booked {
		all[k] = s
	}
	for k, s := range recorded {
		if s.money > all[k].money {
			all[k] = s
		}
	}
	return booked, all, nil
}

func holdName(repo, run, key string) string { return fmt.Sprintf("%q %q %q", repo, run, key) }

// readBooked reads what was booked from a day on, and says which requests hold something.
func readBooked(q store.Querier, begin string, booked map[spentKey]spender) (holds map[string]bool, err error) {
	holds = map[string]bool{}
	err = store.Each(q, func(row store.Scanner) error {
		var s spender
		var money int64
		err := row.Scan(&s.day, &s.repo, &s.run, &s.place, &money)
		s.money = agency.Money(money)
		booked[s.spentKey] = s
		return err
	}, selectSpent, begin)
	if err != nil {
		return nil, err
	}
	return holds, store.Each(q, func(row store.Scanner) error {
		var repo, run, key string
		err := row.Scan(&repo, &run, &key)
		holds[holdName(repo, run, key)] = true
		return err
	}, selectHolding)
}

// catchUp books what runs have paid that was not booked when they paid it. No hold
// begins or ends meanwhile: whoever would changes the same store.
func (l *Ledger) catchUp(ctx context.Context, db *store.DB) error {
	if l.o.Records == nil {
		return nil
	}
	return db.Write(ctx, func(tx *store.Tx) error {
		booked, all, err := spent(ctx, tx, l.o.Records, l.o.Now())
		if err != nil {
			return err
		}
		for k, s := range all {
			if more := s.money - booked[k].money; more > 0 {
				if _, err := tx.Exec(addSpent, k.day, k.repo, k.run, s.place, int64(more)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Standing is a limit and what is left of it.
type Standing struct {
	Limit
	Name string // of the period now, such as "day 2026-11-24"
	Left agency.Money
	Held agency.Money // by requests under way, not in Left
}

// Stand says how limits stand by the shared store, nil where there is none yet, and by
// the records of the repositories, and writes nothing.
func Stand(ctx context.Context, q store.Querier, limits []Limit, records Records, now time.Time) (out []Standing, err error) {
	var held int64
	if q != nil {
		if err := q.QueryRow(sumHeld).Scan(&held); err != nil {
			return nil, err
		}
	}
	_, all, err := spent(ctx, q, records, now)
	if err != nil {
		return nil, err
	}
	for _, limit := range limits {
		s := Standing{Limit: limit, Name: limit.Period.name(now), Left: limit.Money - agency.Money(held), Held: agency.Money(held)}
		for k, by := range all {
			if k.day >= limit.Period.begin(now) {
				s.Left -= by.money
			}
		}
		out = append(out, s)
	}
	return out, nil
}
