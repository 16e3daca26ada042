package schedule

import (
	"fmt"

	"agency/internal/agency"
	"agency/internal/flow"
)

// Ending is how the work on a contract ended: landed, or why it failed for
// good. Stop ends the whole run with that reason, whatever else is at work.
type Ending struct {
	Landed bool
	Reason string
	Stop   bool
}

// Failure is a contract that failed for good, and what can never start now.
type Failure struct {
	Contract agency.Contract
	Reason   string
	Blocked  []agency.ContractID
}

// Work is what the executor does not know. Each is called on a branch of the
// run and follows the rules of flow.
type Work struct {
	// Fulfil takes one contract to its end. A slot given back is asked for again
	// before work goes on.
	Fulfil func(c flow.Ctx, contract agency.Contract, slot *Slot) (Ending, error)
	// Failed records a failure with what it blocks, and may mend the plan: the
	// contracts that it returns are added. Other work goes on meanwhile.
	Failed func(c flow.Ctx, f Failure) ([]agency.Contract, error)
	// Never records which contracts that Failed returned can not start, since what
	// they depend on has failed meanwhile.
	Never func(c flow.Ctx, f Failure, contracts []agency.ContractID) error
}

// Options are those of a run.
type Options struct {
	Run agency.RunID
	// Of is the contract that the plan carries out; empty: the run's goal. A run has
	// one executor at a time for each.
	Of agency.ContractID
	Limits
	// MaxWaiting is how many contracts may wait for a person before no new one
	// starts; 0 is any number.
	MaxWaiting int
}

// Outcome counts how a plan ended; Stopped is the reason where it was stopped
// before its end.
type Outcome struct {
	Landed, Failed, Blocked []agency.ContractID
	Stopped                 string
}

// Run carries out a plan: it returns when nothing more can start and nothing
// is at work. An error is the run's, not a contract's.
func Run(c flow.Ctx, plan []agency.Contract, o Options, w Work) (Outcome, error) {
	x := newExecutor(plan, o, w)
	err := x.run(c)
	return x.outcome, err
}

// branch is a part of the run that the executor waits for.
type branch struct {
	done flow.Future[flow.None]
	end  func(flow.Ctx) error // what its end means
}

type executor struct {
	o         Options
	work      Work
	queue     *Queue
	contracts map[agency.ContractID]agency.Contract
	branches  []branch // in the order of their start
	heard     int
	waiting   map[agency.ContractID]bool // for a person
	open      bool                       // more contracts may come
	outcome   Outcome
}

func newExecutor(plan []agency.Contract, o Options, w Work) *executor {
	x := &executor{o: o, work: w, queue: NewQueue(plan, o.Limits), contracts: map[agency.ContractID]agency.Contract{}}
	x.know(plan)
	return x
}

func (x *executor) run(c flow.Ctx) error {
	for x.outcome.Stopped == "" {
		if err := x.start(c); err != nil {
			return err
		}
		if len(x.branches) == 0 && !x.open {
			break
		}
		if err := x.hear(c); err != nil {
			return err
		}
	}
	if left := x.queue.left(); len(left) > 0 && x.outcome.Stopped == "" {
		// Nothing is ever claimed that was not done.
		return agency.Errorf(agency.KindInternal, "the plan is at its end, and these were forgotten: %v", left)
	}
	return nil
}

func (x *executor) know(plan []agency.Contract) {
	for _, contract := range plan {
		x.contracts[contract.ID] = contract
	}
}

// start gives out the free slots.
func (x *executor) start(c flow.Ctx) error {
	x.queue.Hold(x.o.MaxWaiting > 0 && len(x.waiting) >= x.o.MaxWaiting)
	for _, s := range x.queue.Next() {
		if s.Again {
			key := fmt.Sprintf("slot/grant/%d/%s", x.heard, s.ID)
			if err := poke(c, key, x.o.Run, granted(s.ID), flow.None{}); err != nil {
				return err
			}
			continue
		}
		x.begin(c, x.contracts[s.ID])
	}
	return nil
}

func (x *executor) begin(c flow.Ctx, contract agency.Contract) {
	var end Ending
	done := flow.Go(c, "contract/"+string(contract.ID), func(c flow.Ctx) (err error) {
		end, err = x.work.Fulfil(c, contract, &Slot{run: x.o.Run, notes: notes(x.o.Of), id: contract.ID})
		return err
	})
	x.branches = append(x.branches, branch{done, func(c flow.Ctx) error { return x.ended(c, contract, end) }})
}

// hear waits for the next thing that happens.
func (x *executor) hear(c flow.Ctx) error {
	cases := make([]flow.Case, 0, len(x.branches)+1)
	for _, b := range x.branches {
		cases = append(cases, flow.OnFuture(b.done))
	}
	x.heard++
	key := fmt.Sprintf("schedule/%d", x.heard)
	chosen, err := flow.Select(c, key, append(cases, flow.OnSignal(notes(x.o.Of)))...)
	if err != nil {
		return err
	}
	if chosen == len(x.branches) {
		return x.noted(c, key)
	}
	b := x.branches[chosen]
	x.branches = append(x.branches[:chosen:chosen], x.branches[chosen+1:]...)
	if _, err := b.done.Get(c); err != nil {
		return err
	}
	return b.end(c)
}

func (x *executor) noted(c flow.Ctx, key string) error {
	n, err := flow.Receive(c, notes(x.o.Of), key+"/note")
	if err != nil {
		return err
	}
	switch {
	case n.Look:
		return nil
	case n.Back:
		delete(x.waiting, n.Contract)
		x.queue.Unpark(n.Contract)
		return nil
	case len(n.Widen) > 0:
		x.queue.Widen(n.Contract, n.Widen)
		return nil
	case n.Narrow:
		x.queue.Narrow(n.Contract)
		return nil
	case n.Human:
		if x.waiting == nil {
			x.waiting = map[agency.ContractID]bool{}
		}
		x.waiting[n.Contract] = true
	}
	x.queue.Park(n.Contract)
	return nil
}

// ended records how a contract ended. What a failure means for the plan is
// found out beside the work that goes on.
func (x *executor) ended(c flow.Ctx, contract agency.Contract, end Ending) error {
	delete(x.waiting, contract.ID)
	if end.Stop {
		x.outcome.Stopped = end.Reason
		return nil
	}
	if end.Landed {
		x.outcome.Landed = append(x.outcome.Landed, contract.ID)
		x.queue.Complete(contract.ID)
		return nil
	}
	f := Failure{Contract: contract, Reason: end.Reason, Blocked: x.queue.Fail(contract.ID)}
	x.outcome.Failed = append(x.outcome.Failed, contract.ID)
	x.outcome.Blocked = append(x.outcome.Blocked, f.Blocked...)
	var more []agency.Contract
	done := flow.Go(c, "failed/"+string(contract.ID), func(c flow.Ctx) (err error) {
		more, err = x.work.Failed(c, f)
		return err
	})
	x.branches = append(x.branches, branch{done, func(c flow.Ctx) error {
		if never := x.mended(more); len(never) > 0 {
			return x.work.Never(c, f, never)
		}
		return nil
	}})
	return nil
}

// mended takes a new plan's contracts in: those that were blocked are not any
// more. Those that can never start are named.
func (x *executor) mended(more []agency.Contract) (never []agency.ContractID) {
	x.know(more)
	never = x.queue.Add(more)
	x.outcome.Blocked = append(x.outcome.Blocked, never...)
	still := x.outcome.Blocked[:0]
	for _, id := range x.outcome.Blocked {
		if !x.queue.alive(id) {
			still = append(still, id)
		}
	}
	x.outcome.Blocked = still
	return never
}
