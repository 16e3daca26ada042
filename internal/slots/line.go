package slots

import (
	"context"
	"slices"
	"sync"
)

// line is the waiters of a process in the order in which they came: whoever needs what an
// earlier one waits for waits behind it.
type line struct {
	mu    sync.Mutex
	all   []*waiter
	moved chan struct{} // closed and replaced when somebody came, left or gave a slot back
}

type waiter struct{ names []string }

func newLine() *line { return &line{moved: make(chan struct{})} }

func (l *line) join(names []string) *waiter {
	w := &waiter{names}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, w)
	return w
}

func (l *line) leave(w *waiter) {
	l.mu.Lock()
	l.all = slices.DeleteFunc(l.all, func(o *waiter) bool { return o == w })
	l.mu.Unlock()
	l.tell()
}

// tell has all who wait look again.
func (l *line) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.moved)
	l.moved = make(chan struct{})
}

// behind is what an earlier waiter waits for that this one needs, too; empty where it is its
// turn. Moved is closed when that may have changed.
func (l *line) behind(w *waiter) (name string, moved <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all {
		if o == w {
			break
		}
		for _, n := range o.names {
			if slices.Contains(w.names, n) {
				return n, l.moved
			}
		}
	}
	return "", l.moved
}

// Rests is what a piece of work does beside each other, such as the calls of a turn: it rests
// while all of them wait. The zero Rests tells nobody.
type Rests struct {
	// Rest is called when the last one waits that does not yet, and what it gives when one
	// works again.
	Rest func() (work func())

	mu            sync.Mutex
	busy, resting int
	work          func()
}

// Begin says that one more is at work, until end is called.
func (r *Rests) Begin() (end func()) {
	r.count(1, 0)
	return func() { r.count(-1, 0) }
}

// Wait says that one of those at work waits, until the function is called.
func (r *Rests) Wait() (work func()) {
	r.count(0, 1)
	return func() { r.count(0, -1) }
}

func (r *Rests) count(busy, resting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy, r.resting = r.busy+busy, r.resting+resting
	switch rests := r.resting > 0 && r.resting >= r.busy; {
	case r.Rest == nil || rests == (r.work != nil):
	case rests:
		r.work = r.Rest()
	default:
		r.work()
		r.work = nil
	}
}

type clockKey struct{}

// WithClock gives a context whose user is told while it waits for a slot: work that waits is
// no time at work.
func WithClock(ctx context.Context, r *Rests) context.Context {
	return context.WithValue(ctx, clockKey{}, r)
}

// stops stops the clock of a context until the function is called.
func stops(ctx context.Context) (work func()) {
	if r, ok := ctx.Value(clockKey{}).(*Rests); ok {
		return r.Wait()
	}
	return func() {}
}
