package registry

import (
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// An outcome is kept once, is read the latest first, and outlives its run.
func TestOutcomesOutliveTheirRun(t *testing.T) {
	db := withRun(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	keep := func(o agency.Outcome) {
		t.Helper()
		write(t, db, func(tx *store.Tx) error { return KeepOutcome(tx, o) })
	}
	keep(agency.Outcome{Run: "run-1", Contract: "a", Attempts: 1, EndedAt: at})
	keep(agency.Outcome{Run: "run-1", Contract: "b", Attempts: 2, EndedAt: at.Add(time.Second)})
	keep(agency.Outcome{Run: "run-1", Contract: "a", Attempts: 3, EndedAt: at.Add(time.Minute)})
	write(t, db, func(tx *store.Tx) error {
		if err := SetState(tx, "run-1", agency.StateFailed, "x"); err != nil {
			return err
		}
		return DeleteRun(tx, "run-1")
	})
	got, err := store.Get(t.Context(), db, Outcomes, 10)
	if err != nil || len(got) != 2 || got[0].Contract != "b" || got[1].Attempts != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = store.Get(t.Context(), db, Outcomes, 1); err != nil || len(got) != 1 || got[0].Contract != "b" {
		t.Errorf("%+v, %v", got, err)
	}
}
