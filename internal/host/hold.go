package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/registry"
	"agency/internal/store"
)

// The pauses between two tries to write on a full disk.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// pendingFault names the disk, what stands still because of it, and what mends it.
func (x *executor) pendingFault(id agency.RunID, cause error) error {
	return agency.Errorf(agency.KindTransient, "the disk is full and run %s stands still; nothing is lost: %w", id, cause).
		WithMend("free space on the disk of %s, then agency resume %s", x.rec.db.Path(), id)
}

// recordWithRetry records where a run stands. While the disk is full it holds the run
// and tries again; it gives up only when the host closes.
func (x *executor) recordWithRetry(l *live, fn func(*store.Tx) error) error {
	var asked chan error // by whom a try was asked for
	var held *pendingRecord
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := x.rec.writeDetached(fn)
		if !store.IsFull(err) {
			if asked != nil {
				asked <- err
			}
			if held != nil {
				x.live.setPending(l.run.ID, nil)
			}
			return err
		}
		if held == nil {
			held = &pendingRecord{cause: x.pendingFault(l.run.ID, err), retry: make(chan chan error)}
			x.live.setPending(l.run.ID, held)
			x.rec.log.Error("the disk is full", "run", l.run.ID, "error", err)
		}
		if asked != nil {
			asked <- held.cause
		}
		due := make(chan struct{})
		stop := x.rec.clock.After(wait, func() { close(due) })
		select {
		case <-due:
			asked = nil
		case asked = <-held.retry:
			stop()
		case <-x.rec.ctx.Done():
			stop()
			return err
		}
	}
}

// retryPending has a held run's record tried again now; the error says why it is
// still held.
func (x *executor) retryPending(ctx context.Context, id agency.RunID) error {
	held, l := x.live.held(id)
	if held == nil || l == nil {
		return nil
	}
	answer := make(chan error, 1)
	select {
	case held.retry <- answer:
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		if store.IsFull(err) || errors.Is(err, store.ErrFenced) {
			return err
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fullDisk is the gate at which a run stops whose work met a full disk.
func (x *executor) fullDisk(id agency.RunID, cause error) agency.Gate {
	left := ""
	if free, err := store.Room(filepath.Dir(x.rec.db.Path())); err == nil {
		left = fmt.Sprintf(" %d KiB are left on the disk of %s.", free>>10, x.rec.db.Path())
	}
	return agency.Gate{
		RunID: id, Summary: "the disk is full",
		Body: fmt.Sprintf("Nothing is lost.%s Free space, then go on with: agency resume %s\n\n%v", left, id, cause),
	}
}

// stopAtFault stops a run at a gate of the host's own: its program cannot go
// on with it as things are.
func stopAtFault(tx *store.Tx, g agency.Gate) error {
	run, err := registry.Run(tx, g.RunID)
	if err != nil || run.State.Final() {
		return err
	}
	if _, err := budget.ChargeOpen(tx, g.RunID); err != nil {
		return err
	}
	if g.ID, err = nextFault(tx, g.RunID); err != nil {
		return err
	}
	g.Kind = agency.GateFault
	if err := registry.OpenGate(tx, g); err != nil {
		return err
	}
	return registry.SetState(tx, g.RunID, agency.StateWaiting, "fault gate: "+g.Summary)
}

// nextFault is the id of a run's next gate of this kind.
func nextFault(tx *store.Tx, id agency.RunID) (agency.GateID, error) {
	gates, err := registry.Gates(tx, id)
	n := 1
	for _, g := range gates {
		if g.Kind == agency.GateFault {
			n++
		}
	}
	return agency.GateID(fmt.Sprintf("%s.fault-%d", id, n)), err
}
