package host

import (
	"context"
	"sync"

	"agency/internal/agency"
)

// Live are the runs that a host holds now. It is made before the host, for those
// who ask for a run while it works. It is safe for concurrent use.
type Live struct {
	mu       sync.Mutex
	runs     map[agency.RunID]*live
	pending  map[agency.RunID]*pendingRecord
	draining int // hand-overs that were asked for
	closed   bool
	work     sync.WaitGroup // all that the host has begun
	changed  func()         // told when work began or ended
	copies   map[agency.RunID]int

	pendingMoved chan struct{} // closed and replaced when pending changes
}

// NewLive makes a Live without runs.
func NewLive() *Live {
	return &Live{
		runs: map[agency.RunID]*live{}, pending: map[agency.RunID]*pendingRecord{}, copies: map[agency.RunID]int{}, pendingMoved: make(chan struct{}), changed: func() {},
	}
}

// OnChange calls f whenever a run began or ceased to be at work. Set it before
// the first run.
func (v *Live) OnChange(f func()) { v.changed = f }

// AtWork counts the runs that do something now; those that wait for a person
// do not count.
func (v *Live) AtWork() int { return len(v.working()) }

// working are the runs that do something now.
func (v *Live) working() (out []*live) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.runs {
		if !l.isQuiet() {
			out = append(out, l)
		}
	}
	return out
}

// Has tells whether a run is held by this host.
func (v *Live) Has(run agency.RunID) bool { return v.find(run) != nil }

// Cancelled is done when a person cancels the run; never where it is not live.
func (v *Live) Cancelled(run agency.RunID) context.Context {
	if l := v.find(run); l != nil {
		return l.cancelled
	}
	return context.Background()
}

// Copies counts how often a person has changed what the run keeps while this host lives.
func (v *Live) Copies(run agency.RunID) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.copies[run]
}

func (v *Live) copied(run agency.RunID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.copies[run]++
}

func (v *Live) find(run agency.RunID) *live {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.runs[run]
}

// admit refuses new work while the host leaves.
func (v *Live) admit() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.draining > 0 || v.closed {
		return errDraining
	}
	return nil
}

// drain counts a hand-over in, or with -1 out, and gives how many there are.
func (v *Live) drain(n int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.draining += n
	return v.draining
}

// add holds a run and has f drive it, unless it is live already.
func (v *Live) add(l *live, f func()) (added bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.closed, v.draining > 0:
		return false, errDraining
	case v.runs[l.run.ID] != nil:
		return false, nil
	}
	v.runs[l.run.ID] = l
	v.work.Go(f)
	return true, nil
}

// held is a run whose record is held back, and how; nil where it is not.
func (v *Live) held(run agency.RunID) (*pendingRecord, *live) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pending[run], v.runs[run]
}

// remove lets go of a run of which nothing is left.
func (v *Live) remove(l *live) {
	v.mu.Lock()
	delete(v.runs, l.run.ID)
	v.mu.Unlock()
	close(l.done)
}

// close refuses all work from now on.
func (v *Live) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
}

// live is one run that this host holds.
type live struct {
	run       agency.Run
	stop      context.CancelFunc
	cancelled context.Context // done when a person cancels
	cancel    context.CancelFunc
	done      chan struct{} // closed when nothing of it is left
	kick      chan struct{} // its state may have changed

	mu     sync.Mutex
	quiet  bool
	moved  chan struct{} // closed and replaced when quiet changes
	ending bool          // the engine has let go, what remains is to record it
}

func newLive(run agency.Run, stop context.CancelFunc) *live {
	cancelled, cancel := context.WithCancel(context.Background())
	return &live{
		run: run, stop: stop, cancelled: cancelled, cancel: cancel, done: make(chan struct{}),
		kick: make(chan struct{}, 1), moved: make(chan struct{}),
	}
}

func (l *live) isQuiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quiet
}

func (l *live) setQuiet(q bool) {
	l.mu.Lock()
	l.quiet = q
	close(l.moved)
	l.moved = make(chan struct{})
	l.mu.Unlock()
	l.wake()
}

func (l *live) setEnding() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = true
}

func (l *live) isEnding() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ending
}

// waitIdle waits until nothing of the run is at work.
func (l *live) waitIdle(ctx context.Context) error {
	for {
		l.mu.Lock()
		quiet, moved := l.quiet, l.moved
		l.mu.Unlock()
		if quiet {
			return nil
		}
		select {
		case <-moved:
		case <-l.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wake asks for a look at the run's state; looks that come close together are
// one.
func (l *live) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

func (l *live) wasCancelled() bool { return l.cancelled.Err() != nil }

// A run that has left the engine on a full disk is held: where it stands is
// known here and not yet written. Its followers are told at once, lookers are
// told the same, and the write is tried again until there is room or a person
// resumes or cancels the run.
type pendingRecord struct {
	cause error // for people: the disk and what mends it
	retry chan chan error
}

// setPending changes what is known of a run that is held and tells those who wait
// for it.
func (v *Live) setPending(id agency.RunID, held *pendingRecord) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if held == nil {
		delete(v.pending, id)
	} else {
		v.pending[id] = held
	}
	close(v.pendingMoved)
	v.pendingMoved = make(chan struct{})
}

// Held is why the record of a run does not say where it stands; nil where it
// does.
func (v *Live) Held(id agency.RunID) error {
	_, cause := v.pendingCause(id)
	return cause
}

// pendingCause also gives a channel that is closed when any such record changes.
func (v *Live) pendingCause(id agency.RunID) (moved <-chan struct{}, cause error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if held := v.pending[id]; held != nil {
		cause = held.cause
	}
	return v.pendingMoved, cause
}

// Following gives a context for one who follows a run: it ends, with the
// cause, while the run is held, because no event can tell of that.
func (v *Live) Following(ctx context.Context, id agency.RunID) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			moved, cause := v.pendingCause(id)
			if cause != nil {
				cancel(cause)
				return
			}
			select {
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
