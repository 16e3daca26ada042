// Package host keeps the runs of one repository alive: it starts, pauses,
// resumes and cancels them, hands answers and messages of people into them,
// and records where each stands. It is the only writer of a run's state.
//
// What a run does is mode's business, how a step is made durable flow's; what
// a run's activities work with is made by its resources. The host never takes up
// paid work by itself: only start, resume and an answered gate do (docs/design.md, Durable steps).
// It knows no socket, no lock and no process; daemon does.
package host

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/outbox"
	"agency/internal/llm"
	"agency/internal/session/oversight"
	"agency/internal/store"
)

// Preparer checks a request against the repository and makes what the run needs on
// disk. The same request again finds its own work.
type Preparer interface {
	Prepare(ctx context.Context, r api.RunRequest, c RunConfig) (Prepared, error)
}

// Cleaner clears what runs left outside of the tables that the host knows.
type Cleaner interface {
	// Recover clears what a killed host left on disk; runs are all that there are.
	Recover(ctx context.Context, runs []agency.Run) error
	// Finish finishes or undoes the merge that a run which is not at work had begun.
	Finish(ctx context.Context, run agency.RunID) error
	// Remove deletes the run's branch, workspaces and files; repeated, it
	// finishes what an earlier try began.
	Remove(ctx context.Context, run agency.Run) error
	// Forget deletes the rows that the run's steps kept.
	Forget(tx *store.Tx, run agency.RunID) error
}

// Prepared is what a run is pinned to.
type Prepared struct {
	Base   agency.OID
	Target string
	Branch string
	Dirty  bool     // the base holds local edits
	Tier   string   // of the sandbox that its commands run in
	Notes  []string // for people, one line each
	Images []llm.Image
}

// Settings judges with what a run may be started: whoever sends a request, what
// it says of configuration, sandbox and commands counts only where it agrees.
type Settings interface {
	Check(r api.RunRequest, c RunConfig) error
}

// Docs gives the document of a run that answers carry.
type Docs interface {
	Doc(ctx context.Context, run agency.RunID) (api.RunDoc, error)
}

// Means are what a host has beside what runs work with.
type Means interface {
	// Refresh reads anew what the user allows across runs.
	Refresh(ctx context.Context) error
	// Left is what of it may still be spent.
	Left(ctx context.Context) (budget.Allowance, error)
	// Overseer is what the model-backed overseer of a run works with.
	Overseer(ctx context.Context, run agency.RunID) (oversight.Staff, error)
	// Announcer tells people outside of the terminal what happens.
	Announcer() Announcer
}

// Announcer tells people outside of the terminal what happens in runs.
type Announcer interface {
	// Run tells it until the context ends; it holds up no run.
	Run(ctx context.Context)
	// Reach tells which places of a run cannot be reached now, a line for people each.
	Reach(ctx context.Context, run agency.RunID, c config.Config) []string
	// Forget deletes what is known of a run.
	Forget(tx *store.Tx, run agency.RunID) error
}

// silent is the Announcer of a host without one.
type silent struct{}

func (silent) Run(context.Context)                                         {}
func (silent) Reach(context.Context, agency.RunID, config.Config) []string { return nil }
func (silent) Forget(*store.Tx, agency.RunID) error                        { return nil }

// Options are what a Host is made from.
type Options struct {
	DB      *store.DB
	Fence   agency.Fence // of this host's epoch
	Events  *event.Log
	Board   *board.Board
	Engine  flow.Engine
	Live    *Live
	Starter Starter
	Cleaner Cleaner
	Docs    Docs
	Means   Means // nil: no limit across runs, no model-backed overseer, no announcements
	Clock   Clock // its zero: the real one
	Log     *slog.Logger
}

// Host is what people do with the runs of one repository. It is safe for
// concurrent use.
type Host struct {
	keeping
	choosing
	rec   *records
	stop  context.CancelFunc
	live  *Live
	gates *gates
	runs  *executor
	tidy  *maintenance
	start Starter
	docs  Docs
	means Means
	tells Announcer
}

// New makes a host; nothing runs yet.
func New(o Options) *Host {
	o.Clock = o.Clock.OrReal()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	tells := Announcer(silent{})
	if o.Means != nil {
		tells = o.Means.Announcer()
	}
	ctx, stop := context.WithCancel(context.Background())
	h := &Host{means: o.Means, tells: tells, rec: &records{db: o.DB, fence: o.Fence, ctx: ctx, clock: o.Clock, log: o.Log, relay: outbox.NewRelay(o.DB, o.Fence, o.Engine)}, stop: stop, live: o.Live, start: o.Starter, docs: o.Docs}
	h.keeping, h.choosing = keeping{h.rec}, choosing{h.rec, o.Live, o.Starter.Secrets}
	h.gates = &gates{rec: h.rec, live: o.Live, events: o.Events, timers: map[agency.GateID]func() bool{}}
	h.tidy = &maintenance{rec: h.rec, live: o.Live, board: o.Board, cleaner: o.Cleaner, tells: tells, engine: o.Engine, ended: make(chan struct{}, 1)}
	h.runs = &executor{rec: h.rec, live: o.Live, gates: h.gates, engine: o.Engine, board: o.Board, means: o.Means, ended: h.tidy.noteEnd}
	return h
}

// Open recovers what an earlier host left and begins to watch gates. Its epoch
// has been raised already.
func (h *Host) Open(ctx context.Context) error {
	if err := h.recover(ctx); err != nil {
		return err
	}
	h.live.work.Go(func() { h.rec.relay.Run(h.rec.ctx, h.rec.undelivered) })
	h.live.work.Go(h.tidy.sweepBoard)
	h.live.work.Go(h.tidy.retention)
	h.live.work.Go(func() { h.tells.Run(h.rec.ctx) })
	return h.gates.watch(ctx)
}

// Close stops every run where it stands and waits for all of them. Runs that
// worked are interrupted; those that waited go on waiting.
func (h *Host) Close() {
	h.live.close()
	h.gates.stop()
	h.stop()
	h.live.work.Wait()
}

// Clock is wall time, for deadlines of people.
type Clock struct {
	Now func() time.Time
	// After calls f once after d unless stopped.
	After func(d time.Duration, f func()) (stop func() bool)
}

// OrReal is the clock with real time where nothing else is set.
func (c Clock) OrReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return c
}

// records is the store as this host writes it.
type records struct {
	db    *store.DB
	fence agency.Fence
	ctx   context.Context // of the host; ends with it
	clock Clock
	log   *slog.Logger
	relay *outbox.Relay
}

// write is small and must not be lost: what a person asked, where a run stands.
// What a run is sent by it has reached the engine when write returns, so that
// nobody sees a run stand still that has been answered.
func (r *records) write(ctx context.Context, fn func(*store.Tx) error) error {
	if err := r.db.WriteFenced(store.Needed(ctx), r.fence, fn); err != nil {
		return err
	}
	if err := r.relay.Deliver(context.WithoutCancel(ctx)); err != nil {
		r.undelivered(err)
	}
	return nil
}

// undelivered tells that a signal stays in the outbox for now.
func (r *records) undelivered(err error) {
	r.log.Error("a signal of a run", "error", err)
	r.retryLater(err, func() {
		if err := r.relay.Deliver(r.ctx); err != nil {
			r.undelivered(err)
		}
	})
}

// writeDetached writes although the caller's context may have ended: where a run
// stands.
func (r *records) writeDetached(fn func(*store.Tx) error) error {
	return r.write(context.WithoutCancel(r.ctx), fn)
}

func (r *records) read(ctx context.Context, fn func(store.Querier) error) error {
	return r.db.Read(ctx, func(s *store.Snapshot) error { return fn(s) })
}

// retryLater does once more, in a while, what a full disk refused.
func (r *records) retryLater(err error, do func()) {
	if !store.IsFull(err) {
		return
	}
	r.clock.After(lastRetry, func() {
		if r.ctx.Err() == nil {
			do()
		}
	})
}

// sleep waits for d, or until early; it tells whether the context lives.
func (r *records) sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	rang := make(chan struct{})
	stop := r.clock.After(d, func() { close(rang) })
	defer stop()
	select {
	case <-rang:
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

var errDraining = agency.Errorf(agency.KindTransient, "the host hands over to a newer build").WithMend("try again")

func isStopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
