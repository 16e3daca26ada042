package registry

import (
	"database/sql"
	"encoding/json"
	"errors"

	"agency/internal/agency"
	"agency/internal/store"
)

// KeepWords records what the manager says at the end of a run, or why it says
// nothing. The first words stay.
func KeepWords(tx *store.Tx, run agency.RunID, w agency.ManagerWords) error {
	doc, err := json.Marshal(w)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insertReport, string(run), string(doc))
	return err
}

// Words are what the manager said at the end of a run; nil: it was not asked.
func Words(q store.Querier, run agency.RunID) (*agency.ManagerWords, error) {
	var doc string
	err := q.QueryRow(selectReport, string(run)).Scan(&doc)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := &agency.ManagerWords{}
	if err := json.Unmarshal([]byte(doc), w); err != nil {
		return nil, agency.Errorf(agency.KindInternal, "run %s: its report: %w", run, err)
	}
	return w, nil
}
