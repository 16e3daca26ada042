package effects

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
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

// What came of a contract is told of the models that answered, whichever was asked first,
// with what each was paid for; and of no level where a person chose another model.
func TestOutcomeOfWhoAnswered(t *testing.T) {
	for chosen, level := range map[string]agency.Level{"": "", "generalist": "", "capable": "", "reviewer": "capable", "fast-cheap": "capable"} {
		s := newStage(t, record.Migrations())
		ctx := context.Background()
		work := agency.Contract{ID: "c", RunID: run, AssignedRole: agency.RoleGeneralist, RetryBudget: 1, Status: agency.StatusPending}
		err := s.db.Write(ctx, func(tx *store.Tx) error {
			if err := registry.CreateContract(tx, work); err != nil {
				return err
			}
			if _, err := registry.Advance(tx, run, work.ID, "try", agency.Started{Agent: "a"}); err != nil {
				return err
			}
			if _, err := registry.Advance(tx, run, work.ID, "end", agency.Returned{Reason: "no"}); err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO session (id, run_id, contract_id, attempt, role, agent, tier, model, system, tools, max_output, state, created_at)
				VALUES ('s', ?, 'c', 1, 'generalist', 'a', '', 'p/asked', '', '', 1, '{}', 1)`, string(run)); err != nil {
				return err
			}
			node := budget.SessionNode("s")
			if err := budget.Open(tx, run, node, budget.Root, budget.Limits{}); err != nil {
				return err
			}
			for n, by := range []string{"p/asked", "p/other", "p/other"} {
				key := fmt.Sprint(n)
				if _, err := tx.Exec(`INSERT INTO session_turn (session_id, turn, try, phase, model, tokens_in, tokens_out) VALUES ('s', ?, 1, 'settled', ?, 2, 1)`, n+1, by); err != nil {
					return err
				}
				if _, err := budget.Reserve(tx, run, budget.Request{Key: key, Node: node, In: 2, Out: 1, Model: "p/asked", Contract: work.ID}); err != nil {
					return err
				}
				if err := budget.Settle(tx, run, key, budget.Bill{Model: by, Usage: agency.Usage{In: 2, Out: 1}, Cost: agency.USD(0.25)}, 0); err != nil {
					return err
				}
			}
			if _, err := budget.Reserve(tx, run, budget.Request{Key: "lost", Node: node, In: 7, Out: 1, Model: "p/asked", Contract: work.ID}); err != nil {
				return err
			}
			if err := budget.Charge(tx, run, "lost", budget.Bill{}); err != nil {
				return err
			}
			routed := agency.NewEvent(run, agency.SeverityDebug, "", agency.ModelRouted{Route: agency.Route{Level: "capable"}})
			routed.ContractID, routed.Role = work.ID, work.AssignedRole
			for _, ev := range []agency.Event{routed, agency.NewEvent(run, agency.SeverityInfo, "", agency.ModelChosen{Whom: chosen})} {
				if _, err := event.Append(tx, ev); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			_, err = s.steps(shop{}).advance(ctx, "over", NewStep(run, work.ID, agency.Withdrawn{Reason: "no"}))
		}
		if err != nil {
			t.Fatal(err)
		}
		var all []agency.Outcome
		if err := s.db.Read(ctx, func(q *store.Snapshot) (err error) { all, err = registry.Outcomes(q, 9); return err }); err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		part := func(model string, turns, tokens int64, usd float64) agency.Part {
			return agency.Part{Model: model, Effort: agency.Effort{Turns: turns, Usage: agency.Usage{In: 2 * turns, Out: turns}}, Tokens: tokens, CostUSD: usd}
		}
		want := []agency.Try{{Parts: []agency.Part{part("p/asked", 1, 11, 0.25), part("p/other", 2, 6, 0.5)}}}
		if diff := cmp.Diff(want, all[0].Tries); diff != "" {
			t.Error(diff)
		}
		if all[0].Level != level {
			t.Errorf("chosen for %q: level %q, want %q", chosen, all[0].Level, level)
		}
	}
}
