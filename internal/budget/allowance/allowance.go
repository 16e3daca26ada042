// Package allowance holds what a user spends across runs and repositories within the
// limits of a day and of a month. The hosts of all repositories of the user share one
// store in the state folder; each request holds its worst case there before it is
// sent, beside what it holds of its run's budget, and what it came to is booked after
// it. Where no such limit is set nothing is opened.
//
// What a host has held that is dead, or was followed by another, is booked in full.
// Days and months are those of the machine's calendar, in its time zone. What is booked
// ahead of a day, because the clock was set back since, counts to that day too: no
// change of the clock gives money back. What was spent while no limit was set is taken
// from the records of the repositories when one is set, and whenever the limits are
// read anew; what of it was of runs that are removed is not known any more.
//
// It decides nothing about who waits: it says what is left (Look), and refuses.
package allowance

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema, of a store of its own.
func Migrations() store.Set { return store.Set{Name: "allowance", FS: migrations} }

// Limit is what may be spent in a period.
type Limit struct {
	Period Period
	Money  agency.Money
	Where  string // it stands: key and place
}

// Period is a stretch of the calendar.
type Period string

// The periods.
const (
	Day   Period = "day"
	Month Period = "month"
)

// begin is the first day of the period that holds a time.
func (p Period) begin(now time.Time) string {
	if p == Month {
		return now.Format("2006-01") + "-01"
	}
	return now.Format(time.DateOnly)
}

// name is the period that holds a time.
func (p Period) name(now time.Time) string {
	if p == Month {
		return "month " + now.Format("2006-01")
	}
	return "day " + now.Format(time.DateOnly)
}

func (l Limit) String() string {
	return fmt.Sprintf("the %s's limit of %s (%s)", l.Period, l.Money, l.Where)
}

// Options say for whose runs a ledger is.
type Options struct {
	Path string    // of the store that all hosts share
	Runs *store.DB // of this host, in which its requests are settled
	// Repo and Epoch are this host's, Place is where people find the repository.
	Repo, Place string
	Epoch       int64
	// Limits are those that the user's file says now.
	Limits func() ([]Limit, error)
	// Records are of all repositories, this one among them; nil: none are read.
	Records Records
	// Alive tells whether a repository has a host.
	Alive func(repo string) bool
	// Ring is called when something has been booked that was held.
	Ring func()
	Now  func() time.Time // in the zone of the calendar
	Log  *slog.Logger
}

// Ledger is one host's view of what its user allows. It is safe for concurrent use.
type Ledger struct {
	o Options

	mu     sync.Mutex // what follows
	limits []Limit
	db     *store.DB        // nil: no limit was ever set
	held   map[request]bool // by this host
	ended  []budget.Ended   // of those held, not booked yet
	swept  time.Duration    // when hosts were looked after last
	kick   chan struct{}
	cancel func() // of the subscription

	booking sync.Mutex // one books at a time
	done    chan struct{}
}

// request is one that holds something.
type request struct {
	run agency.RunID
	key string
}

// New makes a ledger that opens nothing yet; see Refresh.
func New(o Options) *Ledger { return &Ledger{o: o} }

// Refresh reads the limits anew, and opens the store when one is set for the first time.
// Where it fails the limits stay that held before.
func (l *Ledger) Refresh(ctx context.Context) error {
	limits, err := l.o.Limits()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db == nil && len(limits) > 0 {
		if err := l.open(ctx); err != nil {
			return err
		}
	}
	if len(limits) > 0 {
		if err := l.catchUp(ctx, l.db); err != nil {
			return err
		}
	}
	l.limits = limits
	return nil
}

// open opens the store and books what earlier hosts of this repository held.
func (l *Ledger) open(ctx context.Context) error {
	db, err := store.Open(ctx, store.Options{Path: l.o.Path, Sets: []store.Set{Migrations()}, Now: l.o.Now})
	if err != nil {
		return err
	}
	err = db.Write(ctx, func(tx *store.Tx) error {
		hosts, err := hostsOf(tx)
		for _, h := range hosts {
			if h.repo == l.o.Repo && h.epoch != l.o.Epoch {
				err = errors.Join(err, l.charge(tx, h))
			}
		}
		return err
	})
	if err != nil {
		return errors.Join(err, db.Close())
	}
	l.db, l.held, l.kick, l.done = db, map[request]bool{}, make(chan struct{}, 1), make(chan struct{})
	l.cancel = store.Subscribe(l.o.Runs, budget.Endings(), l.note)
	go l.work(l.kick)
	return nil
}

// Close books what has ended and closes the store.
func (l *Ledger) Close() error {
	l.mu.Lock()
	db, cancel, kick := l.db, l.cancel, l.kick
	l.cancel = nil
	l.mu.Unlock()
	if db == nil || cancel == nil {
		return nil
	}
	cancel()
	close(kick)
	<-l.done
	err := l.book(context.Background())
	return errors.Join(err, db.Close())
}

// note takes what came of requests; it runs within the commits of this host's runs.
func (l *Ledger) note(all []budget.Ended) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.ended)
	for _, e := range all {
		if k := (request{e.Run, e.Key}); l.held[k] {
			delete(l.held, k)
			l.ended = append(l.ended, e)
		}
	}
	if len(l.ended) == before || l.cancel == nil {
		return
	}
	select {
	case l.kick <- struct{}{}:
	default: // it is on its way
	}
}

// work books what has ended, so that others may spend what it had held.
func (l *Ledger) work(kick <-chan struct{}) {
	defer close(l.done)
	for range kick {
		if err := l.book(context.Background()); err != nil { // tried again by the next, and charged in full if nobody can
			l.o.Log.Error("what was spent is not booked", "error", err)
		}
	}
}

// book writes what has ended. It returns when all of it is durable that had ended
// before the call.
func (l *Ledger) book(ctx context.Context) error {
	l.booking.Lock()
	defer l.booking.Unlock()
	l.mu.Lock()
	todo := l.ended
	l.ended = nil
	l.mu.Unlock()
	if len(todo) == 0 {
		return nil
	}
	err := l.db.Write(ctx, func(tx *store.Tx) error {
		for _, e := range todo {
			h := held{run: string(e.Run), key: e.Key, place: l.o.Place, money: int64(e.Money)}
			if err := l.spend(tx, l.o.Repo, h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		l.mu.Lock()
		l.ended = append(todo, l.ended...)
		l.mu.Unlock()
		return err
	}
	l.o.Ring()
	return nil
}
