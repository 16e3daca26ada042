package host

import (
	"errors"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/store"
)

// LastEvent is the highest id of an event of a run, or of all where run is
// empty; 0 where there is none.
func LastEvent(q store.Querier, run agency.RunID) (last int64, err error) {
	err = q.QueryRow(`SELECT coalesce(max(id), 0) FROM event WHERE ?1 = '' OR run_id = ?1`, string(run)).Scan(&last)
	return last, err
}

// chargeOpen charges every request of a run whose answer nobody waits for any
// more: the run has been stopped in the middle of it.
func chargeOpen(tx *store.Tx, run agency.RunID) error {
	rows, err := tx.Query(`SELECT key FROM budget_requests WHERE run_id = ? AND state = 'reserved'`, string(run))
	if err != nil {
		return err
	}
	var keys []string
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return errors.Join(err, rows.Close())
		}
		keys = append(keys, key)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, key := range keys {
		if err := budget.Charge(tx, run, key); err != nil {
			return err
		}
	}
	return nil
}
