package schedule

import (
	"agency/internal/agency"
	"agency/internal/flow"
)

// Executor carries out contracts as they come, on a branch of its own, until it
// is closed and nothing more can start. It belongs to the run's branches, of
// which one at a time is at work: what one of them changes here is journaled by
// the note that has the executor look.
type Executor struct {
	x    *executor
	done flow.Future[flow.None]
}

// Open starts an executor that has nothing to do yet.
func Open(c flow.Ctx, key string, o Options, w Work) *Executor {
	x := newExecutor(nil, o, w)
	x.open = true
	return &Executor{x: x, done: flow.Go(c, key, x.run)}
}

// Add hands contracts over. What they depend on is among them or was handed
// over before. Those that depend on what can no longer be complete are named:
// they never start.
func (e *Executor) Add(c flow.Ctx, key string, contracts []agency.Contract) (never []agency.ContractID, err error) {
	e.x.know(contracts)
	never = e.x.queue.Add(contracts)
	e.x.outcome.Blocked = append(e.x.outcome.Blocked, never...)
	return never, e.look(c, key)
}

// Withhold keeps a contract that has not begun from beginning until Amend; it
// tells whether it could.
func (e *Executor) Withhold(id agency.ContractID) bool { return e.x.queue.Withhold(id) }

// Amend gives a withheld contract other words. Where it depends now on what can
// no longer be complete, it and what depends on it never start, and are named.
func (e *Executor) Amend(c flow.Ctx, key string, contract agency.Contract) (never []agency.ContractID, err error) {
	e.x.know([]agency.Contract{contract})
	never = e.x.queue.Amend(contract)
	e.x.outcome.Blocked = append(e.x.outcome.Blocked, never...)
	return never, e.look(c, key)
}

// Ahead says what keeps a contract from beginning.
func (e *Executor) Ahead(id agency.ContractID) Ahead { return e.x.queue.Ahead(id) }

// Alive tells whether a contract is complete or may still be.
func (e *Executor) Alive(id agency.ContractID) bool { return e.x.queue.alive(id) }

// Close says that nothing more comes.
func (e *Executor) Close(c flow.Ctx, key string) error {
	e.x.open = false
	return e.look(c, key)
}

// Wait is the end of a closed executor.
func (e *Executor) Wait(c flow.Ctx) (Outcome, error) {
	_, err := e.done.Get(c)
	return e.x.outcome, err
}

func (e *Executor) look(c flow.Ctx, key string) error {
	return poke(c, key, e.x.o.Run, notes(e.x.o.Of), note{Look: true})
}

// Wake sends a signal without words into the run that calls it.
func Wake(c flow.Ctx, key string, run agency.RunID, s flow.Signal[flow.None]) error {
	return poke(c, key, run, s, flow.None{})
}
