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

// A run that has left the engine on a full disk is held: where it stands is
// known here and not yet written. Its followers are told at once, lookers are
// told the same, and the write is tried again until there is room or a person
// resumes or cancels the run.
type hold struct {
	cause error // for people: the disk and what mends it
	retry chan chan error
}

// The pauses between two tries to write on a full disk.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// heldFault names the disk, what stands still because of it, and what mends it.
func (h *Host) heldFault(id agency.RunID, cause error) error {
	return agency.Errorf(agency.KindTransient, "the disk is full and run %s stands still; nothing is lost: %w", id, cause).
		WithMend("free space on the disk of %s, then agency resume %s", h.o.DB.Path(), id)
}

// insist records where a run stands. While the disk is full it holds the run
// and tries again; it gives up only when the host closes.
func (h *Host) insist(l *live, fn func(*store.Tx) error) error {
	var asked chan error // by whom a try was asked for
	var held *hold
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := h.record(fn)
		if !store.IsFull(err) {
			if asked != nil {
				asked <- err
			}
			if held != nil {
				h.setHold(l.run.ID, nil)
			}
			return err
		}
		if held == nil {
			held = &hold{cause: h.heldFault(l.run.ID, err), retry: make(chan chan error)}
			h.setHold(l.run.ID, held)
			h.o.Log.Error("the disk is full", "run", l.run.ID, "error", err)
		}
		if asked != nil {
			asked <- held.cause
		}
		again := make(chan struct{})
		stop := h.o.After(wait, func() { close(again) })
		select {
		case <-again:
			asked = nil
		case asked = <-held.retry:
			stop()
		case <-h.ctx.Done():
			stop()
			return err
		}
	}
}

// setHold changes what is known of a run that is held and tells those who wait
// for it.
func (h *Host) setHold(id agency.RunID, held *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held == nil {
		delete(h.holds, id)
	} else {
		h.holds[id] = held
	}
	close(h.holdMoved)
	h.holdMoved = make(chan struct{})
}

// Held is why the record of a run does not say where it stands; nil where it
// does.
func (h *Host) Held(id agency.RunID) error {
	_, cause := h.holding(id)
	return cause
}

// holding also gives a channel that is closed when any hold changes.
func (h *Host) holding(id agency.RunID) (moved <-chan struct{}, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held := h.holds[id]; held != nil {
		cause = held.cause
	}
	return h.holdMoved, cause
}

// Following gives a context for one who follows a run: it ends, with the
// cause, while the run is held, because no event can tell of that.
func (h *Host) Following(ctx context.Context, id agency.RunID) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			moved, cause := h.holding(id)
			if cause != nil {
				cancel(cause)
				return
			}
			select {
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// unhold has a held run's record tried again now; the error says why it is
// still held.
func (h *Host) unhold(ctx context.Context, id agency.RunID) error {
	h.mu.Lock()
	held, l := h.holds[id], h.live[id]
	h.mu.Unlock()
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

// later does once more, in a while, what a full disk refused.
func (h *Host) later(err error, do func()) {
	if !store.IsFull(err) {
		return
	}
	h.o.After(lastRetry, func() {
		if h.ctx.Err() == nil {
			do()
		}
	})
}

// fullDisk is the gate at which a run stops whose work met a full disk.
func (h *Host) fullDisk(id agency.RunID, cause error) agency.Gate {
	left := ""
	if free, err := store.Room(filepath.Dir(h.o.DB.Path())); err == nil {
		left = fmt.Sprintf(" %d KiB are left on the disk of %s.", free>>10, h.o.DB.Path())
	}
	return agency.Gate{
		RunID: id, Summary: "the disk is full",
		Body: fmt.Sprintf("Nothing is lost.%s Free space, then go on with: agency resume %s (or agency approve %s)\n\n%v", left, id, id, cause),
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
