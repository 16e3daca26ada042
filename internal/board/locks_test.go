package board

import (
	"errors"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

func (d *desk) lock(agent agency.AgentID, path string, shared bool) (f agency.Fence) {
	d.Helper()
	d.do(func(tx *store.Tx) (err error) {
		f, err = Lock(tx, LockRequest{Run: run, Agent: agent, Path: path, Shared: shared})
		return err
	})
	return f
}

func (d *desk) locked(agent agency.AgentID, path string, shared bool) {
	d.Helper()
	d.refuse(agency.KindConflict, func(tx *store.Tx) error {
		_, err := Lock(tx, LockRequest{Run: run, Agent: agent, Path: path, Shared: shared})
		return err
	})
}

func (d *desk) locks() string {
	d.Helper()
	var out []string
	d.do(func(tx *store.Tx) error {
		all, err := Locks(tx, run)
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
	d.join("ada", "bob")
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
	d.do(func(tx *store.Tx) error { return Unlock(tx, run, "ada", "src/a.go", f) })
	d.do(func(tx *store.Tx) error { return Unlock(tx, run, "ada", "src/a.go", f) }) // again: nothing
	d.locked("bob", "src/a.go", true)                                               // one of its symbols is
	d.lock("bob", "src/a.go#parse", false)                                          // symbols differ in case
	d.refuse(agency.KindDenied, func(tx *store.Tx) error { return Unlock(tx, run, "bob", "src/a.go#Parse", g) })
	d.refuse(agency.KindDenied, func(tx *store.Tx) error { return Unlock(tx, run, "ada", "src/a.go#Parse", f) })
	d.refuse(agency.KindDenied, func(tx *store.Tx) error { return CheckLock(tx, run, "src/a.go", f) })
	d.do(func(tx *store.Tx) error { return CheckLock(tx, run, "src/a.go#Parse", g) })
	if got := d.locks(); got != "ada:src/a.go#Parse, bob:src/a.go#parse, bob:src/a.go.txt" {
		t.Error(got)
	}
}

func TestLocksAreShared(t *testing.T) {
	d := newDesk(t)
	d.join("ada", "bob", "cid")
	d.lock("ada", "a.go", true)
	f := d.lock("bob", "a.go", true)
	d.lock("cid", "a.go#F", true)
	d.locked("ada", "a.go", false) // not alone
	d.do(func(tx *store.Tx) error { return Unlock(tx, run, "bob", "a.go", f) })
	d.locked("ada", "a.go", false) // a symbol of it is shared still
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "cid", AgentCompleted, "") })
	d.lock("ada", "a.go", false)
	d.lock("ada", "a.go", true) // keeps it alone
	if got := d.locks(); got != "ada:a.go" {
		t.Error(got)
	}
}

func TestLocksLiveByHeartbeats(t *testing.T) {
	d := newDesk(t)
	d.join("ada", "bob")
	d.lock("ada", "a.go", false)
	d.lock("bob", "b.go", false)
	d.wall = d.wall.Add(1000 * time.Hour)
	d.mono = LockTTL - 1
	d.do(func(tx *store.Tx) error { return Heartbeat(tx, run, "ada") })
	d.mono++
	d.locked("bob", "a.go", false)
	d.lock("ada", "b.go", false) // bob's has expired
	d.mono += LockTTL
	d.do(func(tx *store.Tx) error {
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
	b := d.board()
	d.join("ada", "bob")
	if _, err := b.Lock(t.Context(), LockRequest{Run: run, Agent: "ada", Path: "a.go", Reason: "splits Parse"}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Lock(t.Context(), LockRequest{Run: run, Agent: "bob", Path: "a.go", Shared: true})
	var held *LockHeld
	if !errors.As(err, &held) || len(held.Holders) != 1 || held.Holders[0].Agent != "ada" || !strings.Contains(err.Error(), "splits Parse") {
		t.Fatalf("got %v", err)
	}
	var evs []agency.Event
	d.do(func(tx *store.Tx) (err error) {
		evs, err = event.Since(tx, 0, event.Filter{Run: run, Types: []agency.EventType{"lock_denied"}}, 0)
		return err
	})
	if len(evs) != 1 || evs[0].AgentID != "bob" {
		t.Errorf("%+v", evs)
	}
}

func TestBadLocks(t *testing.T) {
	d := newDesk(t)
	d.join("ada")
	for _, path := range []string{
		"", ".", "/etc/passwd", "..", "../a", "a/../b", "a/", `a\b`, "a\x00", "\xff", "#F", "a.go#", strings.Repeat("x", 5000),
	} {
		d.refuse(agency.KindInvalid, func(tx *store.Tx) error {
			_, err := Lock(tx, LockRequest{Run: run, Agent: "ada", Path: path})
			return err
		})
	}
	d.refuse(agency.KindInvalid, func(tx *store.Tx) error {
		_, err := Lock(tx, LockRequest{Run: run, Agent: "ada", Path: "a", TTL: -1})
		return err
	})
	d.refuse(agency.KindNotFound, func(tx *store.Tx) error {
		_, err := Lock(tx, LockRequest{Run: run, Agent: "nobody", Path: "a"})
		return err
	})
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "ada", AgentFailed, "") })
	d.locked("ada", "a", false)
	if got := d.locks(); got != "" {
		t.Errorf("something was half written: %s", got)
	}
}
