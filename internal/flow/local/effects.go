package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

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
	mu     *sync.Mutex
	events []event
	woken  bool // signals may have come
	notify chan struct{}
}

func newInbox() inbox { return inbox{mu: &sync.Mutex{}, notify: make(chan struct{}, 1), woken: true} }

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

// poll takes an event that is there already, or a timer that is due.
func (x *execution) poll(ctx context.Context) (event, bool) {
	ev, ok, woken := x.inbox.take()
	for woken {
		if err := x.readSignals(ctx); err != nil {
			x.inbox.wake() // not lost: read by the next Run, which begins with it
			if ctx.Err() == nil {
				x.halt(err)
			}
			break
		}
		if look := x.e.seams.looked; look != nil {
			look()
		}
		woken = false
		if !ok { // more may have come since the look: that must not be forgotten
			ev, ok, woken = x.inbox.take()
		}
	}
	if !ok {
		if h := x.due(); h != nil {
			return event{h: h, fired: true}, true
		}
	}
	return ev, ok
}

// wait blocks until there is an event; false when the run must stop.
func (x *execution) wait(ctx context.Context) (event, bool) {
	if x.e.seams.choose != nil {
		ev, ok := x.e.seams.choose(x)
		if !ok {
			x.halt(context.Canceled)
		}
		return ev, ok
	}
	for {
		ev, ok := x.poll(ctx)
		if x.halted != nil {
			return event{}, false
		}
		if ok {
			x.setQuiet(false)
			return ev, true
		}
		if x.stuck() {
			x.mismatch("", "every branch waits for another: nothing can come")
			return event{}, false
		}
		x.setQuiet(x.inflight == 0)
		timer, stop := x.alarm()
		select {
		case <-x.inbox.notify:
		case <-timer:
			if err := x.saveTimers(false); err != nil {
				x.halt(err)
			}
		case <-ctx.Done():
			x.halt(context.Cause(ctx))
		}
		stop()
	}
}

func (x *execution) stuck() bool {
	if x.inflight > 0 || len(x.timers) > 0 {
		return false
	}
	for _, m := range []map[string][]*handle{x.receivers, x.peekers} {
		for _, hs := range m {
			if len(hs) > 0 {
				return false
			}
		}
	}
	return true
}

// apply turns an event into a delivery.
func (x *execution) apply(ev event) {
	var r Record
	switch {
	case ev.signal != nil:
		r = *ev.signal
	case ev.fired:
		r = Record{Kind: KindFired, Key: ev.h.key}
	default:
		x.inflight--
		var reason error
		if r, reason = x.result(ev); reason != nil {
			x.halt(reason)
			return
		}
	}
	x.pending = append(x.pending, r)
	x.deliver(r)
}

// result is what a call's end is journaled as, or why it is not.
func (x *execution) result(ev event) (Record, error) {
	h := ev.h
	r := Record{Kind: KindDone, Key: h.key}
	switch {
	case h.cancelled:
		r.Error = &Failure{Kind: agency.KindConflict.String(), Text: ErrCancelled.Error(), Cancelled: true}
	case ev.kept != nil:
		r = *ev.kept
	case ev.err == nil:
		if r.Data = x.e.o.DB.Redact(ev.out); !json.Valid(r.Data) {
			r.Data = nil
			r.Error = &Failure{Kind: agency.KindInternal.String(), Text: "the redacted result of " + h.name + " is no JSON"}
		}
	case interrupts(ev) && x.ctx.Err() != nil:
		return r, context.Cause(x.ctx) // the stop of the run has ended the step: it is no fault of the step
	case interrupts(ev):
		return r, &flow.Interrupt{Key: x.stepKey(h), Err: ev.err}
	default:
		r.Error = failureOf(ev.err)
		r.Error.Text = string(x.e.o.DB.Redact([]byte(r.Error.Text)))
		r.Error.Mend = string(x.e.o.DB.Redact([]byte(r.Error.Mend)))
	}
	return r, nil
}

// interrupts tells whether an activity's error says that it has no result
// yet, rather than that this is its result.
func interrupts(ev event) bool {
	return ev.stopped || agency.KindOf(ev.err) == agency.KindTransient ||
		errors.Is(ev.err, context.Canceled) || errors.Is(ev.err, flow.ErrPanic) || errors.Is(ev.err, store.ErrFenced) ||
		store.IsFull(ev.err)
}

func (x *execution) stepKey(h *handle) agency.StepKey {
	return agency.StepKey(string(x.run) + "/" + h.key)
}

// launch begins the effects whose commands are durable.
func (x *execution) launch() {
	for _, h := range x.unlaunched {
		if h.settled {
			continue
		}
		x.inflight++
		kept, ok := x.kept[h.key]
		switch {
		case h.cancelled:
			x.inbox.put(event{h: h})
		case ok && kept.hash == h.hash && !x.e.seams.redo:
			x.inbox.put(event{h: h, kept: &kept.rec})
		default:
			x.carryOut(h)
		}
	}
	x.unlaunched = nil
	now := x.e.o.Clock.Mono()
	for _, h := range x.timers {
		if !h.running {
			h.running, h.started = true, now
		}
	}
}

// carryOut runs the activity of a call.
func (x *execution) carryOut(h *handle) {
	ctx, stop := context.WithCancel(x.ctx)
	h.stop = stop
	key, name, input := x.stepKey(h), h.name, h.input
	ctx = flow.WithScope(ctx, flow.Scope{Run: x.run, Key: key, Fence: x.fence})
	x.joined.Add(1)
	go func() {
		defer x.joined.Done()
		defer stop()
		ev := event{h: h, err: flow.ErrPanic} // stays when the activity ends its goroutine
		defer func() { x.inbox.put(ev) }()
		ev.out, ev.err = x.e.o.Registry.Invoke(ctx, name, key, input)
		ev.stopped = ctx.Err() != nil
	}()
}

// passed is how much of a timer has passed.
func (h *handle) passed(now time.Duration) time.Duration {
	if !h.running {
		return h.elapsed
	}
	return h.elapsed + now - h.started
}

// due is the timer that has passed its end by most; the key decides ties.
func (x *execution) due() *handle {
	now := x.e.o.Clock.Mono()
	var first *handle
	for _, h := range x.timers {
		if !h.running || h.passed(now) < h.wait {
			continue
		}
		if first == nil || cmp.Or(cmp.Compare(h.wait-h.passed(now), first.wait-first.passed(now)), cmp.Compare(h.key, first.key)) < 0 {
			first = h
		}
	}
	return first
}

// alarm rings when the next timer is due or its progress is to be written.
func (x *execution) alarm() (<-chan time.Time, func()) {
	if len(x.timers) == 0 {
		return nil, func() {}
	}
	now := x.e.o.Clock.Mono()
	next := time.Duration(1<<63 - 1)
	for _, h := range x.timers {
		next = min(next, h.wait-h.passed(now), x.saved+saveEvery(h.wait)-now)
	}
	return x.e.o.Clock.After(max(next, 0))
}

// saveEvery is how much of a timer a crash may cost.
func saveEvery(wait time.Duration) time.Duration {
	return min(max(wait/10, time.Second), 30*time.Second)
}

// sortedTimers are in the order of their keys, so that writes are repeatable.
func (x *execution) sortedTimers() []*handle {
	hs := make([]*handle, 0, len(x.timers))
	for _, h := range x.timers {
		hs = append(hs, h)
	}
	slices.SortFunc(hs, func(a, b *handle) int { return cmp.Compare(a.key, b.key) })
	return hs
}
