package local

import (
	"context"
	"errors"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

// History is a run's journal, for replay tests and for looking. Its JSON form
// is stable.
type History struct {
	Run     agency.RunID `json:"run"`
	Records []Record     `json:"records"`
}

// ReadHistory exports a run's journal; KindNotFound when there is none.
func ReadHistory(ctx context.Context, db *store.DB, run agency.RunID) (h History, err error) {
	h.Run = run
	err = db.Read(ctx, func(s *store.Snapshot) error {
		h.Records, err = readJournal(s, run)
		return err
	})
	if err == nil && len(h.Records) == 0 {
		err = agency.Errorf(agency.KindNotFound, "run %s has no journal", run)
	}
	return h, err
}

// Import writes a history as the journal of its run, which must have none:
// KindConflict.
func Import(tx *store.Tx, h History) error {
	x := &execution{run: h.Run}
	for i, r := range h.Records {
		if err := x.insert(tx, int64(i), r); err != nil {
			if store.IsConstraint(err) {
				return agency.Errorf(agency.KindConflict, "run %s has a journal already", h.Run)
			}
			return err
		}
	}
	return nil
}

// Replay repeats a history with main, without a store, activities or time. A
// nil error says that the code does what was recorded, as far as the history
// goes; a *Fault says where it does not. When the history is of a run that has
// ended, main's error is returned as Run would.
func Replay(ctx context.Context, version string, h History, main func(flow.Ctx) error) error {
	e := New(Options{Version: version})
	x := newExecution(e, h.Run, agency.Fence{}, Hooks{})
	x.offline = true
	x.adopt(h.Records)
	if len(x.history) == 0 {
		return agency.Errorf(agency.KindInvalid, "the history of run %s is empty", h.Run)
	}
	err := x.execute(ctx, main)
	if errors.Is(err, errOffline) {
		return nil
	}
	return err
}
