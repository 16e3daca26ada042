package host

import (
	"context"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/registry"
	"agency/internal/store"
)

// recover puts in order what an earlier host left: what its lost requests may
// have cost is charged, the board's queues stand as they did,
// runs that it worked on are interrupted, gates whose deadline passed meanwhile
// are announced, and leftovers on disk are cleared. No run is taken up.
func (h *Host) recover(ctx context.Context) error {
	var runs []agency.Run
	if err := h.rec.read(ctx, func(q store.Querier) (err error) {
		runs, err = registry.Runs(q)
		return err
	}); err != nil {
		return err
	}
	// First: a merge that was begun decides how a run ends.
	if err := h.tidy.cleaner.Recover(ctx, runs); err != nil { // a leftover is no reason to refuse all work
		h.rec.log.Error("recovery", "error", err)
	}
	return h.rec.write(ctx, func(tx *store.Tx) error {
		runs, err := registry.Runs(tx)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if run.State.Final() {
				continue
			}
			if err := recoverRun(tx, run, h.rec.clock.Now()); err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
		}
		return nil
	})
}

func recoverRun(tx *store.Tx, run agency.Run, now time.Time) error {
	if _, err := budget.ChargeLost(tx, run.ID); err != nil {
		return err
	}
	if err := board.Recover(tx, run.ID); err != nil {
		return err
	}
	c, err := ReadRunConfig(tx, run.ID)
	if err != nil {
		return err
	}
	gates, err := registry.OpenGates(tx, run.ID)
	if err != nil {
		return err
	}
	for _, g := range gates {
		if g.CreatedAt.Add(c.gateTimeout()).After(now) {
			continue
		}
		if err := registry.ExpireGate(tx, g.ID); err != nil {
			return err
		}
	}
	// One that waits at no gate had its answer as its host died.
	if run.State != agency.StateRunning && run.State != agency.StatePlanning && !(run.State == agency.StateWaiting && len(gates) == 0) {
		return nil
	}
	ctl, err := registry.ReadControl(tx, run.ID)
	if err != nil {
		return err
	}
	if ctl.Cancel {
		return recordCancelled(tx, run.ID)
	}
	if state, reason := stateOf(run.ID, true, ctl, gates); state != agency.StateRunning {
		return stand(tx, run.ID, state, reason)
	}
	if err := registry.SetCrashed(tx, run.ID, true); err != nil {
		return err
	}
	return registry.Stop(tx, run.ID, agency.StateInterrupted, Crashed(), CrashReason(run.ID))
}

// stopped is why a run is interrupted whose host left in an orderly way.
func stopped() agency.Failure {
	return agency.Failure{Kind: agency.FailedStopped, Cause: "its host was stopped"}
}

// Crashed is why a run is interrupted whose host had no time to write it.
func Crashed() agency.Failure {
	return agency.Failure{Kind: agency.FailedCrashed, Cause: "its host died"}
}

// StoppedReason says to people that a run's host was stopped.
func StoppedReason(id agency.RunID) string { return goOnBy(stopped(), id) }

// CrashReason says to people that it died.
func CrashReason(id agency.RunID) string { return goOnBy(Crashed(), id) }

func goOnBy(why agency.Failure, id agency.RunID) string {
	return why.Cause + "; go on with: agency resume " + string(id)
}

// recordStopped records where a run stands whose host goes: one that waited or was
// paused stays so, one that worked is interrupted.
func recordStopped(tx *store.Tx, l *live) error {
	if l.isQuiet() {
		return recordState(tx, l)
	}
	return recordInterrupted(tx, l.run.ID, stopped(), StoppedReason(l.run.ID))
}

// recordInterrupted records that a run which has not ended was cut off, and charges what was
// asked and not answered.
func recordInterrupted(tx *store.Tx, id agency.RunID, why agency.Failure, reason string) error {
	run, err := registry.Run(tx, id)
	if err != nil || run.State.Final() {
		return err
	}
	if _, err := budget.ChargeOpen(tx, id); err != nil {
		return err
	}
	return registry.Stop(tx, id, agency.StateInterrupted, why, reason)
}
