package daemon

import (
	"sync"
	"time"
)

// idle tells when a host may leave: for a while no client was connected and no
// run was at work. A run that waits for a person is not at work.
type idle struct {
	after  time.Duration // 0: never
	atWork func() int
	over   chan struct{} // closed when the host may leave

	order    sync.Mutex // held while the host is asked and the clock is set by its answer
	mu       sync.Mutex
	requests int
	conns    int
	leaving  bool
	timer    *time.Timer
	closed   bool
	once     sync.Once
}

func newIdle(after time.Duration, atWork func() int) *idle {
	return &idle{after: after, atWork: atWork, over: make(chan struct{})}
}

// begin counts a request until end is called.
func (i *idle) begin() (end func()) {
	i.mu.Lock()
	i.requests++
	i.mu.Unlock()
	i.update()
	return func() {
		i.mu.Lock()
		i.requests--
		leave := i.leaving && i.requests == 0
		i.mu.Unlock()
		if leave {
			i.finish()
		}
		i.update()
	}
}

// connections is told how many clients are connected.
func (i *idle) connections(n int) {
	i.mu.Lock()
	i.conns = n
	i.mu.Unlock()
	i.update()
}

// leave makes the host leave as soon as no request is in flight.
func (i *idle) leave() {
	i.mu.Lock()
	i.leaving = true
	i.mu.Unlock()
}

// update starts or stops the clock by what goes on now.
func (i *idle) update() {
	i.order.Lock() // an answer that is acted on late would stop a clock that nobody starts again
	defer i.order.Unlock()
	working := i.atWork() // before the lock: it has one of its own
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || i.after == 0 {
		return
	}
	switch busy := working > 0 || i.requests > 0 || i.conns > 0; {
	case busy && i.timer != nil:
		i.timer.Stop()
		i.timer = nil
	case !busy && i.timer == nil:
		i.timer = time.AfterFunc(i.after, i.expired)
	}
}

// expired looks once more: something may have begun while the clock rang.
func (i *idle) expired() {
	i.order.Lock()
	defer i.order.Unlock()
	working := i.atWork()
	i.mu.Lock()
	i.timer = nil
	busy := working > 0 || i.requests > 0 || i.conns > 0
	i.mu.Unlock()
	if busy {
		return
	}
	i.finish()
}

func (i *idle) finish() { i.once.Do(func() { close(i.over) }) }

func (i *idle) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}
