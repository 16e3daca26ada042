package host

import (
	"path/filepath"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// A run that is cancelled while its merge is under way ends only when it is known what became of
// the merge, and as that has it.
func TestCancelledWhileItMerges(t *testing.T) {
	db := storetest.Open(t, store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{
		event.Migrations(), registry.Migrations(), board.Migrations(), state.Migrations(), budget.Migrations(), land.Migrations(),
	}})
	do := func(fn func(*store.Tx) error) {
		t.Helper()
		if err := db.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	for id, merged := range map[agency.RunID]agency.OID{"merged": "c0ffee", "put-back": ""} {
		stands := func(want agency.RunState) {
			t.Helper()
			do(func(tx *store.Tx) error {
				if err := recordCancelled(tx, id); err != nil {
					return err
				}
				run, err := registry.Run(tx, id)
				if run.State != want {
					t.Errorf("%s is %s, want %s", id, run.State, want)
				}
				return err
			})
		}
		do(func(tx *store.Tx) error {
			err := registry.CreateRun(tx, agency.Run{ID: id, State: agency.StateRunning, Branch: "b", Base: "base", Goal: "g"}, []byte("{}"))
			if err == nil {
				err = registry.SetControl(tx, id, registry.Control{Cancel: true, By: "ada"})
			}
			if err == nil {
				_, err = tx.Exec(`INSERT INTO land_intent (step, run_id, contract, ref, old, new, created_at) VALUES (?1, ?1, '', 'refs/heads/main', 'a', 'b', 0)`, string(id))
			}
			return err
		})
		stands(agency.StateInterrupted)
		do(func(tx *store.Tx) error {
			_, err := tx.Exec(`DELETE FROM land_intent WHERE run_id = ?`, string(id))
			if err == nil && merged != "" {
				err = registry.SetMerged(tx, id, merged)
			}
			return err
		})
		if merged != "" {
			stands(agency.StateSucceeded)
		} else {
			stands(agency.StateCancelled)
		}
	}
}

// However long a run's log is, each merge that was asked for counts.
func TestMergesAreCountedInALongLog(t *testing.T) {
	db := storetest.Open(t, store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{event.Migrations()}})
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		for range 3 {
			note := agency.NewEvent("run-1", agency.SeverityInfo, "asked for", agency.MergeRequested{By: "cli"})
			other := agency.NewEvent("run-1", agency.SeverityInfo, "other", agency.Log{Text: "other"})
			evs := []agency.Event{note}
			for range 4_000 {
				evs = append(evs, other)
			}
			if err := event.AppendAll(tx, evs); err != nil {
				return err
			}
		}
		_, err := event.Append(tx, agency.NewEvent("run-1", agency.SeverityInfo, "asked for", agency.MergeRequested{By: "cli"}))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Read(t.Context(), func(q *store.Snapshot) error {
		n, err := countMerges(q, "run-1")
		if n != 4 {
			t.Errorf("%d merges were counted, want 4", n)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
