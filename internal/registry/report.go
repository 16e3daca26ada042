package registry

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/text"
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

// mostSaid bounds what an agent says of its work, in bytes.
const mostSaid = 4 << 10

// Said is what agents said of what they claimed, for who reads the change: the last of each
// contract, where it says something.
func Said(q store.Querier, run agency.RunID, contract agency.ContractID) (map[agency.ContractID]string, error) {
	all, err := event.Of[agency.Claimed](q, event.Filter{Run: run, Contract: contract, Types: []agency.EventType{agency.ClaimedType}})
	if err != nil {
		return nil, err
	}
	out := make(map[agency.ContractID]string, len(all))
	for _, c := range all {
		said := strings.TrimSpace(c.Detail.Summary)
		if said == agency.SaysNothing {
			said = ""
		}
		out[c.ContractID] = text.Head(said, mostSaid)
	}
	return out, nil
}
