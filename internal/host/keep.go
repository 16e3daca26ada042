package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/config"
	"agency/internal/registry"
	"agency/internal/store"
)

// What the host does for the board while it lives. None of it keeps the host
// alive, and none of it writes while nothing has come to an end.

// pause is how long the host waits after an error of the store: a full disk,
// say.
const pause = 10 * time.Second

// keep lets the board end what is over, for as long as the host lives.
func (h *Host) keep() {
	for {
		err := h.o.Board.Keep(h.ctx)
		if h.ctx.Err() != nil || errors.Is(err, board.ErrClosed) {
			return
		}
		h.o.Log.Error("the board's sweep", "error", err)
		if !h.sleep(h.ctx, pause, nil) {
			return
		}
	}
}

// sleep waits for d, or until early; it tells whether the context lives.
func (h *Host) sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	rang := make(chan struct{})
	stop := h.o.After(d, func() { close(rang) })
	defer stop()
	select {
	case <-rang:
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// listen counts the heartbeats that a run's agents owe, while the run is at
// work. An agent whose process lives owes none, however long its command takes.
func (h *Host) listen(ctx context.Context, l *live) {
	for ctx.Err() == nil {
		l.mu.Lock()
		quiet, moved := l.quiet, l.moved
		l.mu.Unlock()
		if quiet {
			select {
			case <-moved:
			case <-ctx.Done():
			}
			continue
		}
		if !h.sleep(ctx, board.HeartbeatInterval, moved) {
			return
		}
		if err := h.missed(ctx, l.run.ID); err != nil && ctx.Err() == nil {
			h.o.Log.Error("heartbeats", "run", l.run.ID, "error", err)
		}
	}
}

func (h *Host) missed(ctx context.Context, run agency.RunID) error {
	var late []board.Agent
	err := h.read(ctx, func(q store.Querier) (err error) {
		late, err = board.Late(q, run)
		return err
	})
	if err != nil || len(late) == 0 {
		return err
	}
	return h.write(ctx, func(tx *store.Tx) error {
		_, err := board.Missed(tx, run)
		return err
	})
}

// retire removes from the board what need not be kept of runs that ended long
// enough ago, and dry runs that nobody removed, for as long as the host lives.
func (h *Host) retire() {
	for {
		in, err := h.retain(h.ctx)
		if err != nil && h.ctx.Err() == nil {
			h.o.Log.Error("the board's retention", "error", err)
			in = pause
		}
		more, err := h.drop(h.ctx)
		if err != nil && h.ctx.Err() == nil {
			h.o.Log.Error("dry runs that are over", "error", err)
			more = pause
		}
		in = sooner(in, more)
		if in == 0 { // nothing, until a run ends
			select {
			case <-h.ended:
			case <-h.ctx.Done():
				return
			}
			continue
		}
		if !h.sleep(h.ctx, in, h.ended) {
			return
		}
	}
}

// noteEnd has retire look: a run may have ended.
func (h *Host) noteEnd() {
	select {
	case h.ended <- struct{}{}:
	default:
	}
}

// retain removes what is over and tells in what time there is more; 0: not
// before another run has ended.
func (h *Host) retain(ctx context.Context) (next time.Duration, err error) {
	var over []agency.RunID
	err = h.read(ctx, func(q store.Querier) error {
		worn, err := board.Worn(q)
		if err != nil || len(worn) == 0 {
			return err
		}
		runs, err := registry.Runs(q)
		for _, run := range runs {
			if !run.State.Final() || !slices.Contains(worn, run.ID) {
				continue
			}
			switch left := run.FinishedAt.Add(retention(q, run.ID)).Sub(h.o.Now()); {
			case left <= 0:
				over = append(over, run.ID)
			case next == 0 || left < next:
				next = left
			}
		}
		return err
	})
	for _, id := range over {
		if err == nil {
			err = h.write(ctx, func(tx *store.Tx) error { return board.Retain(tx, id) })
		}
	}
	return next, err
}

// retention is how long a run's mail is kept after its end; that of a run whose
// copy cannot be read any more is the default.
func retention(q store.Querier, run agency.RunID) time.Duration {
	hours := config.Defaults().Board.RetentionHours
	if c, err := ReadCopy(q, run); err == nil {
		hours = c.Config.Board.RetentionHours
	}
	return time.Duration(hours) * time.Hour
}
