package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"agency/bench/peer"
	"agency/internal/daemon"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/store"
)

// oursContender holds conversations through native.Runner on a real store and
// a real checkout. What is counted goes from the end of the first turn to the
// end of the last that reads.
func oursContender(ctx context.Context, job peer.Job) (report peer.Report, err error) {
	daemon.TuneMemory() // as the host does
	model, err := openaiModel(job.URL)
	if err != nil {
		return report, err
	}
	m := peer.NewMeter(job)
	turns := &counting{next: model}
	r, err := newRig(ctx, job.Dir, turns, notes(job.Turns, 1000))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.write(ctx, func(tx *store.Tx) error { return r.contract(tx, "main") }); err != nil {
		return report, err
	}
	for n := range job.Sessions {
		turns.asked = 0
		out, err := r.hold(ctx, "main", n+1)
		turns.ended = func(turn int) { count(m, turn, job.Turns) } // the first session warms up
		if err == nil && out.Kind != session.Claimed {
			err = fmt.Errorf("session ended as %s: %s", out.Kind, out.Reason)
		}
		if err != nil {
			return report, err
		}
	}
	return m.Report(), nil
}

// counting is a model that knows how many turns have ended: each but the first
// request follows one.
type counting struct {
	next  llm.Model
	asked int
	ended func(turn int) // may be nil
}

// Ask is for llm.Model.
func (c *counting) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	if c.ended != nil && c.asked > 0 {
		c.ended(c.asked)
	}
	c.asked++
	return c.next.Ask(ctx, req)
}

// count starts the meter after the first turn and stops it after the last.
func count(m *peer.Meter, turn, last int) {
	switch turn {
	case 1:
		m.Start()
	case last:
		m.Stop(last - 1)
	}
}
