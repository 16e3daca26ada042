package board

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// alarm is a clock that rings when the test says so.
type alarm struct {
	set  chan time.Duration // what was waited for
	ring func()             // the newest
}

func (a *alarm) after(d time.Duration, f func()) func() bool {
	a.ring = f
	a.set <- d
	return func() bool { return true }
}

// What has a time is ended when it comes. While nothing has one, nothing is
// written, and nobody looks but each cleanup.
func TestKeepWaitsForWhatIsDue(t *testing.T) {
	d := newDesk(t)
	d.join("ada", "bob")
	a := &alarm{set: make(chan time.Duration, 16)}
	b, err := Open(t.Context(), d.DB, Options{After: a.after})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- b.Keep(ctx) }()
	next := func(want time.Duration) {
		t.Helper()
		if got := <-a.set; got != want {
			t.Errorf("waits for %s, want %s", got, want)
		}
	}
	tick := func() (at int64) {
		t.Helper()
		d.do(func(tx *store.Tx) error { return tx.QueryRow(`SELECT tick FROM lease_clock`).Scan(&at) })
		return at
	}
	next(time.Hour)
	b.Limit(run, Limits{Cleanup: time.Minute})
	next(time.Minute)
	before := tick()
	for range 3 {
		d.mono += time.Minute
		a.ring()
		next(time.Minute)
	}
	if now := tick(); now != before {
		t.Errorf("an idle board wrote: its clock went from %d to %d", before, now)
	}
	b.Limit(run, Limits{Cleanup: 10 * time.Hour})
	next(10 * time.Hour)

	w := value("k", "1")
	w.TTL = 50 * time.Minute
	d.put(w)
	next(50 * time.Minute)
	d.ask("ada")
	next(TokenHold) // half an hour
	d.ask("bob")
	d.lock("ada", "a.go", false)
	next(LockTTL)
	d.mono += LockTTL
	a.ring()
	next(TokenHold - LockTTL)
	if got := d.locks(); got != "" {
		t.Errorf("still locked: %s", got)
	}
	d.mono += TokenHold - LockTTL
	a.ring()
	next(50*time.Minute - TokenHold)
	d.token("held bob")
	cancel()
	if err := <-kept; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWorn(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	worn := func(want ...agency.RunID) {
		t.Helper()
		d.do(func(tx *store.Tx) error {
			got, err := Worn(tx)
			if !slices.Equal(got, want) {
				t.Errorf("worn %v, want %v", got, want)
			}
			return err
		})
	}
	d.put(value("k", "1"))
	worn()
	d.put(value("k", "2"))
	worn(run)
	d.do(func(tx *store.Tx) error { return Retain(tx, run) })
	worn()
	d.send(note("m1", "one"))
	worn()
	d.do(func(tx *store.Tx) error { _, err := ClaimAll(tx, ann(), 1); return err })
	d.do(func(tx *store.Tx) error { return MarkRead(tx, ann(), "m1") })
	d.do(func(tx *store.Tx) error { return MarkProcessed(tx, ann(), "m1") })
	worn(run)
	d.do(func(tx *store.Tx) error { return Retain(tx, run) })
	worn()
}
