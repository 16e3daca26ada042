package event_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/fstest"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// TestIDsAreNotGivenAgain appends and removes runs at random, as the host does and
// behind its back: each id is higher than all before it, and nobody sees what
// stands in the place of an event that is gone.
func TestIDsAreNotGivenAgain(t *testing.T) {
	db, log := open(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	runs := []agency.RunID{"r", "s", "t"}
	left, last := map[agency.RunID]int{}, int64(0)
	for range 300 {
		run := runs[rnd.IntN(len(runs))]
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			switch rnd.IntN(5) {
			case 0:
				left[run] = 0
				return event.DeleteRun(tx, run)
			case 1:
				if rnd.IntN(4) == 0 {
					clear(left)
					_, err := tx.Exec("DELETE FROM event")
					return err
				}
				left[run] = 0
				_, err := tx.Exec("DELETE FROM event WHERE run_id = ? AND id > 0", string(run))
				return err
			}
			ev, err := event.Append(tx, note(run, 0))
			if ev.ID <= last {
				t.Errorf("id %d after %d", ev.ID, last)
			}
			last = ev.ID
			left[run]++
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, run := range append(runs, "") {
			want := left[run]
			if run == "" {
				want = left["r"] + left["s"] + left["t"]
			}
			if evs, err := log.Since(t.Context(), 0, event.Filter{Run: run}, 0); err != nil || len(evs) != want {
				t.Fatalf("%d events of run %q, want %d; %v", len(evs), run, want, err)
			}
		}
	}
}

// TestWhatARunLeftGoesWithTheNext looks that rows for ids do not pile up.
func TestWhatARunLeftGoesWithTheNext(t *testing.T) {
	db, log := open(t)
	for range 10 {
		appendNotes(t, log, "r", 0, 2)
		if err := db.Write(t.Context(), func(tx *store.Tx) error { return event.DeleteRun(tx, "r") }); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Read(t.Context(), func(q *store.Snapshot) error {
		var rows, id int
		err := q.QueryRow("SELECT count(*), max(id) FROM event").Scan(&rows, &id)
		if rows != 1 || id != 20 {
			t.Errorf("%d rows, the last is %d", rows, id)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestAnOlderLogLosesNothing opens logs that an older version has written, one
// whose newest events are there and one whose newest are gone.
func TestAnOlderLogLosesNothing(t *testing.T) {
	for _, gone := range []agency.RunID{"nobody", "s"} {
		path := filepath.Join(t.TempDir(), "s.db")
		old := openOlder(t, path)
		if err := old.Write(t.Context(), func(tx *store.Tx) error {
			evs := []agency.Event{note("r", 0), note("r", 1), note("s", 2)}
			evs[0].Details, evs[0].RelatedMessage, evs[0].RelatedState, evs[0].Tier = nil, "m1", 7, "fast"
			err := event.AppendAll(tx, evs)
			_, e := tx.Exec("DELETE FROM event WHERE run_id = ?", string(gone))
			return errors.Join(err, e)
		}); err != nil {
			t.Fatal(err)
		}
		before := all(t, old)
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(t.Context(), store.Options{Path: path, Sets: []store.Set{event.Migrations()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if diff := cmp.Diff(before, all(t, db)); diff != "" {
			t.Errorf("without %s: %s", gone, diff)
		}
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			ev, err := event.Append(tx, note("r", 3))
			if ev.ID != 4 {
				t.Errorf("without %s: the next is %d", gone, ev.ID)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// openOlder opens a store as a version did whose ids were SQLite's to keep.
func openOlder(t *testing.T, path string) *store.DB {
	t.Helper()
	older := fstest.MapFS{}
	for _, name := range []string{"0001_init.sql", "0002_related.sql"} {
		text, err := fs.ReadFile(event.Migrations().FS, "migrations/"+name)
		if err != nil {
			t.Fatal(err)
		}
		older[name] = &fstest.MapFile{Data: text}
	}
	db, err := store.Open(t.Context(), store.Options{Path: path, Sets: []store.Set{{Name: "event", FS: older}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// all reads a whole log.
func all(t *testing.T, db *store.DB) (evs []agency.Event) {
	t.Helper()
	if err := db.Read(t.Context(), func(q *store.Snapshot) (err error) {
		evs, err = event.Since(q, 0, event.Filter{}, 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return evs
}
