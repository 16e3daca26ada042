package flow

import (
	"context"

	"agency/internal/agency"
)

// Engine executes runs durably, of one host. Its methods may be called by any
// goroutine. flow/local is the engine on one machine; flow/flowtest is the suite
// that every engine passes.
type Engine interface {
	// Run executes main for the run, from its journal, and returns when main has
	// ended or the run cannot go on. All branches and activities have ended then.
	//
	//   - main's own error, or nil: the run is over; Run again gives the same.
	//   - *Interrupt: a step could not be carried out; Run again goes on.
	//   - *Fault: the code does not match the journal.
	//   - the cause of ctx: the run was stopped; Run again goes on.
	//   - KindDenied: another host has taken over what the engine keeps.
	//   - any other error: the engine's own, or a panic of main (KindInternal).
	//
	// One Run at a time for a run: KindConflict.
	Run(ctx context.Context, run agency.RunID, main func(Ctx) error, hooks Hooks) error
	// Signal adds a signal to a run, whether or not it is at work. It is durable
	// when Signal returns. id is the sender's: the same id again changes nothing.
	Signal(ctx context.Context, run agency.RunID, name, id string, payload []byte) error
	// Delete removes all that is kept of runs, of which none may be at work.
	Delete(ctx context.Context, runs ...agency.RunID) error
}

// Hooks are what a run tells its host while it goes on. They are called on
// Run's goroutine.
type Hooks struct {
	// Quiet is called with true when every branch waits for signals or timers
	// only, or for an activity that rests, and with false when work starts again. A run that is stopped while
	// it is quiet stays so.
	Quiet func(bool)
	// Ending is called once, when nothing more is taken up: the program has
	// ended, or the run has stopped, and what still runs is waited for.
	Ending func()
}
