package effects

import (
	"context"
	"fmt"
	"testing"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/session/record"
	"agency/internal/store"
)

// A contract that used up its attempts has failed, by whatever word it ends; one that was
// withdrawn before tells nothing of the work.
func TestOutcomeOfWhatWasWithdrawn(t *testing.T) {
	for name, c := range map[string]struct {
		attempts, allowed int
		kept              bool
	}{
		"all attempts are used": {3, 3, true},
		"some are left":         {2, 3, false},
		"there is no end":       {3, 0, false},
		"never begun":           {0, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, record.Migrations())
			ctx := context.Background()
			plan := agency.Contract{ID: "plan", RunID: run, AssignedRole: agency.RoleProjectManager, RetryBudget: c.allowed, Status: agency.StatusPending}
			err := s.db.Write(ctx, func(tx *store.Tx) error {
				if err := registry.CreateContract(tx, plan); err != nil {
					return err
				}
				for n := 1; n <= c.attempts; n++ {
					key := agency.StepKey(fmt.Sprint("try-", n))
					if _, err := registry.Advance(tx, run, plan.ID, key, agency.Started{Agent: "manager"}); err != nil {
						return err
					}
					if _, err := registry.Advance(tx, run, plan.ID, key+"/end", agency.Returned{Reason: "no plan"}); err != nil {
						return err
					}
					if _, err := tx.Exec(`INSERT INTO session (id, run_id, contract_id, attempt, role, agent, tier, model, system, tools, max_output, state, created_at)
						VALUES (?, ?, 'plan', ?, 'project_manager', 'manager', '', 'p/m', '', '', 1, '{}', ?)`, string(key), string(run), n, n); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil {
				_, err = s.steps(shop{}).advance(ctx, "end", NewStep(run, plan.ID, agency.Withdrawn{Reason: "no plan came"}))
			}
			if err != nil {
				t.Fatal(err)
			}
			var all []agency.Outcome
			if err := s.db.Read(ctx, func(q *store.Snapshot) (err error) { all, err = registry.Outcomes(q, 9); return err }); err != nil {
				t.Fatal(err)
			}
			if (len(all) == 1) != c.kept || c.kept && (all[0].Complete || all[0].Attempts != c.attempts || len(all[0].Tries) != c.attempts) {
				t.Errorf("%+v", all)
			}
		})
	}
}
