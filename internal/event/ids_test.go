package event_test

import (
	"math/rand/v2"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// TestIDsAreNotGivenAgain appends and removes runs at random: each id is higher than all before it, and nobody sees what
// stands in the place of an event that is gone.
func TestIDsAreNotGivenAgain(t *testing.T) {
	db, log := open(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	runs := []agency.RunID{"r", "s", "t"}
	left, last := map[agency.RunID]int{}, int64(0)
	for range 300 {
		run := runs[rnd.IntN(len(runs))]
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			if rnd.IntN(3) == 0 {
				left[run] = 0
				return event.DeleteRun(tx, run)
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
