package local

import (
	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

// sent wakes the runs that were sent a signal.
func sent() store.Topic[agency.RunID] { return store.Topic[agency.RunID]{Name: "flow signal"} }

// Send adds a signal to a run, whether or not it is at work, and wakes it
// after the commit. id is the sender's: the same id again changes nothing.
func Send(tx *store.Tx, run agency.RunID, name, id string, payload []byte) error {
	_, err := tx.Exec(`INSERT INTO flow_signal (run_id, id, name, payload) VALUES (?, ?, ?, ?)
ON CONFLICT (run_id, id) DO NOTHING`, string(run), id, name, string(payload))
	if err != nil {
		return err
	}
	store.Publish(tx, sent(), run)
	return nil
}

// SendTo is Send typed by the signal.
func SendTo[T any](tx *store.Tx, run agency.RunID, s flow.Signal[T], id string, v T) error {
	b, err := flow.Encode(s, v)
	if err != nil {
		return err
	}
	return Send(tx, run, s.Name, id, b)
}

// DeleteRun removes a run's journal and signals.
func DeleteRun(tx *store.Tx, run agency.RunID) error {
	for _, q := range []string{
		"DELETE FROM flow_journal WHERE run_id = ?", "DELETE FROM flow_kept WHERE run_id = ?",
		"DELETE FROM flow_timer WHERE run_id = ?", "DELETE FROM flow_signal WHERE run_id = ?",
	} {
		if _, err := tx.Exec(q, string(run)); err != nil {
			return err
		}
	}
	return nil
}
