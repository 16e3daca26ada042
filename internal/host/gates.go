package host

import (
	"context"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/contractrun"
	"agency/internal/event"
	"agency/internal/flow/outbox"
	"agency/internal/registry"
	"agency/internal/store"
)

// gates answers gates for --yes and times how long they wait for a person.
type gates struct {
	rec    *records
	live   *Live
	events *event.Log

	mu      sync.Mutex
	stopped bool
	timers  map[agency.GateID]func() bool
}

// watch answers for --yes and arms the deadline of every gate that opens
// from now on.
func (g *gates) watch(ctx context.Context) error {
	last, err := store.Get(ctx, g.rec.db, event.Last, "")
	if err != nil {
		return err
	}
	g.live.work.Go(func() {
		for ev, err := range g.events.Tail(g.rec.ctx, last, event.Filter{Category: agency.CategoryGate}) {
			if err != nil {
				if g.rec.ctx.Err() == nil {
					g.rec.log.Error("gates are no longer watched", "error", err)
				}
				return
			}
			g.seen(ev)
		}
	})
	return nil
}

// seen takes one gate event in.
func (g *gates) seen(ev agency.Event) {
	if l := g.live.find(ev.RunID); l != nil {
		defer l.wake()
	}
	d, err := agency.DecodeDetail(ev)
	if err != nil {
		return
	}
	switch d := d.(type) {
	case *agency.GatePending:
		g.opened(d.Gate)
	case *agency.GateApproved:
		g.disarm(d.Gate)
	case *agency.GateRejected:
		g.disarm(d.Gate)
	}
}

// opened answers a gate where the run's --yes does, else arms its deadline.
func (g *gates) opened(id agency.GateID) {
	err := g.attend(id)
	if err != nil && g.rec.ctx.Err() == nil {
		g.rec.log.Error("gate", "gate", id, "error", err)
		g.rec.retryLater(err, func() { g.opened(id) })
	}
}

func (g *gates) attend(id agency.GateID) error {
	var gate agency.Gate
	var run agency.Run
	var c RunConfig
	err := g.rec.read(g.rec.ctx, func(q store.Querier) (err error) {
		if gate, err = registry.Gate(q, id); err != nil {
			return err
		}
		if run, err = registry.Run(q, gate.RunID); err != nil {
			return err
		}
		c, err = ReadRunConfig(q, gate.RunID)
		return err
	})
	switch {
	case err != nil || !gate.Open():
		return err
	case run.Yes && gate.Kind.YesAnswers() && !gate.NoYes:
		d := agency.Decision{Verb: agency.Approve, By: agency.ByYes}
		if err := g.rec.writeDetached(func(tx *store.Tx) error { return decide(tx, gate, d) }); agency.KindOf(err) != agency.KindConflict {
			return err
		}
		return nil // a person was faster
	}
	g.arm(gate, c.gateTimeout())
	return nil
}

// rearm looks at the gates that wait when a run is taken up.
func (g *gates) rearm(ctx context.Context, run agency.Run) {
	open, err := store.Get(ctx, g.rec.db, registry.OpenGates, run.ID)
	if err != nil {
		g.rec.log.Error("gates of a run", "run", run.ID, "error", err)
	}
	for _, one := range open {
		g.opened(one.ID)
	}
}

// decide records a decision, and that the run is to be sent it.
func decide(tx *store.Tx, g agency.Gate, d agency.Decision) error {
	d, err := granting(tx, g, d)
	if err != nil {
		return err
	}
	if g, err = registry.Decide(tx, g.ID, d); err != nil {
		return err
	}
	if g.Kind == agency.GateFault { // opened by the host, no step waits for it
		return nil
	}
	return outbox.Send(tx, g.RunID, contractrun.GateSignal(g.ID), "answer/"+string(g.ID), g.Decision)
}

// granting is a decision with the limit that it sets where it names none: the one that the
// gate told, unless what was spent or granted meanwhile is more.
func granting(q store.Querier, g agency.Gate, d agency.Decision) (agency.Decision, error) {
	if d.Verb != agency.Approve || d.BudgetUSD != 0 || g.Grant == nil || g.Grant.PlainUSD == 0 {
		return d, nil
	}
	st, err := budget.Read(q, g.RunID, g.Grant.Node)
	d.BudgetUSD = max(g.Grant.PlainUSD, st.Enough(g.Grant.Need, 0).Money.Cents().Float())
	return d, err
}

// arm sets the deadline of a gate: wall time, because it is a person's.
func (g *gates) arm(gate agency.Gate, timeout time.Duration) {
	left := gate.CreatedAt.Add(timeout).Sub(g.rec.clock.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped || g.timers[gate.ID] != nil {
		return
	}
	g.timers[gate.ID] = g.rec.clock.After(max(0, left), func() { g.expire(gate.ID) })
}

func (g *gates) disarm(id agency.GateID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if stop := g.timers[id]; stop != nil {
		stop()
		delete(g.timers, id)
	}
}

// expire announces that a gate's deadline passed. Nothing else happens.
func (g *gates) expire(id agency.GateID) {
	g.disarm(id)
	if err := g.rec.writeDetached(func(tx *store.Tx) error { return registry.ExpireGate(tx, id) }); err != nil && g.rec.ctx.Err() == nil {
		g.rec.log.Error("deadline of a gate", "gate", id, "error", err)
		g.rec.retryLater(err, func() { g.expire(id) })
	}
}

// stop times no gate any more.
func (g *gates) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	for id, stop := range g.timers {
		stop()
		delete(g.timers, id)
	}
}
