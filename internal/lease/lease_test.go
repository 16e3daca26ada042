package lease_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/lease"
	"agency/internal/store"
)

var slot = lease.Key{Kind: "slot", Run: "r", Name: "n"}

// host is a store as a host has it.
type host struct{ *store.DB }

func open(t *testing.T) host {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "s.db"), Sets: []store.Set{lease.Migrations()},
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return host{db}
}

func (h host) acquire(t *testing.T, k lease.Key, holder string) (l lease.Lease, err error) {
	t.Helper()
	err = h.Write(t.Context(), func(tx *store.Tx) error {
		l, err = lease.Acquire(tx, lease.Request{Key: k, Holder: holder, Label: "N", Note: "why"})
		return err
	})
	return l, err
}

func (h host) must(t *testing.T, k lease.Key, holder string) lease.Lease {
	t.Helper()
	l, err := h.acquire(t, k, holder)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (h host) refused(t *testing.T, k lease.Key, holder string, kind agency.Kind) {
	t.Helper()
	if _, err := h.acquire(t, k, holder); err == nil || agency.KindOf(err) != kind {
		t.Fatalf("got %v, want kind %s", err, kind)
	}
}

func (h host) release(t *testing.T, k lease.Key, f agency.Fence) {
	t.Helper()
	if err := h.Write(t.Context(), func(tx *store.Tx) error { return lease.Release(tx, k, f) }); err != nil {
		t.Fatal(err)
	}
}

func TestOneHolder(t *testing.T) {
	h := open(t)
	f := h.must(t, slot, "ada")
	h.refused(t, slot, "bob", agency.KindConflict)
	if again := h.must(t, slot, "ada"); again != f {
		t.Fatalf("acquired again: %+v, then %+v", f, again)
	}
	h.release(t, slot, f.Fence)
	g := h.must(t, slot, "bob")
	if !f.Fence.Less(g.Fence) {
		t.Fatalf("the new holder got %v after %v", g.Fence, f.Fence)
	}
	h.release(t, slot, f.Fence) // a late release of the old holder
	h.refused(t, slot, "ada", agency.KindConflict)
	for _, bad := range []lease.Key{{Run: "r", Name: "n"}, {Kind: "slot", Run: "r"}} {
		h.refused(t, bad, "ada", agency.KindInvalid)
	}
	h.refused(t, slot, "", agency.KindInvalid)
}

// A lease is its holder's, not the host's: another host finds it as it was.
func TestOutlivesItsHost(t *testing.T) {
	h := open(t)
	f := h.must(t, slot, "ada")
	epoch, err := h.RaiseEpoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.refused(t, slot, "bob", agency.KindConflict)
	if again := h.must(t, slot, "ada"); again != f {
		t.Fatalf("after another host began: %+v, had %+v", again, f)
	}
	h.release(t, slot, f.Fence)
	if g := h.must(t, slot, "bob"); g.Fence.Epoch != epoch || g.Fence.N != f.Fence.N+1 {
		t.Fatalf("got %v, want epoch %d and n %d", g.Fence, epoch, f.Fence.N+1)
	}
}

func TestListAndForget(t *testing.T) {
	h := open(t)
	other, elsewhere := slot, slot
	other.Kind, elsewhere.Run = "other", "r2"
	second := slot
	second.Name = "a" // before the first by its name
	for _, k := range []lease.Key{slot, second, other, elsewhere} {
		h.must(t, k, "ada")
	}
	names := func(kind string, run agency.RunID) (out string) {
		if err := h.Read(t.Context(), func(s *store.Snapshot) error {
			all, err := lease.List(s, kind, run)
			for _, l := range all {
				out += l.Name + ":" + l.Holder + ":" + l.Label + ":" + l.Note + " "
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := names("slot", "r"); got != "n:ada:N:why a:ada:N:why " {
		t.Error(got)
	}
	if err := h.Write(t.Context(), func(tx *store.Tx) error { return lease.Forget(tx, "slot", "r") }); err != nil {
		t.Fatal(err)
	}
	if got := names("slot", "r"); got != "" {
		t.Errorf("kept %s", got)
	}
	if names("other", "r") == "" || names("slot", "r2") == "" {
		t.Error("others' leases are forgotten")
	}
}

// Of many who ask at once one has it, and no token is given twice.
func TestManyAtOnce(t *testing.T) {
	h := open(t)
	const n = 8
	var wg sync.WaitGroup
	got := make([]error, n)
	for i := range n {
		wg.Go(func() {
			_ = h.Write(t.Context(), func(tx *store.Tx) error {
				_, got[i] = lease.Acquire(tx, lease.Request{Key: slot, Holder: string(rune('a' + i))})
				return got[i]
			})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range got {
		if err == nil {
			won++
		} else if agency.KindOf(err) != agency.KindConflict {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d have it", won, n)
	}
}
