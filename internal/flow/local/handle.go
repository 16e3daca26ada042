package local

import (
	"encoding/json"

	"agency/internal/flow"
)

// handle is an operation under way. Only the holder of the token touches it.
type handle struct {
	x     *execution
	kind  flow.OpKind // empty for a branch
	key   string
	name  string
	child *branch // of a branch's handle
	call  *call   // of a call's
	timer *timer  // of a timer's

	settled   bool
	cancelled bool
	data      json.RawMessage
	err       error
	waiters   []*branch
}

// Outcome implements flow.Handle.
func (h *handle) Outcome() (json.RawMessage, error) { return h.data, h.err }

// ready tells whether an Await may go on. A peek is ready only as long as a
// signal waits: another branch may take it first.
func (h *handle) ready() bool {
	if h.kind == flow.OpPeek {
		return len(h.x.signals.arrived[h.name]) > 0
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
		h.x.scheduler.enqueue(b)
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
		x.scheduler.cancel(h.child)
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
	switch h.kind {
	case flow.OpCall:
		if h.call.stop != nil {
			h.call.stop()
		}
		return
	case flow.OpTimer:
		h.x.timers.drop(h.timer)
	case flow.OpReceive:
		h.x.signals.drop(h)
	case flow.OpPeek:
		h.x.signals.drop(h)
		return
	}
	h.settle(nil, ErrCancelled)
}
