package view

import (
	"path/filepath"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// How far a run is counts its contracts of work alone, those that have not begun, too; what
// plans and judges is none. Of a run that ended only what is complete counts.
func TestShareOfARun(t *testing.T) {
	db := storetest.Open(t, store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{event.Migrations(), registry.Migrations()}})
	run := agency.Run{ID: "run-1", Goal: "g", Mode: agency.ModeTiered, State: agency.StateRunning, Branch: "agency/run-1/main", Target: "main"}
	contracts := []agency.Contract{
		{ID: "plan", AssignedRole: agency.RoleVisionary, Status: agency.StatusComplete},
		{ID: "api", AssignedRole: agency.RoleSquadLead, Status: agency.StatusInProgress},
		{ID: "accept", AssignedRole: agency.RoleVisionary, Status: agency.StatusInProgress},
		{ID: "done", AssignedRole: agency.RoleImplementer, Status: agency.StatusComplete},
		{ID: "half", AssignedRole: agency.RoleImplementer, Status: agency.StatusInProgress},
		{ID: "later", AssignedRole: agency.RoleImplementer, Status: agency.StatusPending},
		{ID: "never", AssignedRole: agency.RoleImplementer, Status: agency.StatusFailed},
	}
	tell := func(of agency.ContractID, d agency.Detail) {
		t.Helper()
		ev := agency.NewEvent("run-1", agency.SeverityInfo, "", d)
		ev.ContractID = of
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := event.Append(tx, ev)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return registry.CreateRun(tx, run, []byte("{}")) }); err != nil {
		t.Fatal(err)
	}
	var all shares
	want := func(share float64) {
		t.Helper()
		err := db.Read(t.Context(), func(q *store.Snapshot) error {
			for _, s := range []*shares{&all, {}} { // one that looked before, and one that did not
				if _, _, err := s.stand(q, run); err != nil {
					return err
				}
				if got := shareOf(run, standingsOf(contracts), &s.of[run.ID].progress); got != share {
					t.Errorf("%g; want %g", got, share)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want(1.0 / 4)
	for _, id := range []agency.ContractID{"api", "accept", "half", "never"} {
		tell(id, agency.VerdictSubmitted{Verdict: agency.VerdictPass})
	}
	want(1.6 / 4)
	tell("half", agency.ReviewSubmitted{Verdict: string(agency.ReviewApprove)})
	want(1.8 / 4)
	whole := contracts
	contracts = contracts[3:4]
	want(0.99) // nobody has judged the whole yet
	contracts = whole
	run.State = agency.StateFailed
	want(1.0 / 4)
	if f := all.of[run.ID]; f.progress.Of("half") > 0 {
		t.Error("how far the contracts had come is remembered of a run that has ended")
	}
	if all.only(nil); len(all.of) > 0 {
		t.Error("a run that is gone is remembered")
	}
}
