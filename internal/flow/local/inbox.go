package local

import "sync"

// event is something that has come and is not delivered yet.
type event struct {
	h       *handle // a call's or a timer's
	fired   bool    // the timer's
	signal  *Record
	kept    *Record
	out     []byte
	err     error
	stopped bool // the activity's context had ended
}

// inbox collects what activities and senders bring.
type inbox struct {
	mu     sync.Mutex
	events []event
	woken  bool            // signals may have come
	rests  map[*handle]int // how often each activity rests now
	notify chan struct{}
}

func newInbox() *inbox {
	return &inbox{notify: make(chan struct{}, 1), woken: true, rests: map[*handle]int{}}
}

// rest notes that an activity rests.
func (in *inbox) rest(h *handle) (work func()) {
	add := func(n int) {
		in.mu.Lock()
		in.rests[h] += n
		if in.rests[h] == 0 {
			delete(in.rests, h)
		}
		in.mu.Unlock()
		in.ring()
	}
	add(1)
	return func() { add(-1) }
}

// resting is how many activities rest.
func (in *inbox) resting() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.rests)
}

// ended forgets that an activity rested.
func (in *inbox) ended(h *handle) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.rests, h)
}

func (in *inbox) put(evs ...event) {
	in.mu.Lock()
	in.events = append(in.events, evs...)
	in.mu.Unlock()
	in.ring()
}

// wake says that there are signals to be read.
func (in *inbox) wake() {
	in.mu.Lock()
	in.woken = true
	in.mu.Unlock()
	in.ring()
}

func (in *inbox) ring() {
	select {
	case in.notify <- struct{}{}:
	default:
	}
}

func (in *inbox) take() (ev event, ok, woken bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	woken = in.woken
	in.woken = false
	if len(in.events) > 0 {
		ev, ok = in.events[0], true
		in.events = in.events[1:]
	}
	return ev, ok, woken
}
