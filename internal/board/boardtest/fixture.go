package boardtest

import (
	"path/filepath"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// Fixture is a store with a board whose clocks the test moves.
type Fixture struct {
	*testing.T
	*store.DB
	Run  agency.RunID
	Mono time.Duration
	Wall time.Time

	path string
	sets []store.Set
}

// NewFixture makes a store with the sets that a board needs, and more.
func NewFixture(t *testing.T, more ...store.Set) *Fixture {
	t.Helper()
	f := &Fixture{
		T: t, Run: "run-1", Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), path: filepath.Join(t.TempDir(), "t.db"),
		sets: append([]store.Set{event.Migrations(), lease.Migrations(), board.Migrations()}, more...),
	}
	f.open()
	return f
}

func (f *Fixture) open() {
	f.Helper()
	f.DB = storetest.Open(f, store.Options{
		Path: f.path, Sets: f.sets, Now: func() time.Time { return f.Wall }, Mono: func() time.Duration { return f.Mono },
	})
}

// Restart has another host take the store: its monotonic clock begins anew.
func (f *Fixture) Restart() {
	f.Helper()
	if err := f.Close(); err != nil {
		f.Fatal(err)
	}
	f.Mono = 0
	f.open()
	if _, err := f.RaiseEpoch(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// Do runs a transaction that must succeed.
func (f *Fixture) Do(fn func(*store.Tx) error) {
	f.Helper()
	if err := f.Write(f.Context(), fn); err != nil {
		f.Fatal(err)
	}
}

// Refuse runs a transaction that must fail with a kind.
func (f *Fixture) Refuse(kind agency.Kind, fn func(*store.Tx) error) {
	f.Helper()
	if err := f.Write(f.Context(), fn); err == nil || agency.KindOf(err) != kind {
		f.Errorf("got %v, want kind %s", err, kind)
	}
}

// Until waits for what another goroutine writes.
func (f *Fixture) Until(ok func(*store.Tx) bool) {
	f.Helper()
	for is := false; !is; {
		f.Do(func(tx *store.Tx) error { is = ok(tx); return nil })
	}
}

// Join has agents join the run.
func (f *Fixture) Join(ids ...agency.AgentID) {
	f.Helper()
	f.Do(func(tx *store.Tx) error {
		for _, id := range ids {
			if err := board.Join(tx, board.Agent{Run: f.Run, ID: id, Role: "scaffolder"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Leave ends an agent.
func (f *Fixture) Leave(id agency.AgentID) {
	f.Helper()
	f.Do(func(tx *store.Tx) error { return board.Leave(tx, f.Run, id, board.AgentFailed, "lost") })
}
