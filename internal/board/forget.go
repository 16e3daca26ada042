package board

import (
	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
)

// Forget removes a run from the board.
func Forget(tx *store.Tx, run agency.RunID) error {
	for _, table := range []string{
		"board_delivery", "board_message", "board_agent", "board_state", "board_state_head", "board_token", "board_token_wait", "board_conflict", "board_edit", "board_landing",
	} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE run_id = ?`, string(run)); err != nil {
			return err
		}
	}
	clear(crewOf(tx))
	for _, prefix := range []string{lockPrefix(run), tokenPrefix(run)} {
		held, err := lease.List(tx, prefix)
		if err != nil {
			return err
		}
		for _, l := range held {
			if err := lease.Release(tx, l.Name, l.Fence); err != nil {
				return err
			}
		}
	}
	publish(tx, change{gone: run})
	return nil
}

// Retain removes what need not be kept of a run that ended long ago: mail that
// was acted on, and the versions of keys that no longer count. Dead letters
// and the state that was left stay until Forget. It is for the caller to know
// that the run has ended and when.
func Retain(tx *store.Tx, run agency.RunID) error {
	for _, query := range []string{
		`DELETE FROM board_delivery WHERE run_id = ? AND status = 'processed'`,
		`DELETE FROM board_message WHERE run_id = ? AND (status = 'processed' OR
status = '' AND NOT EXISTS (SELECT 1 FROM board_delivery d WHERE d.message = board_message.seq))`,
		`DELETE FROM board_state WHERE run_id = ? AND id NOT IN (SELECT id FROM board_state_head)`,
		`DELETE FROM board_token WHERE run_id = ?`,
	} {
		if _, err := tx.Exec(query, string(run)); err != nil {
			return err
		}
	}
	return nil
}

// Worn are the runs, ended or not, of which Retain would remove something.
func Worn(q store.Querier) ([]agency.RunID, error) {
	rows, err := q.Query(`SELECT run_id FROM board_delivery WHERE status = 'processed'
UNION SELECT run_id FROM board_message m WHERE status = 'processed' OR
	status = '' AND NOT EXISTS (SELECT 1 FROM board_delivery d WHERE d.message = m.seq)
UNION SELECT run_id FROM board_state WHERE run_id <> '' AND id NOT IN (SELECT id FROM board_state_head)
UNION SELECT run_id FROM board_token ORDER BY run_id`)
	if err != nil {
		return nil, err
	}
	var out []agency.RunID
	for rows.Next() {
		var id agency.RunID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// appendEvent logs what has happened.
func appendEvent(tx *store.Tx, ev agency.Event) error {
	_, err := event.Append(tx, ev)
	return err
}
