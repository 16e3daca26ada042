// Package host keeps the runs of one repository alive: it starts, pauses,
// resumes and cancels them, hands answers and messages of people into them,
// and records where each stands. It is the only writer of a run's state.
//
// What a run does is mode's business, how a step is made durable flow's; what
// a run's activities work with is built by a Shop. The host never takes up
// paid work by itself: only start, resume and an answered gate do (DESIGN 4).
// It knows no socket, no lock and no process; daemon does.
package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/event"
	"agency/internal/flow/local"
	"agency/internal/store"
)

// Shop prepares and clears what runs work with, outside of the store.
type Shop interface {
	// Prepare checks a request against the repository and makes what the run
	// needs on disk. The same request again finds its own work.
	Prepare(ctx context.Context, r api.RunRequest, c Copy) (Prepared, error)
	// Recover clears what a killed host left on disk; runs are all that there are.
	Recover(ctx context.Context, runs []agency.Run) error
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
}

// Docs gives the document of a run that answers carry.
type Docs interface {
	Doc(ctx context.Context, run agency.RunID) (api.RunDoc, error)
}

// Options are what a Host is made from.
type Options struct {
	DB     *store.DB
	Events *event.Log
	Board  *board.Board
	Engine *local.Engine
	Fence  agency.Fence // of this host's epoch
	Shop   Shop
	Docs   Docs
	Vault  *Vault
	// Version is the build that a run started here carries.
	Version string
	// Now is the wall clock, for deadlines of people; After calls f once after
	// d unless stopped. Nil: the real ones.
	Now   func() time.Time
	After func(d time.Duration, f func()) (stop func() bool)
	Log   *slog.Logger
}

// Host is the live runs of one repository. It is safe for concurrent use.
type Host struct {
	o    Options
	ctx  context.Context // of all runs; ends with Close
	stop context.CancelFunc

	mu       sync.Mutex
	live     map[agency.RunID]*live
	timers   map[agency.GateID]func() bool
	holds    map[agency.RunID]*hold
	draining int // hand-overs that were asked for
	closed   bool
	work     sync.WaitGroup
	changed  func() // told when work began or ended

	holdMoved chan struct{} // closed and replaced when holds changes
	ended     chan struct{} // a run has ended: of one
	resumes   atomic.Int64  // numbers the signals of this epoch
}

// New makes a host; nothing runs yet.
func New(o Options) *Host {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Host{
		o: o, ctx: ctx, stop: stop, changed: func() {},
		live: map[agency.RunID]*live{}, timers: map[agency.GateID]func() bool{},
		holds: map[agency.RunID]*hold{}, holdMoved: make(chan struct{}), ended: make(chan struct{}, 1),
	}
}

// OnChange calls f whenever a run began or ceased to be at work. Set it before
// the first run.
func (h *Host) OnChange(f func()) { h.changed = f }

// Open recovers what an earlier host left and begins to watch gates. Its epoch
// has been raised already.
func (h *Host) Open(ctx context.Context) error {
	if err := h.recover(ctx); err != nil {
		return err
	}
	h.work.Add(2)
	go func() {
		defer h.work.Done()
		h.keep()
	}()
	go func() {
		defer h.work.Done()
		h.retire()
	}()
	return h.watchGates(ctx)
}

// AtWork counts the runs that do something now; those that wait for a person
// do not count.
func (h *Host) AtWork() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, l := range h.live {
		if !l.isQuiet() {
			n++
		}
	}
	return n
}

// Live tells whether a run is held by this host.
func (h *Host) Live(run agency.RunID) bool { return h.find(run) != nil }

// Close stops every run where it stands and waits for all of them. Runs that
// worked are interrupted; those that waited go on waiting.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	for id, stop := range h.timers {
		stop()
		delete(h.timers, id)
	}
	h.mu.Unlock()
	h.stop()
	h.work.Wait()
}

// Cancelled is closed when a person cancels the run; nil where it is not live.
func (h *Host) Cancelled(run agency.RunID) <-chan struct{} {
	if l := h.find(run); l != nil {
		return l.cancelled
	}
	return nil
}

// Fence is the token under which a run's rows are written.
func (h *Host) Fence(agency.RunID) agency.Fence { return h.o.Fence }

func (h *Host) find(run agency.RunID) *live {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live[run]
}

// write is small and must not be lost: what a person asked, where a run stands.
func (h *Host) write(ctx context.Context, fn func(*store.Tx) error) error {
	return h.o.DB.WriteFenced(store.Needed(ctx), h.o.Fence, fn)
}

// record writes what must be written although the caller's context may have
// ended: where a run stands.
func (h *Host) record(fn func(*store.Tx) error) error {
	return h.write(context.WithoutCancel(h.ctx), fn)
}

func (h *Host) read(ctx context.Context, fn func(store.Querier) error) error {
	return h.o.DB.Read(ctx, func(s *store.Snapshot) error { return fn(s) })
}

var errDraining = agency.Errorf(agency.KindTransient, "the host hands over to a newer build").WithMend("try again")

// admit refuses new work while the host leaves.
func (h *Host) admit() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining > 0 || h.closed {
		return errDraining
	}
	return nil
}

func isStopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
