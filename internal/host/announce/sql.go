package announce

// The statements of this package.
const (
	// selectMark reads the event up to which all is told.
	selectMark = `SELECT event_id FROM announce_mark WHERE id = 1`

	// setMark moves it.
	setMark = `INSERT INTO announce_mark (id, event_id) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET event_id = excluded.event_id`

	// selectParts reads what is known of events after the mark.
	selectParts = `SELECT event_id, place, state, message_key FROM announce_part ORDER BY event_id, place`

	// setPart says where one stands.
	setPart = `INSERT INTO announce_part (run_id, event_id, place, state, message_key) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (event_id, place) DO UPDATE SET state = excluded.state, message_key = excluded.message_key`

	// deleteBelow removes what the mark says.
	deleteBelow = `DELETE FROM announce_part WHERE event_id <= ?`

	// deleteRun removes what is known of a run.
	deleteRun = `DELETE FROM announce_part WHERE run_id = ?`
)
