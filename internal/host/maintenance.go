package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/outbox"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/store"
)

// maintenance is what the host does of itself while it lives. None of it keeps the
// host alive, and none of it writes while nothing has come to an end.
type maintenance struct {
	rec     *records
	live    *Live
	board   *board.Board
	cleaner Cleaner
	tells   Announcer
	engine  flow.Engine
	ended   chan struct{} // a run has ended: of one
}

// pause is how long the host waits after an error of the store: a full disk,
// say.
const pause = 10 * time.Second

// sweepBoard lets the board end what is over, for as long as the host lives.
func (m *maintenance) sweepBoard() {
	for {
		err := m.board.Maintain(m.rec.ctx)
		if m.rec.ctx.Err() != nil || errors.Is(err, board.ErrClosed) {
			return
		}
		m.rec.log.Error("the board's sweep", "error", err)
		if !m.rec.sleep(m.rec.ctx, pause, nil) {
			return
		}
	}
}

// retention removes from the board what need not be kept of runs that ended long
// enough ago, and dry runs that nobody removed, for as long as the host lives.
func (m *maintenance) retention() {
	for {
		in, err := m.dropMail(m.rec.ctx)
		if err != nil && m.rec.ctx.Err() == nil {
			m.rec.log.Error("the board's retention", "error", err)
			in = pause
		}
		more, err := m.dropDryRuns(m.rec.ctx)
		if err != nil && m.rec.ctx.Err() == nil {
			m.rec.log.Error("dry runs that are over", "error", err)
			more = pause
		}
		in = sooner(in, more)
		if in == 0 { // nothing, until a run ends
			select {
			case <-m.ended:
			case <-m.rec.ctx.Done():
				return
			}
			continue
		}
		if !m.rec.sleep(m.rec.ctx, in, m.ended) {
			return
		}
	}
}

// noteEnd has retention look: a run may have ended.
func (m *maintenance) noteEnd() {
	select {
	case m.ended <- struct{}{}:
	default:
	}
}

// dropMail removes what is over and tells in what time there is more; 0: not
// before another run has ended.
func (m *maintenance) dropMail(ctx context.Context) (next time.Duration, err error) {
	var over []agency.RunID
	err = m.rec.read(ctx, func(q store.Querier) error {
		ids, err := prunable(q)
		if err != nil || len(ids) == 0 {
			return err
		}
		runs, err := registry.Runs(q)
		for _, run := range runs {
			if !run.State.Final() || !slices.Contains(ids, run.ID) {
				continue
			}
			switch left := run.FinishedAt.Add(keptFor(q, run.ID)).Sub(m.rec.clock.Now()); {
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
			err = m.rec.write(ctx, func(tx *store.Tx) error {
				return errors.Join(board.Prune(tx, id), state.Prune(tx, id))
			})
		}
	}
	return next, err
}

// prunable are the runs of which the board holds what need not be kept.
func prunable(q store.Querier) ([]agency.RunID, error) {
	mail, err := board.Prunable(q)
	keys, err2 := state.Prunable(q)
	return slices.Concat(mail, keys), errors.Join(err, err2)
}

// keptFor is how long a run's mail is kept after its end; that of a run whose
// copy cannot be read any more is the default.
func keptFor(q store.Querier, run agency.RunID) time.Duration {
	hours := config.Defaults().Board.RetentionHours
	if c, err := ReadRunConfig(q, run); err == nil {
		hours = c.Config.Board.RetentionHours
	}
	return time.Duration(hours) * time.Hour
}

// remove deletes a run that has ended: its branch, workspaces and record. What
// it merged stays.
func (m *maintenance) remove(ctx context.Context, id agency.RunID) error {
	run, err := store.Get(ctx, m.rec.db, registry.Run, id)
	if err != nil {
		return err
	}
	if !run.State.Final() || m.live.Has(id) {
		return agency.Errorf(agency.KindConflict, "run %s is %s", id, run.State).WithMend("agency cancel %s", id)
	}
	if err := m.cleaner.Remove(ctx, run); err != nil {
		return err
	}
	if err := m.forget(ctx, id); err != nil || m.live.AtWork() > 0 {
		return err // while runs work nobody may be kept from writing
	}
	if _, err := m.rec.db.Shrink(ctx); err != nil { // what is free is used again
		m.rec.log.Warn("the store keeps its size", "error", err)
	}
	return nil
}

// forget deletes what is recorded of a run.
func (m *maintenance) forget(ctx context.Context, id agency.RunID) error {
	merges, err := store.Get(ctx, m.rec.db, countMerges, id)
	if err != nil {
		return err
	}
	ids := []agency.RunID{id}
	for n := range merges {
		ids = append(ids, mergeID(id, n))
	}
	if err := m.engine.Delete(store.Needed(ctx), ids...); err != nil {
		return err
	}
	return m.rec.write(ctx, func(tx *store.Tx) error {
		for _, forget := range []func(*store.Tx, agency.RunID) error{m.cleaner.Forget, m.tells.Forget, outbox.DeleteRun, board.Forget, state.Forget, reservation.Forget, budget.Forget, registry.DeleteRun, event.DeleteRun} {
			if err := forget(tx, id); err != nil {
				return err
			}
		}
		_, err := tx.SweepBlobs()
		return err
	})
}

// dryRunGrace is how long after its end a dry run is left to its client, which shows
// the plan and removes the run.
const dryRunGrace = 30 * time.Second

// dropDryRuns removes the dry runs whose client has gone before it removed them, and
// returns in what time there is one more; 0: not before another run has ended. One
// at which a person has decided something stays: its plan waits for agency resume.
func (m *maintenance) dropDryRuns(ctx context.Context) (next time.Duration, err error) {
	var over []agency.RunID
	err = m.rec.read(ctx, func(q store.Querier) error {
		runs, err := registry.Runs(q)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if !run.Dry || !run.State.Final() {
				continue
			}
			gates, err := registry.Gates(q, run.ID)
			if err != nil {
				return err
			}
			switch left := run.FinishedAt.Add(dryRunGrace).Sub(m.rec.clock.Now()); {
			case len(gates) > 0:
			case left <= 0:
				over = append(over, run.ID)
			case next == 0 || left < next:
				next = left
			}
		}
		return nil
	})
	for _, id := range over {
		if err == nil {
			err = m.remove(ctx, id)
		}
		if agency.KindOf(err) == agency.KindNotFound { // its client was there after all
			err = nil
		}
	}
	return next, err
}

// sooner is the earlier of two times to look again; 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
