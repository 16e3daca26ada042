package board

import (
	"errors"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// Recover brings a run's mail and agents to where they were before the last
// host ended: for a host that has raised the epoch, before anybody works. Mail
// that was handed over and not shown waits again in its old place; the silence
// meanwhile was not the agents'. Once more is nothing.
func Recover(tx *store.Tx, run agency.RunID) error {
	if err := ReturnAll(tx, run); err != nil {
		return err
	}
	now, err := clock(tx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(resetHeartbeats, int64(now), string(run))
	return err
}

// End is for a run that has ended: nobody works on it, nothing waits, nobody is
// told, and what agents disagreed on is over. It can be opened again by agents
// that join.
func End(tx *store.Tx, run agency.RunID, status AgentStatus, reason string) error {
	if err := errors.Join(BuryRun(tx, run, reason), closeConflicts(tx, run, reason)); err != nil {
		return err
	}
	live, err := Live(tx, run)
	for _, a := range live {
		err = errors.Join(err, Leave(tx, run, a.ID, status, reason))
	}
	return err
}

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

// Prune removes what need not be kept of a run that ended long ago: mail that
// was acted on, and the versions of keys that no longer count. Dead letters
// and the state that was left stay until Forget. It is for the caller to know
// that the run has ended and when.
func Prune(tx *store.Tx, run agency.RunID) error {
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

// Prunable are the runs, ended or not, of which Prune would remove something.
func Prunable(q store.Querier) ([]agency.RunID, error) {
	return store.Column[agency.RunID](q, selectPrunable)
}

// appendEvent logs what has happened.
func appendEvent(tx *store.Tx, ev agency.Event) error {
	_, err := event.Append(tx, ev)
	return err
}
