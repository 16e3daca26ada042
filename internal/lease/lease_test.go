package lease_test

import (
	"path/filepath"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/lease"
	"agency/internal/store"
)

var slot = lease.Key{Kind: "slot", Run: "r", Name: "n"}

// host is a store whose clocks the test moves.
type host struct {
	*store.DB
	mono time.Duration
	wall time.Time
}

func open(t *testing.T) *host {
	t.Helper()
	h := &host{wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	db, err := store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "s.db"), Sets: []store.Set{lease.Migrations()},
		Now: func() time.Time { return h.wall }, Mono: func() time.Duration { return h.mono },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	h.DB = db
	return h
}

func (h *host) acquire(t *testing.T, holder string) (f agency.Fence, err error) {
	t.Helper()
	err = h.Write(t.Context(), func(tx *store.Tx) error {
		f, err = lease.Acquire(tx, lease.Request{Key: slot, Holder: holder, TTL: time.Minute})
		return err
	})
	return f, err
}

func (h *host) do(t *testing.T, fn func(*store.Tx, lease.Key, agency.Fence) error, f agency.Fence) error {
	t.Helper()
	return h.Write(t.Context(), func(tx *store.Tx) error { return fn(tx, slot, f) })
}

func must(t *testing.T, f agency.Fence, err error) agency.Fence {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func wantKind(t *testing.T, err error, kind agency.Kind) {
	t.Helper()
	if err == nil || agency.KindOf(err) != kind {
		t.Fatalf("got %v, want kind %s", err, kind)
	}
}

func TestExclusive(t *testing.T) {
	h := open(t)
	f, err := h.acquire(t, "ada")
	must(t, f, err)
	_, err = h.acquire(t, "bob")
	wantKind(t, err, agency.KindConflict)
	again, err := h.acquire(t, "ada")
	if must(t, again, err) != f {
		t.Fatalf("repeated acquire: %v, then %v", f, again)
	}
	if err := h.do(t, lease.Release, f); err != nil {
		t.Fatal(err)
	}
	wantKind(t, h.do(t, lease.Check, f), agency.KindDenied)
	g, err := h.acquire(t, "bob")
	if g = must(t, g, err); !f.Less(g) {
		t.Fatalf("new holder got %v after %v", g, f)
	}
	if err := h.do(t, lease.Release, f); err != nil { // a late release of the old holder
		t.Fatal(err)
	}
	if err := h.do(t, lease.Check, g); err != nil {
		t.Fatalf("released by a superseded holder: %v", err)
	}
}

func TestExpiryIsMonotonic(t *testing.T) {
	h := open(t)
	f, err := h.acquire(t, "ada")
	must(t, f, err)
	for _, jump := range []time.Duration{time.Hour, -2 * time.Hour, 366 * 24 * time.Hour, -2 * 366 * 24 * time.Hour} {
		h.wall = h.wall.Add(jump)
		if err := h.do(t, lease.Check, f); err != nil {
			t.Fatalf("wall clock moved by %s: %v", jump, err)
		}
		_, err := h.acquire(t, "bob")
		wantKind(t, err, agency.KindConflict)
	}
	h.mono = time.Minute - 1
	if err := h.do(t, lease.Renew, f); err != nil {
		t.Fatal(err)
	}
	h.mono += time.Minute - 1
	if err := h.do(t, lease.Check, f); err != nil {
		t.Fatal(err)
	}
	h.mono++
	wantKind(t, h.do(t, lease.Check, f), agency.KindDenied)
	wantKind(t, h.do(t, lease.Renew, f), agency.KindDenied)
	g, err := h.acquire(t, "bob")
	if g = must(t, g, err); g.N != f.N+1 {
		t.Fatalf("after expiry: %v after %v", g, f)
	}
	wantKind(t, h.do(t, lease.Check, f), agency.KindDenied)
}

func TestNewEpochFrees(t *testing.T) {
	h := open(t)
	f, err := h.acquire(t, "ada")
	must(t, f, err)
	epoch, err := h.RaiseEpoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, h.do(t, lease.Check, f), agency.KindDenied)
	g, err := h.acquire(t, "bob")
	if g = must(t, g, err); g.Epoch != epoch || g.N != f.N+1 {
		t.Fatalf("got %v, want epoch %d and n %d", g, epoch, f.N+1)
	}
}

func TestAcquireRefusesNonsense(t *testing.T) {
	h := open(t)
	_, err := h.acquire(t, "")
	wantKind(t, err, agency.KindInvalid)
}

func (h *host) share(t *testing.T, holder string) (f agency.Fence, err error) {
	t.Helper()
	err = h.Write(t.Context(), func(tx *store.Tx) error {
		f, err = lease.Acquire(tx, lease.Request{Key: slot, Holder: holder, TTL: time.Minute, Shared: true})
		return err
	})
	return f, err
}

func TestSharedHolders(t *testing.T) {
	h := open(t)
	f, err := h.share(t, "ada")
	must(t, f, err)
	g, err := h.share(t, "bob")
	must(t, g, err)
	if f == g {
		t.Fatal("two holders with one token")
	}
	for _, holder := range []string{"ada", "cid"} { // an upgrade while not alone, and a stranger
		_, err = h.acquire(t, holder)
		wantKind(t, err, agency.KindConflict)
	}
	if err := h.do(t, lease.Release, g); err != nil {
		t.Fatal(err)
	}
	up, err := h.acquire(t, "ada") // alone
	if must(t, up, err); !f.Less(up) {
		t.Fatalf("the upgrade got %v after %v", up, f)
	}
	wantKind(t, h.do(t, lease.Check, f), agency.KindDenied)
	_, err = h.share(t, "bob")
	wantKind(t, err, agency.KindConflict)
	same, err := h.share(t, "ada") // an exclusive holder stays one
	if must(t, same, err) != up {
		t.Fatalf("sharing what it holds alone: %v, then %v", up, same)
	}
	h.mono = time.Minute
	g, err = h.share(t, "bob")
	must(t, g, err)
}

func TestAdopt(t *testing.T) {
	h := open(t)
	f, err := h.acquire(t, "ada")
	must(t, f, err)
	h.mono = 20 * time.Second
	adopt := func(holder string) (l lease.Lease, got agency.Fence, err error) {
		err = h.Write(t.Context(), func(tx *store.Tx) error {
			all, err := lease.List(tx, slot.Kind, "")
			for _, l = range all {
				if err == nil && l.Holder == holder {
					got, err = lease.Adopt(tx, l)
					return err
				}
			}
			return err
		})
		return l, got, err
	}
	if _, got, err := adopt("ada"); must(t, got, err) != f {
		t.Fatalf("a live lease was adopted as %v, had %v", got, f)
	}
	if _, err := h.RaiseEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKind(t, h.do(t, lease.Check, f), agency.KindDenied)
	_, g, err := adopt("ada")
	if must(t, g, err); !f.Less(g) {
		t.Fatalf("adopted with %v after %v", g, f)
	}
	h.mono = time.Minute - 1
	if err := h.do(t, lease.Check, g); err != nil {
		t.Fatal(err)
	}
	h.mono++ // what was left, not more
	wantKind(t, h.do(t, lease.Check, g), agency.KindDenied)
	if _, err := h.RaiseEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, err = adopt("ada")
	wantKind(t, err, agency.KindDenied)
}

func TestAdoptedByNobodyElse(t *testing.T) {
	h := open(t)
	f, err := h.acquire(t, "ada")
	must(t, f, err)
	if _, err := h.RaiseEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, err := h.acquire(t, "bob")
	must(t, g, err)
	err = h.Write(t.Context(), func(tx *store.Tx) error {
		all, err := lease.List(tx, slot.Kind, slot.Run)
		if err != nil || len(all) != 2 || all[0].Holder != "ada" || all[0].Live || !all[1].Live {
			t.Errorf("%+v, %v", all, err)
		}
		_, err = lease.Adopt(tx, all[0])
		return err
	})
	wantKind(t, err, agency.KindConflict)
}
