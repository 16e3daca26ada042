// Package local runs flow's runs on one machine, over the store.
//
// The branches of a run are coroutines: goroutines of which one at a time
// holds the run's token, and which are resumed in an order that depends on
// nothing but the journal. The journal is a sequence of deliveries (a result,
// a signal, a timer that fired) each followed by the commands that the
// branches gave until all of them waited again. A delivery and its commands
// are one write, made before the effects of those commands begin. Run reads
// the journal, lets the function repeat what it did, compares, and goes on
// live where the journal ends.
//
// Timers run on the host's monotonic clock while the run is executed; what
// has passed is written every so often (a tenth of the timer, one second at
// least, thirty at most) and when the run is stopped in order, so that a
// crash costs a timer at most that much.
//
// It does not decide what follows from the error that ends a run, and does
// not retry: the host does.
package local

import (
	"context"
	"embed"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the schema of journals and signals.
func Migrations() store.Set {
	return store.Set{Name: "flow", FS: files, Blobs: []string{"SELECT blob FROM flow_journal", "SELECT blob FROM flow_kept"}}
}

// Fault is flow's: the journal and the code disagree.
type Fault = flow.Fault

// Interrupt is flow's: a step could not be carried out for now.
type Interrupt = flow.Interrupt

// Clock is the host's monotonic clock; the time the machine sleeps does not
// pass on it.
type Clock interface {
	Mono() time.Duration
	// After gives a channel that receives once d has passed; stop frees it.
	After(d time.Duration) (fired <-chan time.Time, stop func())
}

// Options are what an Engine needs.
type Options struct {
	DB       *store.DB
	Registry *flow.Registry
	// Version names the code, for the message of a Fault.
	Version string
	// Now is the wall clock of flow.Now; default time.Now.
	Now func() time.Time
	// Clock times timers; default the runtime's monotonic clock.
	Clock Clock
}

// Hooks are what a run tells its host while it goes on. They are called on
// Run's goroutine.
type Hooks struct {
	// Quiet is called with true when every branch waits for signals or timers
	// only, and with false when work starts again. A run that is stopped while
	// it is quiet stays so.
	Quiet func(bool)
	// Ending is called once, when nothing more is taken up: the program has
	// ended, or the run has stopped, and what still runs is waited for.
	Ending func()
}

// Engine executes runs. Its methods may be called by any goroutine.
type Engine struct {
	o     Options
	seams seams

	mu     sync.Mutex
	active map[agency.RunID]bool
}

// seams are what tests replace.
type seams struct {
	beforeWrite, afterWrite func() error
	// looked is called after each look for signals.
	looked func()
	// choose picks the next event of a run in place of time and chance.
	choose func(*execution) (event, bool)
	// redo is a planted fault: results that were kept are ignored.
	redo bool
}

// New makes an engine.
func New(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Clock == nil {
		o.Clock = newRuntimeClock()
	}
	return &Engine{o: o, active: map[agency.RunID]bool{}}
}

type runtimeClock struct{ begun time.Time }

func newRuntimeClock() Clock { return runtimeClock{begun: time.Now()} }

func (c runtimeClock) Mono() time.Duration { return time.Since(c.begun) }

func (runtimeClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Run executes main for the run, from its journal, and returns when main has
// ended or the run cannot go on. All branches and activities have ended then.
//
//   - main's own error, or nil: the run is over; Run again gives the same.
//   - *Interrupt: a step could not be carried out; Run again goes on.
//   - *Fault: the code does not match the journal.
//   - the cause of ctx: the run was stopped; Run again goes on.
//   - KindDenied with store.ErrFenced: another host has taken the store.
//   - any other error: the store's, or a panic of main (KindInternal).
//
// Journal writes carry fence. One Run at a time for a run: KindConflict.
func (e *Engine) Run(ctx context.Context, run agency.RunID, fence agency.Fence, main func(flow.Ctx) error, hooks Hooks) error {
	e.mu.Lock()
	if e.active[run] {
		e.mu.Unlock()
		return agency.Errorf(agency.KindConflict, "run %s is being executed already", run)
	}
	e.active[run] = true
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.active, run)
	}()
	x := newExecution(e, run, fence, hooks)
	// Before the journal is read, so that no signal falls between.
	cancel := store.Subscribe(e.o.DB, sent(), func(runs []agency.RunID) {
		for _, r := range runs {
			if r == run {
				x.inbox.wake()
			}
		}
	})
	defer cancel()
	if err := x.load(ctx); err != nil {
		return err
	}
	return x.execute(ctx, main)
}
