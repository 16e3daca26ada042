package registry

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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
	w, err := scanDoc[agency.ManagerWords](q.QueryRow(selectReport, string(run)), fmt.Sprintf("run %s: its report", run))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &w, nil
}
