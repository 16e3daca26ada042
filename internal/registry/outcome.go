package registry

import (
	"encoding/json"

	"agency/internal/agency"
	"agency/internal/store"
)

// KeepOutcome keeps what a contract came to, once. It is kept where the run is
// removed.
func KeepOutcome(tx *store.Tx, o agency.Outcome) error {
	doc, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insertOutcome, string(o.Run), string(o.Contract), nanos(o.EndedAt), string(doc))
	return err
}

// Outcomes reads what contracts of all runs came to, the latest first.
func Outcomes(q store.Querier, limit int) ([]agency.Outcome, error) {
	return store.All(q, func(row store.Scanner) (agency.Outcome, error) {
		return scanDoc[agency.Outcome](row, "a contract's outcome")
	}, selectOutcomes, limit)
}
