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

// Replay repeats a history with main, without a store, activities or time. A
// nil error says that the code does what was recorded, as far as the history
// goes; a *Fault says where it does not. When the history is of a run that has
// ended, main's error is returned as Run would.
func Replay(ctx context.Context, version string, h History, main func(flow.Ctx) error) error {
	e := New(Options{Version: version})
	x := newExecution(e, h.Run, flow.Hooks{})
	x.journal.offline = true
	x.journal.adopt(h.Records)
	if !x.journal.recorded {
		return agency.Errorf(agency.KindInvalid, "the history of run %s is empty", h.Run)
	}
	err := x.execute(ctx, main)
	if errors.Is(err, errOffline) {
		return nil
	}
	return err
}
