package board

import (
	"agency/internal/agency"
	"agency/internal/store"
)

// Forget removes a run from the board.
func Forget(tx *store.Tx, run agency.RunID) error {
	for _, table := range []string{"board_delivery", "board_message", "board_agent"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE run_id = ?`, string(run)); err != nil {
			return err
		}
	}
	publish(tx, change{gone: run})
	return nil
}
