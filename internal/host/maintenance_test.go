package host

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/flow/local"
	"agency/internal/flow/outbox"
	"agency/internal/lease"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// keeper is a host whose clocks the test moves.
type keeper struct {
	*testing.T
	*Host
	wall time.Time
	mono time.Duration
	set  chan time.Duration // what was waited for
	ring func()
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{T: t, wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), set: make(chan time.Duration, 16)}
	db := storetest.Open(t, store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"),
		Sets: []store.Set{event.Migrations(), lease.Migrations(), registry.Migrations(), board.Migrations(), state.Migrations(), budget.Migrations(), local.Migrations(), outbox.Migrations()},
		Now:  func() time.Time { return k.wall }, Mono: func() time.Duration { return k.mono },
	})
	k.Host = New(Options{DB: db, Engine: local.New(local.Options{DB: db}), Live: NewLive(), Clock: Clock{Now: func() time.Time { return k.wall }, After: func(d time.Duration, f func()) func() bool {
		k.ring = f
		k.set <- d
		return func() bool { return true }
	}}})
	return k
}

func (k *keeper) do(fn func(*store.Tx) error) {
	k.Helper()
	if err := k.rec.db.Write(k.Context(), fn); err != nil {
		k.Fatal(err)
	}
}

func (k *keeper) run(id agency.RunID, hours int) {
	k.Helper()
	c := RunConfig{Config: config.Defaults()}
	c.Config.Board.RetentionHours = hours
	raw, err := json.Marshal(c)
	if err != nil {
		k.Fatal(err)
	}
	k.do(func(tx *store.Tx) error {
		return registry.CreateRun(tx, agency.Run{ID: id, State: agency.StateRunning, Branch: "b", Base: "base", Goal: "g"}, raw)
	})
}

// wear writes a key twice: the first version need not be kept.
func (k *keeper) wear(id agency.RunID) {
	for _, v := range []string{"1", "2"} {
		k.do(func(tx *store.Tx) error {
			_, err := state.Put(tx, state.Write{Key: state.Key{Namespace: state.OfRun, Run: id, Name: "k"}, Value: []byte(v), By: "ada"})
			return err
		})
	}
}

func (k *keeper) prunable() (ids []agency.RunID) {
	k.Helper()
	k.do(func(tx *store.Tx) (err error) { ids, err = prunable(tx); return err })
	return ids
}

// A run's mail and old versions go when its own retention has passed since its
// end, and the host knows when that is.
func TestRetentionOfEndedRuns(t *testing.T) {
	k := newKeeper(t)
	look := func(want time.Duration, left int) {
		t.Helper()
		next, err := k.tidy.dropMail(t.Context())
		if err != nil || next != want || len(k.prunable()) != left {
			t.Errorf("more in %s with %v left (%v), want %s and %d", next, k.prunable(), err, want, left)
		}
	}
	for id, hours := range map[agency.RunID]int{"aaaaaaaa": 24, "bbbbbbbb": 2, "cccccccc": 1} {
		k.run(id, hours)
		k.wear(id)
	}
	look(0, 3) // at work
	for _, id := range []agency.RunID{"aaaaaaaa", "bbbbbbbb"} {
		k.do(func(tx *store.Tx) error { return registry.SetState(tx, id, agency.StateFailed, "no") })
	}
	look(2*time.Hour, 3)
	k.wall = k.wall.Add(2 * time.Hour)
	look(22*time.Hour, 2)
	k.wall = k.wall.Add(22 * time.Hour)
	look(0, 1)
}

// Heartbeats are counted while a run is at work, and only then; an agent that
// is heard of owes none.
func TestHeartbeatsAreCountedWhileARunIsAtWork(t *testing.T) {
	k := newKeeper(t)
	k.run("aaaaaaaa", 24)
	for _, id := range []agency.AgentID{"ada", "bob"} {
		k.do(func(tx *store.Tx) error {
			return board.Join(tx, board.Agent{Run: "aaaaaaaa", ID: id, Role: "generalist", Status: board.AgentActive})
		})
	}
	missed := func(ada int) {
		t.Helper()
		k.do(func(tx *store.Tx) error {
			a, err := board.AgentOf(tx, "aaaaaaaa", "ada")
			if a.Missed != ada {
				t.Errorf("ada has missed %d, want %d", a.Missed, ada)
			}
			b, err2 := board.AgentOf(tx, "aaaaaaaa", "bob")
			if b.Missed != 0 {
				t.Errorf("bob, who is heard of, has missed %d", b.Missed)
			}
			if err == nil {
				err = err2
			}
			return err
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := newLive(agency.Run{ID: "aaaaaaaa"}, cancel)
	done := make(chan struct{})
	go func() { defer close(done); k.runs.watchHeartbeats(ctx, l) }()
	for n := range 3 {
		if d := <-k.set; d != board.HeartbeatInterval {
			t.Errorf("looks in %s", d)
		}
		missed(n)
		k.mono += board.HeartbeatInterval
		k.do(func(tx *store.Tx) error { return board.Heartbeat(tx, "aaaaaaaa", "bob") })
		k.ring()
	}
	<-k.set
	missed(3)
	l.setQuiet(true) // it waits for a person: nobody looks any more
	cancel()
	<-done
	if n := len(k.set); n != 0 {
		t.Errorf("%d timers run for a run that waits", n)
	}
}

// A dry run whose client is gone leaves nothing; one that asked a person
// something stays for that person.
func TestDryRunsThatNobodyRemoved(t *testing.T) {
	k := newKeeper(t)
	k.tidy.cleaner = noFiles{}
	dry := func(id agency.RunID, state agency.RunState) {
		k.do(func(tx *store.Tx) error {
			if err := registry.CreateRun(tx, agency.Run{ID: id, State: agency.StatePlanning, Branch: string(id), Base: "base", Goal: "g", Dry: true}, []byte("{}")); err != nil {
				return err
			}
			return registry.SetState(tx, id, state, "")
		})
	}
	look := func(want time.Duration, left ...agency.RunID) {
		t.Helper()
		next, err := k.tidy.dropDryRuns(t.Context())
		var got []agency.RunID
		k.do(func(tx *store.Tx) error {
			runs, err := registry.Runs(tx)
			for _, r := range runs {
				got = append(got, r.ID)
			}
			return err
		})
		slices.Sort(got)
		if err != nil || next != want || !slices.Equal(got, left) {
			t.Errorf("more in %s with %v left (%v), want %s and %v", next, got, err, want, left)
		}
	}
	k.run("aaaaaaaa", 1) // no dry run
	k.do(func(tx *store.Tx) error { return registry.SetState(tx, "aaaaaaaa", agency.StateSucceeded, "") })
	dry("bbbbbbbb", agency.StateRunning)
	dry("cccccccc", agency.StateSucceeded)
	dry("dddddddd", agency.StateFailed)
	k.do(func(tx *store.Tx) error {
		return registry.OpenGate(tx, agency.Gate{ID: "dddddddd.q", RunID: "dddddddd", Kind: agency.GateQuestion})
	})
	look(dryRunGrace, "aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd")
	k.wall = k.wall.Add(dryRunGrace)
	look(0, "aaaaaaaa", "bbbbbbbb", "dddddddd")
}

// noFiles keeps nothing on disk.
type noFiles struct{ Cleaner }

func (noFiles) Remove(context.Context, agency.Run) error { return nil }
func (noFiles) Forget(*store.Tx, agency.RunID) error     { return nil }
