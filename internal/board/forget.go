package board

import (
	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// Forget removes a run's mail, agents, edits and conflicts.
func Forget(tx *store.Tx, run agency.RunID) error {
	for _, table := range []string{
		"board_delivery", "board_message", "board_agent", "board_conflict", "board_edit", "board_landing",
	} {
		if _, err := tx.Exec(deleteOf(table), string(run)); err != nil {
			return err
		}
	}
	clear(agentsKnown(tx))
	publish(tx, change{gone: run})
	return nil
}

// Retain removes what need not be kept of a run that ended long ago: mail that
// was acted on, and the versions of keys that no longer count. Dead letters
// and the state that was left stay until Forget. It is for the caller to know
// that the run has ended and when.
func Retain(tx *store.Tx, run agency.RunID) error {
	for _, query := range []string{
		deleteProcessedCopies,
		deleteProcessed,
	} {
		if _, err := tx.Exec(query, string(run)); err != nil {
			return err
		}
	}
	return nil
}

// Worn are the runs, ended or not, of which Retain would remove something.
func Worn(q store.Querier) ([]agency.RunID, error) {
	return store.Column[agency.RunID](q, selectWorn)
}

// appendEvent logs what has happened.
func appendEvent(tx *store.Tx, ev agency.Event) error {
	_, err := event.Append(tx, ev)
	return err
}
