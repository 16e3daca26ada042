// Package team carries a plan out: its contracts beside each other, started while
// their lead still plans or all at once; what
// fails for good is blocked, told to the lead and planned anew once. How a
// plan is made, how one contract of it is done, and what becomes of what landed,
// is the business of others.
package team

import (
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/schedule"
)

// Input is what a team is told.
type Input struct {
	*contractrun.Shared // of the plan's contracts and their lead
	Fulfil              Fulfil
	Replan              Replan
	PlanGate            bool // a person approves of the plan before any work begins
	Dry                 bool // nobody starts anything
	Parallel            int  // contracts at work at the same time
	SharedWrites        []string
	MaxWaitingGates     int // while as many wait, no new contract starts
}

// Fulfil takes a contract of the plan to its end. A failure is the reason why it
// failed for good; the team records it.
type Fulfil func(c flow.Ctx, t *Team, a *contractrun.Run) (failure string, err error)

// Replan has a lead say what to do instead of what failed. No contracts: it
// has no better idea, or nobody wants one.
type Replan func(c flow.Ctx, t *Team, f schedule.Failure) ([]agency.Contract, error)

// Team is a plan that is carried out.
type Team struct {
	*progress
	*lead
}

// New begins a team whose lead is at its plan.
func New(in Input) *Team {
	p := &progress{in: in, Shared: in.Shared, causes: map[agency.ContractID]agency.Failure{}}
	return &Team{progress: p, lead: &lead{progress: p, plans: true}}
}

// Started tells whether its lead has started a contract.
func (t *Team) Started() bool { return t.exec != nil }

func (t *Team) work() schedule.Work {
	return schedule.Work{Fulfil: t.fulfil, Never: t.doomed, Failed: func(c flow.Ctx, f schedule.Failure) ([]agency.Contract, error) {
		more, err := t.failed(c, f)
		if err != nil {
			err = t.broke(c, err)
		}
		return more, err
	}}
}

// Execute takes the plan, with what was started of it, to the end of its contracts.
func (t *Team) Execute(c flow.Ctx, plan []agency.Contract) (schedule.Outcome, error) {
	if t.exec != nil {
		return t.goOn(c, plan)
	}
	t.plans = false
	t.knows(plan)
	if _, err := flow.Call(c, effects.CreateContracts, "contracts", t.All); err != nil {
		return schedule.Outcome{}, err
	}
	return schedule.Run(c, t.All, t.options(), t.work())
}

// fulfil takes one contract to its landing.
func (t *Team) fulfil(c flow.Ctx, contract agency.Contract, slot *schedule.Slot) (schedule.Ending, error) {
	a := contractrun.New(contract, t.Shared.Member(slot))
	failure, err := t.in.Fulfil(c, t, a)
	switch {
	case err != nil:
		return schedule.Ending{}, t.broke(c, err)
	case failure == "":
		t.Shared.Landed(contract.ID)
		t.deferChecks(contract.ID, a.Deferred())
	default:
		t.causes[contract.ID] = a.Cause(failure)
		if err := a.GiveUp(c, failure); err != nil || !a.Stopped {
			return schedule.Ending{Reason: failure}, err
		}
		t.stopping, t.stopped = failure, t.causes[contract.ID]
		return schedule.Ending{Reason: failure, Stop: true}, t.over(c, true)
	}
	return schedule.Ending{Landed: true}, t.over(c, false, contract.ID)
}

// failed blocks what depends on a contract that failed for good and asks the
// lead, once, for other contracts in their place.
func (t *Team) failed(c flow.Ctx, f schedule.Failure) ([]agency.Contract, error) {
	t.failures = append(t.failures, failure{f.Contract.ID, fmt.Sprintf("%s: %s", f.Contract.ID, f.Reason), f.Blocked, t.causes[f.Contract.ID]})
	if len(f.Blocked) > 0 {
		reason := fmt.Sprintf("%s failed, and this depends on it", f.Contract.ID)
		if _, err := flow.Call(c, effects.BlockContracts, "block", effects.Blocking{Run: t.in.Run, Contracts: f.Blocked, Reason: reason}); err != nil {
			return nil, err
		}
	}
	leads := t.plans
	if leads {
		t.untold = append(t.untold, f) // its lead hears of it in its own session
	}
	if err := t.over(c, false, append([]agency.ContractID{f.Contract.ID}, f.Blocked...)...); err != nil || leads {
		return nil, err
	}
	if t.Shared.Replanned || t.Unplanned != "" {
		return nil, nil
	}
	return t.mend(c, f)
}

// doomed records that contracts of a new plan can not start: what they depend
// on has failed while it was made.
func (t *Team) doomed(c flow.Ctx, f schedule.Failure, contracts []agency.ContractID) error {
	t.Shared.End(contracts...)
	_, err := flow.Call(c, effects.BlockContracts, contractrun.Path("never", f.Contract.ID), effects.Blocking{
		Run: t.in.Run, Contracts: contracts, Reason: "something that this depends on failed",
	})
	return err
}

// mend has the lead plan anew what a failure keeps from being done.
func (t *Team) mend(c flow.Ctx, f schedule.Failure) ([]agency.Contract, error) {
	t.Shared.Replanned = true
	more, err := t.in.Replan(c, t, f)
	if err != nil || more == nil {
		return nil, err
	}
	if err := t.replaced(c, f); err != nil {
		return nil, err
	}
	t.knows(more)
	_, err = flow.Call(c, effects.CreateContracts, "more", more)
	return more, err
}

// replaced records that other contracts stand in for a failed one and for those
// that depend on it.
func (t *Team) replaced(c flow.Ctx, f schedule.Failure) error {
	for _, id := range f.Blocked {
		step := effects.NewStep(t.in.Run, id, agency.Withdrawn{Reason: "replaced by a new plan"})
		if _, err := flow.Call(c, effects.Advance, contractrun.Path("withdraw", id), step); err != nil {
			return err
		}
	}
	// Others may have failed while this one was planned anew; they stay.
	t.failures = slices.DeleteFunc(t.failures, func(o failure) bool { return o.id == f.Contract.ID })
	return nil
}
