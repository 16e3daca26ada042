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
	return store.Set{Name: "flow", FS: files, Blobs: []string{blobsOfJournal, blobsOfKept}}
}

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
	Fence    agency.Fence // that its writes carry
	Registry *flow.Registry
	// Version names the code, for the message of a Fault.
	Version string
	// Now is the wall clock of flow.Now; default time.Now.
	Now func() time.Time
	// Clock times timers; default the runtime's monotonic clock.
	Clock Clock
}

// Engine is flow's, over a store.
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
		o.Clock = runtimeClock{begun: time.Now()}
	}
	return &Engine{o: o, active: map[agency.RunID]bool{}}
}

type runtimeClock struct{ begun time.Time }

func (c runtimeClock) Mono() time.Duration { return time.Since(c.begun) }

func (runtimeClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Run implements flow.Engine. Another host that has taken the store is
// store.ErrFenced.
func (e *Engine) Run(ctx context.Context, run agency.RunID, main func(flow.Ctx) error, hooks flow.Hooks) error {
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
	x := newExecution(e, run, hooks)
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

// sent wakes the runs that were sent a signal.
func sent() store.Topic[agency.RunID] { return store.Topic[agency.RunID]{Name: "flow signal"} }

// Signal implements flow.Engine.
func (e *Engine) Signal(ctx context.Context, run agency.RunID, name, id string, payload []byte) error {
	return e.o.DB.WriteFenced(ctx, e.o.Fence, func(tx *store.Tx) error {
		if _, err := tx.Exec(insertSignal, string(run), id, name, string(payload)); err != nil {
			return err
		}
		store.Publish(tx, sent(), run)
		return nil
	})
}

// Delete implements flow.Engine.
func (e *Engine) Delete(ctx context.Context, runs ...agency.RunID) error {
	return e.o.DB.WriteFenced(ctx, e.o.Fence, func(tx *store.Tx) error {
		for _, run := range runs {
			for _, q := range []string{deleteJournal, deleteAllKept, deleteTimers, deleteSignals} {
				if _, err := tx.Exec(q, string(run)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// write is one durable, fenced write of a run. It is not given up when the run
// is told to stop: what it says has happened.
func (e *Engine) write(ctx context.Context, fn func(*store.Tx) error) error {
	if hook := e.seams.beforeWrite; hook != nil {
		if err := hook(); err != nil {
			return err
		}
	}
	if err := e.o.DB.WriteFenced(context.WithoutCancel(ctx), e.o.Fence, fn); err != nil {
		return err
	}
	if hook := e.seams.afterWrite; hook != nil {
		return hook()
	}
	return nil
}
