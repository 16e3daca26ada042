package main

import (
	"context"
	"errors"
	"fmt"

	"agency/bench/peer"
	"agency/internal/agency"
	"agency/internal/daemon"
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
	r, err := newRig(ctx, job.Dir, model, notes(job.Turns, 1000))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.write(ctx, func(tx *store.Tx) error { return r.contract(tx, "main") }); err != nil {
		return report, err
	}
	m := peer.NewMeter(job)
	warm := false
	r.live = func(_ agency.SessionID, ev session.Event) {
		if end, ok := ev.(session.TurnEnded); ok && warm {
			count(m, end.Turn, job.Turns)
		}
	}
	for n := range job.Sessions {
		out, err := r.hold(ctx, "main", n+1)
		warm = true
		if err == nil && out.Kind != session.Claimed {
			err = fmt.Errorf("session ended as %s: %s", out.Kind, out.Reason)
		}
		if err != nil {
			return report, err
		}
	}
	return m.Report(), nil
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
