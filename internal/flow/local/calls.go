package local

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

// call is what a handle of an activity has beside.
type call struct {
	hash  string
	input json.RawMessage
	stop  context.CancelFunc // nil until it is at work
}

// calls are the activities of a run: begun once their commands are durable,
// carried out beside the branches.
type calls struct {
	e      *Engine
	run    agency.RunID
	inbox  *inbox
	ctx    context.Context // of the activities
	stop   context.CancelFunc
	joined sync.WaitGroup

	all        map[string]*handle
	unlaunched []*handle
	inflight   int
	kept       map[string]keptResult
}

// keptResult is what an activity gave to a run that was being stopped.
type keptResult struct {
	hash string
	rec  Record
}

func (c *calls) load(s *store.Snapshot) error {
	return store.Each(s, func(row store.Scanner) error {
		var key, hash, body, blob string
		if err := row.Scan(&key, &hash, &body, &blob); err != nil {
			return err
		}
		r, err := decodeRecord(s, body, blob)
		c.kept[key] = keptResult{hash: hash, rec: r}
		return err
	}, selectKept, string(c.run))
}

func (c *calls) add(h *handle) {
	c.all[h.key] = h
	c.unlaunched = append(c.unlaunched, h)
}

// result is what a call's end is journaled as, or why it is not.
func (c *calls) result(ev event) (Record, error) {
	h := ev.h
	r := Record{Kind: KindDone, Key: h.key}
	switch {
	case h.cancelled:
		r.Error = &Failure{Kind: agency.KindConflict.String(), Text: ErrCancelled.Error(), Cancelled: true}
	case ev.kept != nil:
		r = *ev.kept
	case ev.err == nil:
		if r.Data = c.e.o.DB.Redact(ev.out); !json.Valid(r.Data) {
			r.Data = nil
			r.Error = &Failure{Kind: agency.KindInternal.String(), Text: "the redacted result of " + h.name + " is no JSON"}
		}
	case interrupts(ev) && c.ctx.Err() != nil:
		return r, context.Cause(c.ctx) // the stop of the run has ended the step: it is no fault of the step
	case interrupts(ev):
		return r, &flow.Interrupt{Key: c.stepKey(h), Err: ev.err}
	default:
		r.Error = failureOf(ev.err)
		r.Error.Text = string(c.e.o.DB.Redact([]byte(r.Error.Text)))
		r.Error.Mend = string(c.e.o.DB.Redact([]byte(r.Error.Mend)))
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

func (c *calls) stepKey(h *handle) agency.StepKey {
	return agency.StepKey(string(c.run) + "/" + h.key)
}

// launch begins the activities whose commands are durable.
func (c *calls) launch() {
	for _, h := range c.unlaunched {
		if h.settled {
			continue
		}
		c.inflight++
		kept, ok := c.kept[h.key]
		switch {
		case h.cancelled:
			c.inbox.put(event{h: h})
		case ok && kept.hash == h.call.hash && !c.e.seams.redo:
			c.inbox.put(event{h: h, kept: &kept.rec})
		default:
			c.carryOut(h)
		}
	}
	c.unlaunched = nil
}

// carryOut runs the activity of a call.
func (c *calls) carryOut(h *handle) {
	ctx, stop := context.WithCancel(c.ctx)
	h.call.stop = stop
	key, name, input := c.stepKey(h), h.name, h.call.input
	ctx = flow.WithScope(ctx, flow.Scope{Run: c.run, Key: key, Fence: c.e.o.Fence, Rest: func() func() { return c.inbox.rest(h) }})
	c.joined.Go(func() {
		defer stop()
		ev := event{h: h, err: flow.ErrPanic} // stays when the activity ends its goroutine
		defer func() { c.inbox.put(ev) }()
		ev.out, ev.err = c.e.o.Registry.Invoke(ctx, name, key, input)
		ev.stopped = ctx.Err() != nil
	})
}

// journaled drops the kept results of calls whose results are journaled now.
func (c *calls) journaled(tx *store.Tx, records []Record) error {
	for _, r := range records {
		if _, ok := c.kept[r.Key]; ok && r.Kind == KindDone {
			if _, err := tx.Exec(deleteKept, string(c.run), r.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep writes the results that a stopped run has got but not journaled: those
// that were to be written, and those that nobody has taken from the inbox.
func (c *calls) keep(ctx context.Context, pending []Record) error {
	results := map[string]Record{}
	for _, r := range pending {
		if r.Kind == KindDone && (r.Error == nil || !r.Error.Cancelled) {
			results[r.Key] = r
		}
	}
	for {
		ev, ok, _ := c.inbox.take()
		if !ok {
			break
		}
		if ev.h == nil || ev.h.cancelled || ev.fired || (ev.err != nil && interrupts(ev)) {
			continue
		}
		if r, reason := c.result(ev); reason == nil {
			results[r.Key] = r
		}
	}
	if len(results) == 0 {
		return nil
	}
	return c.e.write(store.Needed(ctx), func(tx *store.Tx) error {
		for key, r := range results {
			body, blob, err := encodeRecord(tx, r)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(putKept, string(c.run), key, c.all[key].call.hash, body, blob); err != nil {
				return err
			}
		}
		return nil
	})
}
