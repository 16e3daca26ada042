package host

import (
	"agency/internal/agency"
	"agency/internal/store"
)

// LastEvent is the highest id of an event of a run, or of all where run is
// empty; 0 where there is none.
func LastEvent(q store.Querier, run agency.RunID) (last int64, err error) {
	err = q.QueryRow(`SELECT coalesce(max(id), 0) FROM event WHERE ?1 = '' OR run_id = ?1`, string(run)).Scan(&last)
	return last, err
}

// setYes makes --yes the run's from now on.
func setYes(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(`UPDATE runs SET doc = json_set(doc, '$.yes', json('true')) WHERE id = ?`, string(run))
	return err
}
