package board

import (
	"errors"

	"agency/internal/agency"
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
	_, err = tx.Exec(restartBeats, int64(now), string(run))
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
