package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

// execution is one Run of a run, put together from its parts. All of it belongs
// to the holder of the token: Run's goroutine, or the branch that it has resumed.
type execution struct {
	e      *Engine
	run    agency.RunID
	hooks  flow.Hooks
	quiet  bool  // as the host was told
	halted error // why it stops

	inbox     *inbox
	journal   *journal
	scheduler *scheduler
	calls     *calls
	timers    *timers
	signals   *signals
}

func newExecution(e *Engine, run agency.RunID, hooks flow.Hooks) *execution {
	in := newInbox()
	return &execution{
		e: e, run: run, hooks: hooks, inbox: in, scheduler: &scheduler{},
		journal: &journal{e: e, run: run, keys: map[string]bool{}},
		calls:   &calls{e: e, run: run, inbox: in, all: map[string]*handle{}, kept: map[string]keptResult{}},
		timers:  &timers{e: e, run: run, open: map[string]*timer{}, elapsed: map[string]time.Duration{}},
		signals: &signals{
			run: run, arrived: map[string][]json.RawMessage{}, receivers: map[string][]*handle{}, peekers: map[string][]*handle{}, delivered: map[string]bool{},
		},
	}
}

// load reads what is known of the run.
func (x *execution) load(ctx context.Context) error {
	return x.e.o.DB.Read(ctx, func(s *store.Snapshot) error {
		for _, part := range []func(*store.Snapshot) error{x.journal.load, x.calls.load, x.timers.load} {
			if err := part(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// errOffline ends a comparison whose history the code has matched.
var errOffline = errors.New("end of the history")

// execute is the life of a Run.
func (x *execution) execute(ctx context.Context, main func(flow.Ctx) error) error {
	x.calls.ctx, x.calls.stop = context.WithCancel(ctx)
	defer x.calls.stop()
	x.timers.saved = x.e.o.Clock.Mono()
	root := x.newBranch(nil, "", func(b flow.Backend) error { return main(flow.NewCtx(x.run, b)) })
	x.loop(ctx, root)
	if x.hooks.Ending != nil {
		x.hooks.Ending()
	}
	x.calls.stop()
	x.scheduler.unwind()
	x.calls.joined.Wait()
	if x.halted == nil {
		return root.err
	}
	if !x.journal.offline && !errors.Is(x.halted, store.ErrFenced) {
		// What was paid for is not lost; if even this cannot be written, the
		// steps run again, which they are made for.
		if x.calls.keep(ctx, x.journal.pending) == nil {
			_ = x.timers.save(ctx, true)
		}
	}
	return x.halted
}

// maxUnwritten bounds what several deliveries at once collect for one write.
const maxUnwritten = 64

func (x *execution) loop(ctx context.Context, root *branch) {
	for {
		x.scheduler.tick(func() bool { return x.halted == nil })
		if x.halted != nil || x.over(ctx, root) {
			return
		}
		if ctx.Err() != nil {
			x.halt(context.Cause(ctx))
			return
		}
		if r := x.journal.next(); r != nil {
			x.replay(*r)
			continue
		}
		x.journal.recorded = false
		if x.journal.offline {
			x.halt(errOffline)
			return
		}
		if !x.next(ctx) {
			return
		}
	}
}

// next delivers one event, writing the journal and starting effects before it
// waits.
func (x *execution) next(ctx context.Context) bool {
	if len(x.journal.pending) < maxUnwritten && x.e.seams.choose == nil {
		if ev, ok := x.poll(ctx); ok {
			x.apply(ev)
			return true
		}
	}
	if err := x.flush(ctx); err != nil {
		x.halt(err)
		return false
	}
	x.calls.launch()
	x.timers.launch()
	ev, ok := x.wait(ctx)
	if ok {
		x.apply(ev)
	}
	return ok
}

// over ends the run when its function has returned.
func (x *execution) over(ctx context.Context, root *branch) bool {
	if !root.over {
		return false
	}
	if _, detail := x.journal.match(Record{Kind: KindEnd, Error: failureOf(root.err)}); detail != "" {
		x.halt(x.journal.fault("", detail))
	} else if r := x.journal.next(); r != nil {
		x.halt(x.journal.fault(r.Key, fmt.Sprintf("the code has ended, the journal goes on with %s", r)))
	} else if !x.journal.offline {
		if err := x.flush(ctx); err != nil {
			x.halt(err)
		}
	}
	return true
}

// flush makes what the run has done durable.
func (x *execution) flush(ctx context.Context) error {
	records := x.journal.pending
	if len(records) == 0 {
		return nil
	}
	err := x.journal.flush(ctx, func(tx *store.Tx) error {
		if err := x.calls.journaled(tx, records); err != nil {
			return err
		}
		return x.timers.journaled(tx)
	})
	if err == nil {
		x.timers.gone, x.timers.fired = nil, nil
	}
	return err
}

// halt stops the run with the first reason given.
func (x *execution) halt(err error) {
	if x.halted == nil {
		x.halted = err
	}
}

// fault halts at a fault for a branch, which does not go on.
func (x *execution) fault(key, detail string) {
	x.halt(x.journal.fault(key, detail))
	runtime.Goexit()
}

// claim refuses a key that was used before.
func (x *execution) claim(key string) {
	if x.journal.keys[key] {
		x.fault(key, "the key is used twice")
	}
	x.journal.keys[key] = true
}

// command notes what a branch does, or compares it with the history, whose
// record it gives.
func (x *execution) command(r Record) Record {
	got, detail := x.journal.match(r)
	if detail != "" {
		x.fault(r.Key, detail)
	}
	return got
}

// replay delivers a record of the history.
func (x *execution) replay(r Record) {
	if !r.delivery() {
		x.halt(x.journal.fault(r.Key, fmt.Sprintf("the journal goes on with %s, which the code does not do", r)))
		return
	}
	x.journal.pos++
	x.journal.recorded = true
	x.deliver(r)
}

// deliver gives the branches what a record says has come.
func (x *execution) deliver(r Record) {
	switch r.Kind {
	case KindDone:
		h := x.calls.all[r.Key]
		if h == nil || h.settled || h.cancelled != (r.Error != nil && r.Error.Cancelled) {
			x.halt(x.journal.fault(r.Key, "the journal has a result for a call that the code did not make or treats otherwise"))
			return
		}
		h.settle(r.Data, r.Error.err())
		x.scheduler.drained()
	case KindSignal:
		x.signals.deliver(r)
	case KindFired:
		t := x.timers.fire(r.Key)
		if t == nil {
			x.halt(x.journal.fault(r.Key, "the journal has a timer that the code did not set"))
			return
		}
		t.h.settle(nil, nil)
	}
}

// poll takes an event that is there already, or a timer that is due.
func (x *execution) poll(ctx context.Context) (event, bool) {
	ev, ok, woken := x.inbox.take()
	for woken {
		found, err := x.signals.read(ctx, x.e.o.DB)
		if err != nil {
			x.inbox.wake() // not lost: read by the next Run, which begins with it
			if ctx.Err() == nil {
				x.halt(err)
			}
			break
		}
		if len(found) > 0 {
			x.inbox.put(found...)
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
		if t := x.timers.due(); t != nil {
			return event{h: t.h, fired: true}, true
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
			if !ev.stopped || ctx.Err() == nil { // what rested and is stopped did not work again
				x.setQuiet(false)
			}
			return ev, true
		}
		if x.stuck() {
			x.halt(x.journal.fault("", "every branch waits for another: nothing can come"))
			return event{}, false
		}
		x.setQuiet(x.calls.inflight == x.inbox.resting())
		timer, stop := x.timers.alarm()
		select {
		case <-x.inbox.notify:
		case <-timer:
			if err := x.timers.save(ctx, false); err != nil {
				x.halt(err)
			}
		case <-ctx.Done():
			x.halt(context.Cause(ctx))
		}
		stop()
	}
}

// stuck tells that nothing can come any more.
func (x *execution) stuck() bool {
	return x.calls.inflight == 0 && len(x.timers.open) == 0 && !x.signals.wanted()
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
		x.calls.inflight--
		x.inbox.ended(ev.h)
		var reason error
		if r, reason = x.calls.result(ev); reason != nil {
			x.halt(reason)
			return
		}
	}
	x.journal.pending = append(x.journal.pending, r)
	x.deliver(r)
}

func (x *execution) setQuiet(q bool) {
	if x.quiet != q {
		x.quiet = q
		if x.hooks.Quiet != nil {
			x.hooks.Quiet(q)
		}
	}
}
