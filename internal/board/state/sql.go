package state

// The statements of this package. h is the head of a key, s the version that
// counts.
const (
	// isSpace picks the keys of one contract, agent or run, or those of all.
	isSpace = `namespace = ? AND run_id = ? AND of_id = ?`

	// insertVersion adds a version of a key.
	insertVersion = `INSERT INTO board_state (namespace, run_id, of_id, key, version, previous, deleted, type, value, author, token, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`

	// putHead has a version count.
	putHead = `INSERT INTO board_state_head (namespace, run_id, of_id, key, id, expires) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, run_id, of_id, key) DO UPDATE SET id = excluded.id, expires = excluded.expires`

	selectEntries = `SELECT h.namespace, h.run_id, h.of_id, h.key, h.expires, s.id, s.version, s.previous, s.deleted, s.type, s.value, s.author, s.created_at
FROM board_state_head h JOIN board_state s ON s.id = h.id `

	// selectEntry reads a key.
	selectEntry = selectEntries + `WHERE h.namespace = ? AND h.run_id = ? AND h.of_id = ? AND h.key = ?`

	// selectRange reads what there is of keys from one to before another.
	selectRange = selectEntries + `WHERE h.namespace = ? AND h.run_id = ? AND h.of_id = ? AND h.key >= ? AND h.key < ?
AND s.deleted = 0 AND (h.expires = 0 OR h.expires > ?) ORDER BY h.key`

	// selectExpired reads what has expired and is not deleted.
	selectExpired = selectEntries + `WHERE h.expires > 0 AND h.expires <= ? AND s.deleted = 0 ORDER BY h.expires LIMIT ?`

	// nextExpiry is when the first key expires.
	nextExpiry = `SELECT coalesce(min(expires), 0) FROM board_state_head WHERE expires > 0`

	selectVersions = `SELECT namespace, run_id, of_id, key, 0, id, version, previous, deleted, type, value, author, created_at
FROM board_state `

	// selectVersion reads a version, selectWritten that of a client's write.
	selectVersion = selectVersions + `WHERE id = ?`
	selectWritten = selectVersions + `WHERE ` + isSpace + ` AND key = ? AND token = ?`

	// deleteOld removes the versions of a run that do not count, selectPrunable reads
	// the runs that have any.
	deleteOld      = `DELETE FROM board_state WHERE run_id = ? AND id NOT IN (SELECT id FROM board_state_head)`
	selectPrunable = `SELECT DISTINCT run_id FROM board_state
WHERE run_id <> '' AND id NOT IN (SELECT id FROM board_state_head) ORDER BY run_id`

	// What is kept of a run.
	deleteVersions = `DELETE FROM board_state WHERE run_id = ?`
	deleteHeads    = `DELETE FROM board_state_head WHERE run_id = ?`
)
