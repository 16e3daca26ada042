package lock

import (
	"errors"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/boardtest"
	"agency/internal/event"
	"agency/internal/store"
)

const run = agency.RunID("run-1")

// desk is a store whose clocks the test moves.
type desk struct{ *boardtest.Fixture }

func newDesk(t *testing.T) desk {
	t.Helper()
	return desk{boardtest.NewFixture(t, Migrations())}
}

func (d desk) lock(agent agency.AgentID, path string, shared bool) (f agency.Fence) {
	d.Helper()
	d.Do(func(tx *store.Tx) (err error) {
		f, err = Lock(tx, Request{Run: run, Agent: agent, Path: path, Shared: shared})
		return err
	})
	return f
}

func (d desk) locked(agent agency.AgentID, path string, shared bool) {
	d.Helper()
	d.Refuse(agency.KindConflict, func(tx *store.Tx) error {
		_, err := Lock(tx, Request{Run: run, Agent: agent, Path: path, Shared: shared})
		return err
	})
}

func (d desk) locks() string {
	d.Helper()
	var out []string
	d.Do(func(tx *store.Tx) error {
		all, err := List(tx, run)
		for _, l := range all {
			text := string(l.Agent) + ":" + l.Path
			if l.Shared {
				text += " shared"
			}
			out = append(out, text)
		}
		return err
	})
	return strings.Join(out, ", ")
}

func TestLocksExclude(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "bob")
	f := d.lock("ada", "src/a.go", false)
	if again := d.lock("ada", "./src//a.go", false); again != f {
		t.Errorf("the same lock again: %v, then %v", f, again)
	}
	for _, path := range []string{"src/a.go", "src/A.go", "src/a.go#Parse"} {
		d.locked("bob", path, false)
		d.locked("bob", path, true)
	}
	d.lock("bob", "src/a.go.txt", false) // another file
	g := d.lock("ada", "src/a.go#Parse", false)
	d.Do(func(tx *store.Tx) error { return Unlock(tx, run, "ada", "src/a.go", f) })
	d.Do(func(tx *store.Tx) error { return Unlock(tx, run, "ada", "src/a.go", f) }) // again: nothing
	d.locked("bob", "src/a.go", true)                                               // one of its symbols is
	d.lock("bob", "src/a.go#parse", false)                                          // symbols differ in case
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { return Unlock(tx, run, "bob", "src/a.go#Parse", g) })
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { return Unlock(tx, run, "ada", "src/a.go#Parse", f) })
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { return Check(tx, run, "src/a.go", f) })
	d.Do(func(tx *store.Tx) error { return Check(tx, run, "src/a.go#Parse", g) })
	if got := d.locks(); got != "ada:src/a.go#Parse, bob:src/a.go#parse, bob:src/a.go.txt" {
		t.Error(got)
	}
}

func TestLocksAreShared(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "bob", "cid")
	d.lock("ada", "a.go", true)
	f := d.lock("bob", "a.go", true)
	d.lock("cid", "a.go#F", true)
	d.locked("ada", "a.go", false) // not alone
	d.Do(func(tx *store.Tx) error { return Unlock(tx, run, "bob", "a.go", f) })
	d.locked("ada", "a.go", false) // a symbol of it is shared still
	d.Leave("cid")
	d.lock("ada", "a.go", false)
	d.lock("ada", "a.go", true) // keeps it alone
	if got := d.locks(); got != "ada:a.go" {
		t.Error(got)
	}
}

func TestLocksLiveByHeartbeats(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "bob")
	d.lock("ada", "a.go", false)
	d.lock("bob", "b.go", false)
	d.Wall = d.Wall.Add(1000 * time.Hour)
	d.Mono = TTL - 1
	d.Do(func(tx *store.Tx) error { return board.Heartbeat(tx, run, "ada") })
	d.Mono++
	d.locked("bob", "a.go", false)
	d.lock("ada", "b.go", false) // bob's has expired
	d.Mono += TTL
	d.Do(func(tx *store.Tx) error {
		n, err := sweepLocks(tx)
		if n != 3 {
			t.Errorf("swept %d locks", n)
		}
		return err
	})
}

// TestARefusedLockIsLogged: though nothing of the refused transaction is kept.
func TestARefusedLockIsLogged(t *testing.T) {
	d := newDesk(t)
	b := NewManager(d.DB)
	t.Cleanup(b.Close)
	d.Join("ada", "bob")
	if _, err := b.Lock(t.Context(), Request{Run: run, Agent: "ada", Path: "a.go", Reason: "splits Parse"}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Lock(t.Context(), Request{Run: run, Agent: "bob", Path: "a.go", Shared: true})
	var held *Held
	if !errors.As(err, &held) || len(held.Holders) != 1 || held.Holders[0].Agent != "ada" || !strings.Contains(err.Error(), "splits Parse") {
		t.Fatalf("got %v", err)
	}
	var evs []agency.Event
	d.Do(func(tx *store.Tx) (err error) {
		evs, err = event.Since(tx, 0, event.Filter{Run: run, Types: []agency.EventType{"lock_denied"}}, 0)
		return err
	})
	if len(evs) != 1 || evs[0].AgentID != "bob" {
		t.Errorf("%+v", evs)
	}
}

func TestBadLocks(t *testing.T) {
	d := newDesk(t)
	d.Join("ada")
	for _, path := range []string{
		"", ".", "/etc/passwd", "..", "../a", "a/../b", "a/", `a\b`, "a\x00", "\xff", "#F", "a.go#", strings.Repeat("x", 5000),
	} {
		d.Refuse(agency.KindInvalid, func(tx *store.Tx) error {
			_, err := Lock(tx, Request{Run: run, Agent: "ada", Path: path})
			return err
		})
	}
	d.Refuse(agency.KindInvalid, func(tx *store.Tx) error {
		_, err := Lock(tx, Request{Run: run, Agent: "ada", Path: "a", TTL: -1})
		return err
	})
	d.Refuse(agency.KindNotFound, func(tx *store.Tx) error {
		_, err := Lock(tx, Request{Run: run, Agent: "nobody", Path: "a"})
		return err
	})
	d.Leave("ada")
	d.locked("ada", "a", false)
	if got := d.locks(); got != "" {
		t.Errorf("something was half written: %s", got)
	}
}
