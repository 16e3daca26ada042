package budget

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

const run = agency.RunID("run-1")

func open(t testing.TB, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{
		Path: filepath.Join(dir, "t.db"), Sets: []store.Set{event.Migrations(), Migrations()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func write(t interface{ Fatal(...any) }, db *store.DB, fn func(*store.Tx) error) {
	if err := db.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func reserve(db *store.DB, key, node string, money agency.Money, tokens int64) error {
	return db.Write(context.Background(), func(tx *store.Tx) error {
		_, err := Reserve(tx, run, costing(key, node, money, tokens))
		return err
	})
}

// costing is a request for so long an answer, which costs so much.
func costing(key, node string, money agency.Money, tokens int64) Request {
	r := Request{Key: key, Node: node, Out: max(1, tokens), Agent: "a", Model: "m"}
	if money > 0 {
		r.Price.Out = (float64(money) - 0.5) / float64(r.Out) / 1000 // rounded up
	}
	return r
}

func tree(t testing.TB, db *store.DB, l Limits) {
	write(t, db, func(tx *store.Tx) error {
		if err := Open(tx, run, Root, "", l); err != nil {
			return err
		}
		if err := Open(tx, run, "contract/a", Root, Limits{}); err != nil {
			return err
		}
		return Open(tx, run, "session/s", "contract/a", Limits{})
	})
}

func state(t testing.TB, db *store.DB, node string) State {
	t.Helper()
	var s State
	if err := db.Read(context.Background(), func(q *store.Snapshot) (err error) { s, err = Read(q, run, node); return err }); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReserveHoldsTheWholeChain(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{Money: 100, Tokens: 1000})
	if err := reserve(db, "1", "session/s", 60, 10); err != nil {
		t.Fatal(err)
	}
	if err := reserve(db, "1", "session/s", 60, 10); err != nil {
		t.Errorf("the same reservation again: %v", err)
	}
	err := reserve(db, "2", "contract/a", 50, 10)
	var ex *Exhausted
	if !errors.As(err, &ex) || agency.KindOf(err) != agency.KindExhausted || ex.Node != Root || ex.Limit != "usd" {
		t.Fatalf("a sibling took what is reserved: %v", err)
	}
	write(t, db, func(tx *store.Tx) error {
		return Settle(tx, run, "1", Bill{Model: "other-model", Usage: agency.Usage{In: 5, Out: 5}, Cost: 20}, time.Second)
	})
	if err := reserve(db, "2", "contract/a", 50, 10); err != nil {
		t.Errorf("what was settled is free again: %v", err)
	}
	write(t, db, func(tx *store.Tx) error { return Release(tx, run, "2") })
	if s := state(t, db, Root); s.Money != 20 || s.Reserved != 0 || s.Tokens != 10 || s.Wall != time.Second {
		t.Errorf("the root stands at %+v", s)
	}
	_ = db.Read(context.Background(), func(q *store.Snapshot) error {
		lines, err := Lines(q, run)
		if err != nil || len(lines) != 1 || lines[0].Model != "other-model" || lines[0].Money != 20 {
			t.Errorf("lines %+v, %v", lines, err)
		}
		return err
	})
}

func TestLostRequestsAreChargedInFull(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{Money: 100})
	ctx := context.Background()
	first, err := db.RaiseEpoch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fenced := func(epoch int64, fn func(*store.Tx) error) {
		t.Helper()
		if err := db.WriteFenced(ctx, agency.Fence{Epoch: epoch}, fn); err != nil {
			t.Fatal(err)
		}
	}
	fenced(first, func(tx *store.Tx) error {
		_, err := Reserve(tx, run, costing("1", "session/s", 40, 1))
		return err
	})
	second, err := db.RaiseEpoch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for want := 1; want >= 0; want-- {
		fenced(second, func(tx *store.Tx) error {
			n, err := ChargeLost(tx, run)
			if n != want {
				t.Errorf("charged %d, want %d", n, want)
			}
			return err
		})
	}
	if s := state(t, db, Root); s.Money != 40 || s.Reserved != 0 {
		t.Errorf("the root stands at %+v", s)
	}
	lines, err := store.Get(ctx, db, Lines, run)
	if err != nil || len(lines) != 1 || lines[0].Lost != 1 || !lines[0].Usage.Estimated {
		t.Errorf("lines %+v, %v: want one lost, by estimate", lines, err)
	}
}

// What waits to be sent again is given back by whoever ends its run or takes it over; what is asked
// for again is not.
func TestIdleReservationsAreGivenBack(t *testing.T) {
	for name, end := range map[string]func(*store.Tx, agency.RunID) (int, error){"ended": ChargeOpen, "taken over": ChargeLost} {
		db := open(t, t.TempDir())
		tree(t, db, Limits{Money: 1000})
		epoch, err := db.RaiseEpoch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fenced := func(fn func(*store.Tx) error) {
			t.Helper()
			if err := db.WriteFenced(t.Context(), agency.Fence{Epoch: epoch}, fn); err != nil {
				t.Fatal(err)
			}
		}
		fenced(func(tx *store.Tx) error {
			for _, key := range []string{"waits", "asked", "asked again"} {
				if _, err := Reserve(tx, run, costing(key, Root, 40, 1)); err != nil {
					return err
				}
			}
			return errors.Join(Idle(tx, run, "waits", true), Idle(tx, run, "asked again", true), Idle(tx, run, "asked again", false))
		})
		if epoch, err = db.RaiseEpoch(t.Context()); err != nil {
			t.Fatal(err)
		}
		fenced(func(tx *store.Tx) error {
			n, err := end(tx, run)
			if n != 2 {
				t.Errorf("%s: charged %d, want 2", name, n)
			}
			return err
		})
		if s := state(t, db, Root); s.Money != 80 || s.Reserved != 0 {
			t.Errorf("%s: the root stands at %+v", name, s)
		}
		_ = db.Close()
	}
}

func TestRaise(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{Money: 100})
	write(t, db, func(tx *store.Tx) error { return Raise(tx, run, Root, Limits{Money: 50}) })
	write(t, db, func(tx *store.Tx) error { return Raise(tx, run, Root, Limits{Money: 200, Tokens: 5}) })
	if s := state(t, db, Root); s.Limits.Money != 200 || s.Limits.Tokens != 0 {
		t.Errorf("limits %+v", s.Limits)
	}
}

// At 80 and at 95 of 100, and not at 90 again.
func TestWarnsOnceAThreshold(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{Money: 100})
	for _, key := range []string{"1", "2", "3"} {
		if err := reserve(db, key, "session/s", 30, 0); err != nil {
			t.Fatal(err)
		}
		write(t, db, func(tx *store.Tx) error { return Settle(tx, run, key, Bill{Cost: 30}, 0) })
	}
	if err := reserve(db, "4", "session/s", 10, 1); err != nil {
		t.Fatal(err)
	}
	write(t, db, func(tx *store.Tx) error { return Settle(tx, run, "4", Bill{Cost: 10}, 0) })
	evs, err := event.NewLog(db).Since(context.Background(), 0, event.Filter{}, 10)
	if err != nil || len(evs) != 2 || evs[0].Type != "budget_warning" || evs[1].Type != "budget_warning" {
		t.Errorf("events %+v, %v", evs, err)
	}
}

// A reservation becomes that of another model where the limit holds it, and
// stays as it was where not. Its own part of the limit counts as free.
// Checks take time at work, too: on the contract's node and all above it, which
// refuse where their time is up.
func TestWork(t *testing.T) {
	db := open(t, t.TempDir())
	tree(t, db, Limits{Wall: time.Minute})
	write(t, db, func(tx *store.Tx) error { return Work(tx, run, "a", 40*time.Second) })
	write(t, db, func(tx *store.Tx) error { return Work(tx, run, "no such", 10*time.Second) })
	if a, all := state(t, db, "contract/a").Wall, state(t, db, Root).Wall; a != 40*time.Second || all != 50*time.Second {
		t.Errorf("%v of %v", a, all)
	}
	if err := reserve(db, "1", "session/s", 1, 1); err != nil {
		t.Error(err)
	}
	write(t, db, func(tx *store.Tx) error { return Work(tx, run, "", 10*time.Second) })
	if err := reserve(db, "2", "session/s", 1, 1); !errors.As(err, new(*Exhausted)) {
		t.Errorf("a minute is up, and more is asked for: %v", err)
	}
}

func TestRebook(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{Money: 100})
	if err := reserve(db, "1", "session/s", 60, 10); err != nil {
		t.Fatal(err)
	}
	rebook := func(money agency.Money, model string) error {
		return db.Write(t.Context(), func(tx *store.Tx) error {
			r := costing("1", "session/s", money, 10)
			r.Model, r.Unpriced = model, model == "unpriced"
			return Rebook(tx, run, r)
		})
	}
	var ex *Exhausted
	if err := rebook(101, "dear"); !errors.As(err, &ex) || ex.Left != agency.Money(100).String() {
		t.Errorf("more than there is: %v, %+v", err, ex)
	}
	for _, money := range []agency.Money{100, 5, 0} {
		if err := rebook(money, "unpriced"); err != nil || state(t, db, Root).Reserved != money || state(t, db, "session/s").Reserved != money {
			t.Errorf("rebooked to %d: %v, the root has %+v", money, err, state(t, db, Root))
		}
	}
	write(t, db, func(tx *store.Tx) error { return Charge(tx, run, "1", Bill{}) })
	_ = db.Read(context.Background(), func(q *store.Snapshot) error {
		var ledger Ledger
		err := ledger.Refresh(q, run)
		if lines := ledger.Lines; err != nil || len(lines) != 1 || lines[0].Model != "unpriced" || !lines[0].Unpriced || lines[0].Node != "session/s" {
			t.Errorf("lines %+v, %v", lines, err)
		}
		return err
	})
	if err := rebook(1, "late"); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("after it was charged: %v", err)
	}
}

// What a provider says that it counted is booked, also above the reservation
// and of an answer that broke off; then the limit holds.
func TestCountsAboveTheReservation(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{Money: 100, Tokens: 1000})
	for key, end := range map[string]func(*store.Tx) error{
		"settled": func(tx *store.Tx) error {
			return Settle(tx, run, "settled", Bill{Usage: agency.Usage{In: 30}, Cost: 20}, 0)
		},
		"broken": func(tx *store.Tx) error {
			return Charge(tx, run, "broken", Bill{Usage: agency.Usage{In: 30}, Cost: 20})
		},
		"lost": func(tx *store.Tx) error { return Charge(tx, run, "lost", Bill{Usage: agency.Usage{In: 3}, Cost: 2}) },
	} {
		if err := reserve(db, key, "session/s", 10, 10); err != nil {
			t.Fatal(err)
		}
		write(t, db, end)
	}
	if s := state(t, db, Root); s.Money != 50 || s.Tokens != 70 || s.Reserved != 0 {
		t.Errorf("the root stands at %+v", s)
	}
	if err := reserve(db, "4", "session/s", 10, 1); err != nil {
		t.Fatal(err)
	}
	write(t, db, func(tx *store.Tx) error { return Settle(tx, run, "4", Bill{Cost: 1 << 53}, 0) })
	if err := reserve(db, "5", "session/s", 0, 1); agency.KindOf(err) != agency.KindExhausted {
		t.Errorf("above the limit another request is held: %v", err)
	}
}

// TestNeverAboveTheLimit: whatever is reserved, settled, released, charged and
// raised in whatever order, spending passes a limit by nothing more than what
// providers counted above the reservations, and nodes add up.
func TestNeverAboveTheLimit(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		db := open(t, dir)
		defer func() { _ = db.Close() }()
		write(rt, db, func(tx *store.Tx) error { return Forget(tx, run) })
		tree(t, db, Limits{Money: 1000, Tokens: 1000})
		type held struct {
			money  agency.Money
			tokens int64
		}
		reserved := map[string]held{}
		var spent agency.Money
		for i := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			key := string(rune('a' + i%26))
			h := held{agency.Money(rapid.IntRange(0, 400).Draw(rt, "money")), int64(rapid.IntRange(0, 400).Draw(rt, "tokens"))}
			switch err := reserve(db, key, "session/s", h.money, h.tokens); {
			case err == nil:
				reserved[key] = h
			case agency.KindOf(err) != agency.KindExhausted && agency.KindOf(err) != agency.KindConflict:
				rt.Fatal(err)
			}
			h, ok := reserved[key]
			if !ok {
				continue
			}
			write(rt, db, func(tx *store.Tx) error {
				switch rapid.IntRange(0, 2).Draw(rt, "end") {
				case 0:
					spent += h.money / 2
					return Settle(tx, run, key, Bill{Usage: agency.Usage{Out: h.tokens / 2}, Cost: h.money / 2}, 0)
				case 1:
					return Release(tx, run, key)
				default:
					spent += h.money
					return Charge(tx, run, key, Bill{})
				}
			})
			delete(reserved, key)
		}
		root := state(t, db, Root)
		if root.Money != spent || root.Money > 1000 || root.Reserved != 0 {
			rt.Fatalf("spent %d by the root, %d by the requests, %d reserved", root.Money, spent, root.Reserved)
		}
		if s := state(t, db, "session/s"); s.Money != root.Money || s.Tokens != root.Tokens {
			rt.Fatalf("session %+v, root %+v", s, root)
		}
	})
}

// What has no answer yet is told with when it was asked, whoever looks.
func TestUnderWay(t *testing.T) {
	db := open(t, t.TempDir())
	defer func() { _ = db.Close() }()
	tree(t, db, Limits{})
	before := time.Now().Add(-time.Second)
	for _, key := range []string{"one", "two"} {
		if err := reserve(db, key, "session/s", 10, 5); err != nil {
			t.Fatal(err)
		}
	}
	write(t, db, func(tx *store.Tx) error { return Release(tx, run, "one") })
	var got []Asked
	err := db.Read(t.Context(), func(q *store.Snapshot) (err error) {
		got, err = UnderWay(q, run)
		return err
	})
	if err != nil || len(got) != 1 || got[0].Node != "session/s" || got[0].Model != "m" || got[0].Since.Before(before) {
		t.Errorf("%+v %v", got, err)
	}
}
