package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/registry"
	"agency/internal/schedule"
	"agency/internal/store"
)

var (
	// toil is the work on a contract, note a short step beside it, such as those
	// that record how it advances.
	toil = flow.Activity[agency.ContractID, bool]{Name: "toil"}
	note = flow.Activity[agency.ContractID, bool]{Name: "note"}
)

// site is the executor with what is below it, the product's own: engine and
// store. Only the work on a contract is put in its place.
type site struct {
	db  *store.DB
	reg *flow.Registry
	// work is called for a contract's toil.
	work func(context.Context, agency.ContractID) error
	// notes are the steps of a contract beside its toil; one in a team takes a
	// dozen.
	notes int
}

func openSite(ctx context.Context, dir string, work func(context.Context, agency.ContractID) error) (*site, error) {
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "agency.db"), Sets: []store.Set{event.Migrations(), local.Migrations(), registry.Migrations()}})
	if err != nil {
		return nil, err
	}
	s := &site{db: db, reg: flow.NewRegistry(), work: work}
	flow.Bind(s.reg, toil, func(ctx context.Context, _ agency.StepKey, id agency.ContractID) (bool, error) {
		return true, s.work(ctx, id)
	})
	flow.Bind(s.reg, note, func(context.Context, agency.StepKey, agency.ContractID) (bool, error) { return true, nil })
	schedule.Bind(s.reg, s)
	return s, nil
}

// Signal is for the slots of contracts that wait.
func (s *site) Signal(ctx context.Context, run agency.RunID, name, id string, payload []byte) error {
	return local.New(local.Options{DB: s.db}).Signal(ctx, run, name, id, payload)
}

func (s *site) close() error { return s.db.Close() }

// carryOut runs the plan to its end, or until the context ends.
func (s *site) carryOut(ctx context.Context, plan []agency.Contract, l schedule.Limits) error {
	w := schedule.Work{
		Fulfil: func(c flow.Ctx, contract agency.Contract, _ *schedule.Slot) (schedule.Ending, error) {
			for i := range s.notes {
				if _, err := flow.Call(c, note, fmt.Sprintf("%s/note/%d", contract.ID, i), contract.ID); err != nil {
					return schedule.Ending{}, err
				}
			}
			landed, err := flow.Call(c, toil, string(contract.ID)+"/toil", contract.ID)
			return schedule.Ending{Landed: landed}, err
		},
		Failed: func(flow.Ctx, schedule.Failure) ([]agency.Contract, error) { return nil, nil },
	}
	var out schedule.Outcome
	engine := local.New(local.Options{DB: s.db, Registry: s.reg, Version: "bench"})
	err := engine.Run(ctx, benchRun, func(c flow.Ctx) (err error) {
		out, err = schedule.Run(c, plan, schedule.Options{Run: benchRun, Limits: l}, w)
		return err
	}, flow.Hooks{})
	if err == nil && len(out.Landed) != len(plan) {
		err = fmt.Errorf("%d of %d contracts landed", len(out.Landed), len(plan))
	}
	return err
}

// until is carryOut that is stopped by stop; that is no error.
func (s *site) until(ctx context.Context, plan []agency.Contract, l schedule.Limits, stop <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.carryOut(ctx, plan, l) }()
	select {
	case <-stop:
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	case err := <-done:
		return err
	}
}

// pause is a latency that ends early with the context.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
