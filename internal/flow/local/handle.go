package local

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"agency/internal/flow"
)

// handle is an operation under way. Only the holder of the token touches it.
type handle struct {
	x     *execution
	kind  flow.OpKind // empty for a branch
	key   string
	name  string
	hash  string
	input json.RawMessage
	owner *branch
	child *branch // of a branch's handle

	settled   bool
	cancelled bool
	data      json.RawMessage
	err       error
	waiters   []*branch

	// Of a call at work.
	stop context.CancelFunc

	// Of a timer.
	wait      time.Duration
	elapsed   time.Duration // as last written
	started   time.Duration // on the clock; counted from there with elapsed
	running   bool
	persisted bool // a row exists
}

// Outcome implements flow.Handle.
func (h *handle) Outcome() (json.RawMessage, error) { return h.data, h.err }

// ready tells whether an Await may go on. A peek is ready only as long as a
// signal waits: another branch may take it first.
func (h *handle) ready() bool {
	if h.kind == flow.OpPeek {
		return len(h.x.signals[h.name]) > 0
	}
	return h.settled
}

// settle gives the result and makes those who wait for it ready.
func (h *handle) settle(data json.RawMessage, err error) {
	if h.settled {
		return
	}
	h.settled, h.data, h.err = true, data, err
	h.notify()
}

func (h *handle) notify() {
	for _, b := range h.waiters {
		h.x.enqueue(b)
	}
	h.waiters = nil
}

// Cancel implements flow.Handle. It runs on the branch that holds the token.
func (h *handle) Cancel() {
	x := h.x
	if h.settled || h.cancelled {
		return
	}
	switch {
	case h.child != nil:
		x.command(Record{Kind: KindCancel, Key: h.key})
		h.child.cancel()
	case h.kind == flow.OpCall:
		x.command(Record{Kind: KindCancel, Key: h.key})
		h.abandon()
	default:
		h.abandon()
	}
}

// abandon stops an operation whose result nobody wants any more. A call ends
// with a delivery, when its activity has stopped; the others end at once.
func (h *handle) abandon() {
	if h.settled || h.cancelled {
		return
	}
	h.cancelled = true
	x := h.x
	switch h.kind {
	case flow.OpCall:
		if h.stop != nil {
			h.stop()
		}
		return
	case flow.OpTimer:
		delete(x.timers, h.key)
		if h.persisted {
			x.timersGone = append(x.timersGone, h.key)
		}
	case flow.OpReceive:
		x.receivers[h.name] = slices.DeleteFunc(x.receivers[h.name], func(o *handle) bool { return o == h })
	case flow.OpPeek:
		x.peekers[h.name] = slices.DeleteFunc(x.peekers[h.name], func(o *handle) bool { return o == h })
		return
	}
	h.settle(nil, ErrCancelled)
}
