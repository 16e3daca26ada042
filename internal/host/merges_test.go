package host

import (
	"path/filepath"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

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
