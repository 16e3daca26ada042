package local

// The statements of this package.
const (
	blobsOfJournal = `SELECT blob FROM flow_journal`
	blobsOfKept    = `SELECT blob FROM flow_kept`

	// selectJournal reads a run's history.
	selectJournal = `SELECT body, blob FROM flow_journal WHERE run_id = ? ORDER BY seq`

	// insertRecord adds to a history.
	insertRecord = `INSERT INTO flow_journal (run_id, seq, kind, key, body, blob) VALUES (?, ?, ?, ?, ?, ?)`

	// selectKept reads the results that a run got and did not journal.
	selectKept = `SELECT key, hash, body, blob FROM flow_kept WHERE run_id = ?`

	// putKept keeps a result, or another in its place.
	putKept = `INSERT INTO flow_kept (run_id, key, hash, body, blob) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run_id, key) DO UPDATE SET hash = excluded.hash, body = excluded.body, blob = excluded.blob`

	// deleteKept removes a result that is journaled.
	deleteKept = `DELETE FROM flow_kept WHERE run_id = ? AND key = ?`

	// selectTimers reads how much of a run's timers has passed.
	selectTimers = `SELECT key, elapsed FROM flow_timer WHERE run_id = ?`

	// putTimer sets how much of a timer has passed.
	putTimer = `INSERT INTO flow_timer (run_id, key, elapsed) VALUES (?, ?, ?)
ON CONFLICT (run_id, key) DO UPDATE SET elapsed = excluded.elapsed`

	// deleteTimer removes a timer that has ended.
	deleteTimer = `DELETE FROM flow_timer WHERE run_id = ? AND key = ?`

	// insertSignal adds a signal, once.
	insertSignal = `INSERT INTO flow_signal (run_id, id, name, payload) VALUES (?, ?, ?, ?) ON CONFLICT (run_id, id) DO NOTHING`

	// selectSignals reads what has come since the last look.
	selectSignals = `SELECT seq, id, name, payload FROM flow_signal WHERE run_id = ? AND seq > ? ORDER BY seq`

	// What is kept of a run.
	deleteJournal = `DELETE FROM flow_journal WHERE run_id = ?`
	deleteAllKept = `DELETE FROM flow_kept WHERE run_id = ?`
	deleteTimers  = `DELETE FROM flow_timer WHERE run_id = ?`
	deleteSignals = `DELETE FROM flow_signal WHERE run_id = ?`
)
