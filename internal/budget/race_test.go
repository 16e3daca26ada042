package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// fixed is a request with a prompt of 10 tokens and an answer of out tokens, each for
// one unit of money.
func fixed(key, node string, out, least int64) Request {
	return Request{Key: key, Node: node, In: 10, Out: out, Least: least, Price: agency.Price{Out: 0.001}, Model: "m"}
}

// ask reserves, waits in the queue as a session does, and says how long an answer it got.
func ask(ctx context.Context, db *store.DB, b *Bell, fence agency.Fence, r Request) (out int64, err error) {
	for {
		next := b.Next()
		var refused *Exhausted
		err := db.WriteFenced(ctx, fence, func(tx *store.Tx) (err error) {
			refused = nil
			out, err = Reserve(tx, run, r)
			if errors.As(err, &refused) && refused.Outstanding {
				return Queue(tx, run, r.Node, r.Priority, refused)
			}
			if refused != nil {
				return Leave(tx, run, r.Node)
			}
			return err
		})
		switch {
		case err != nil || refused == nil:
			return out, err
		case !refused.Outstanding:
			return 0, refused
		}
		select {
		case <-next:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func openFor(t testing.TB, path string) *store.DB {
	return storetest.Open(t, store.Options{Path: path, Sets: []store.Set{event.Migrations(), Migrations()}})
}

// Twenty slots race for what is left, and a host dies on the way: however it ends, no
// more is spent than there was, nobody waits for ever, and who gives up does so only
// when nobody else holds anything that would do.
func TestTwentySlotsRaceForTheLastDollar(t *testing.T) {
	const slots, limit, turns = 20, 1000, 6
	path := filepath.Join(t.TempDir(), "t.db")
	db := openFor(t, path)
	write(t, db, func(tx *store.Tx) error {
		if err := Open(tx, run, Root, "", Limits{Money: limit}); err != nil {
			return err
		}
		for i := range slots {
			contract := fmt.Sprintf("contract/%d", i%4)
			if err := errors.Join(Open(tx, run, "stage/work", Root, Limits{}), Open(tx, run, contract, "stage/work", Limits{}),
				Open(tx, run, fmt.Sprintf("session/%d", i), contract, Limits{})); err != nil {
				return err
			}
		}
		return nil
	})
	// life is that of a host: its slots ask until nothing is left. One that is killed
	// leaves each slot where it stands, also between what it holds and its end.
	life := func(n int, killed bool) {
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		epoch, err := db.RaiseEpoch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		fence := agency.Fence{Epoch: epoch}
		if err := db.WriteFenced(ctx, fence, func(tx *store.Tx) error { _, err := ChargeLost(tx, run); return err }); err != nil {
			t.Fatal(err)
		}
		bell := NewBell(db)
		defer bell.Close()
		var all sync.WaitGroup
		var answers atomic.Int64
		for i := range slots {
			all.Go(func() {
				for turn := range turns {
					r := fixed(fmt.Sprintf("%d/%d/%d", n, i, turn), fmt.Sprintf("session/%d", i), 120, 20)
					r.Priority = i % 3
					out, err := ask(ctx, db, bell, fence, r)
					if errors.As(err, new(*Exhausted)) || ctx.Err() != nil {
						return
					}
					if err != nil || out < 20 || out > 120 {
						t.Errorf("slot %d: an answer of %d: %v", i, out, err)
						return
					}
					if killed && answers.Add(1) > 5 {
						kill()
						return
					}
					err = db.WriteFenced(ctx, fence, func(tx *store.Tx) error {
						if rand.IntN(8) == 0 {
							return Release(tx, run, r.Key)
						}
						return Settle(tx, run, r.Key, Bill{Cost: agency.Money(rand.Int64N(out + 1))}, 0)
					})
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	life(1, true)
	life(2, false)
	if s := state(t, db, Root); s.Money > limit || s.Reserved != 0 {
		t.Errorf("spent %d of %d, %d reserved", s.Money, limit, s.Reserved)
	}
	write(t, db, func(tx *store.Tx) error {
		left, err := store.Column[string](tx, `SELECT node FROM budget_waiting`)
		if len(left) > 0 {
			t.Errorf("they wait for ever: %v", left)
		}
		return err
	})
}

// What does not fit is asked for shorter, then waits behind who came before it or is
// more important, and is refused only where nobody holds anything.
func TestAnAnswerShrinksThenWaits(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	write(t, db, func(tx *store.Tx) error {
		err := Open(tx, run, Root, "", Limits{Money: 100})
		for _, n := range []string{"a", "b", "c", "d"} {
			err = errors.Join(err, Open(tx, run, n, Root, Limits{}))
		}
		return err
	})
	try := func(node string, out, least int64, priority int) (got int64, refused *Exhausted) {
		t.Helper()
		write(t, db, func(tx *store.Tx) error {
			r := fixed(node, node, out, least)
			r.Priority = priority
			var err error
			if got, err = Reserve(tx, run, r); errors.As(err, &refused) {
				return Queue(tx, run, r.Node, r.Priority, refused)
			}
			return err
		})
		return got, refused
	}
	settle := func(key string, cost agency.Money) {
		t.Helper()
		write(t, db, func(tx *store.Tx) error { return Settle(tx, run, key, Bill{Cost: cost}, 0) })
	}
	if got, _ := try("a", 70, 20, 0); got != 70 {
		t.Fatalf("the first gets %d", got)
	}
	if got, e := try("b", 70, 40, 0); e == nil || !e.Outstanding || e.Left != agency.Money(30).String() {
		t.Fatalf("30 are left, 40 are asked for at least: %d, %+v", got, e)
	}
	if got, e := try("c", 20, 10, 0); e == nil || !e.Outstanding {
		t.Errorf("who comes later passes who waits: %d", got)
	}
	if got, e := try("d", 50, 10, 5); e != nil || got != 30 {
		t.Errorf("what is more important gets all that is left, as a shorter answer: %d, %v", got, e)
	}
	settle("a", 10)
	if got, e := try("c", 20, 10, 0); e == nil {
		t.Errorf("the second of the queue is served before the first: %d", got)
	}
	if got, e := try("b", 70, 40, 0); e != nil || got != 60 {
		t.Errorf("the first of the queue gets %d, %v", got, e)
	}
	settle("b", 60)
	if got, e := try("c", 20, 10, 0); e == nil || !e.Outstanding {
		t.Errorf("d holds all that is left: %d, %v", got, e)
	}
	settle("d", 30)
	if got, e := try("c", 20, 10, 0); e == nil || e.Outstanding {
		t.Errorf("nothing is left and nobody holds anything: %d, %v", got, e)
	}
}

// That nothing is left is told once, and again after more was granted.
func TestExhaustedIsToldOnce(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{Money: 100})
	e := &Exhausted{Node: Root, Limit: "usd", Left: "$0", Need: "$1"}
	for range 2 {
		for range 3 {
			write(t, db, func(tx *store.Tx) error { return TellExhausted(tx, run, e) })
		}
		write(t, db, func(tx *store.Tx) error { return Raise(tx, run, Root, Limits{Money: 200}) })
	}
	evs, err := event.NewLog(db).Since(t.Context(), 0, event.Filter{}, 10)
	if err != nil || len(evs) != 2 || !slices.ContainsFunc(evs, func(e agency.Event) bool { return e.Type == "budget_exhausted" }) {
		t.Errorf("%d events, %v", len(evs), err)
	}
}

// What a user allows above the run holds as a node of its own.
func TestAllowanceHolds(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{Money: 1000})
	for _, tt := range []struct {
		left, held agency.Money
		want       int64
		waits      bool
	}{{left: 500, want: 100}, {left: 40, want: 40}, {left: 5}, {left: 5, held: 1, waits: true}} {
		r := fixed("1", "session/s", 100, 20)
		r.Allowance = Allowance{Limited: true, Name: "day", Left: tt.left, Held: tt.held}
		var got int64
		err := db.Write(t.Context(), func(tx *store.Tx) (err error) {
			got, err = Reserve(tx, run, r)
			return err
		})
		var e *Exhausted
		if errors.As(err, &e) != (tt.want == 0) || got != tt.want || e != nil && (e.Node != "day" || e.Outstanding != tt.waits) {
			t.Errorf("%+v: %d, %+v", tt, got, e)
		}
		write(t, db, func(tx *store.Tx) error {
			if tt.want == 0 {
				return nil
			}
			return errors.Join(Release(tx, run, "1"), func() error { _, err := tx.Exec(`DELETE FROM budget_requests`); return err }())
		})
	}
}
