package host

import (
	"context"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/flow/local"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/store"
)

// watchGates answers for --yes and arms the deadline of every gate that opens
// from now on.
func (h *Host) watchGates(ctx context.Context) error {
	last, err := h.lastEvent(ctx)
	if err != nil {
		return err
	}
	h.work.Add(1)
	go func() {
		defer h.work.Done()
		for ev, err := range h.o.Events.Tail(h.ctx, last, event.Filter{Category: agency.CategoryGate}) {
			if err != nil {
				if h.ctx.Err() == nil {
					h.o.Log.Error("gates are no longer watched", "error", err)
				}
				return
			}
			h.seen(ev)
		}
	}()
	return nil
}

func (h *Host) lastEvent(ctx context.Context) (last int64, err error) {
	err = h.read(ctx, func(q store.Querier) error {
		last, err = event.Last(q, "")
		return err
	})
	return last, err
}

// seen takes one gate event in.
func (h *Host) seen(ev agency.Event) {
	if l := h.find(ev.RunID); l != nil {
		defer l.poke()
	}
	d, err := agency.DecodeDetail(ev)
	if err != nil {
		return
	}
	switch d := d.(type) {
	case *agency.GatePending:
		h.opened(d.Gate)
	case *agency.GateApproved:
		h.disarm(d.Gate)
	case *agency.GateRejected:
		h.disarm(d.Gate)
	}
}

// opened answers a gate where the run's --yes does, else arms its deadline.
func (h *Host) opened(id agency.GateID) {
	err := h.attend(id)
	if err != nil && h.ctx.Err() == nil {
		h.o.Log.Error("gate", "gate", id, "error", err)
		h.later(err, func() { h.opened(id) })
	}
}

func (h *Host) attend(id agency.GateID) error {
	var g agency.Gate
	var run agency.Run
	var c Copy
	err := h.read(h.ctx, func(q store.Querier) (err error) {
		if g, err = registry.Gate(q, id); err != nil {
			return err
		}
		if run, err = registry.Run(q, g.RunID); err != nil {
			return err
		}
		c, err = ReadCopy(q, g.RunID)
		return err
	})
	switch {
	case err != nil || !g.Open():
		return err
	case run.Yes && g.Kind.YesAnswers() && !g.NoYes:
		d := agency.Decision{Verb: agency.Approve, By: "--yes"}
		if err := h.record(func(tx *store.Tx) error { return decide(tx, g, d) }); agency.KindOf(err) != agency.KindConflict {
			return err
		}
		return nil // a person was faster
	}
	h.arm(g, c.gateTimeout())
	return nil
}

// rearm looks at the gates that wait when a run is taken up.
func (h *Host) rearm(ctx context.Context, run agency.Run) {
	var gates []agency.Gate
	err := h.read(ctx, func(q store.Querier) (err error) {
		gates, err = registry.OpenGates(q, run.ID)
		return err
	})
	if err != nil {
		h.o.Log.Error("gates of a run", "run", run.ID, "error", err)
	}
	for _, g := range gates {
		h.opened(g.ID)
	}
}

// decide records a decision and hands it into the run, in one transaction.
func decide(tx *store.Tx, g agency.Gate, d agency.Decision) error {
	g, err := registry.Decide(tx, g.ID, d)
	if err != nil {
		return err
	}
	if g.Kind == agency.GateFault { // opened by the host, no step waits for it
		return nil
	}
	return local.SendTo(tx, g.RunID, mode.GateSignal(g.ID), "answer/"+string(g.ID), g.Decision)
}

// arm sets the deadline of a gate: wall time, because it is a person's.
func (h *Host) arm(g agency.Gate, timeout time.Duration) {
	left := g.CreatedAt.Add(timeout).Sub(h.o.Now())
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.timers[g.ID] != nil {
		return
	}
	h.timers[g.ID] = h.o.After(max(0, left), func() { h.expire(g.ID) })
}

func (h *Host) disarm(id agency.GateID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if stop := h.timers[id]; stop != nil {
		stop()
		delete(h.timers, id)
	}
}

// expire announces that a gate's deadline passed. Nothing else happens.
func (h *Host) expire(id agency.GateID) {
	h.disarm(id)
	if err := h.record(func(tx *store.Tx) error { return registry.ExpireGate(tx, id) }); err != nil && h.ctx.Err() == nil {
		h.o.Log.Error("deadline of a gate", "gate", id, "error", err)
		h.later(err, func() { h.expire(id) })
	}
}
