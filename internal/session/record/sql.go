package record

// The statements of this package, by the table that they are about.
const (
	blobsOfSystems   = `SELECT system FROM session`
	blobsOfTools     = `SELECT tools FROM session`
	blobsOfMessages  = `SELECT blob FROM session_message`
	blobsOfSummaries = `SELECT summary FROM session_compaction`
	blobsOfImages    = `SELECT blob FROM session_image`

	insertSession = `INSERT INTO session (id, run_id, contract_id, attempt, role, agent, tier, model, system, tools, max_output, state, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '{}', ?)`
	selectSession = `SELECT system, tools, max_output, model, state, parts FROM session WHERE id = ?`
	selectSystem  = `SELECT system FROM session WHERE id = ?`
	updateState   = `UPDATE session SET state = ?, epoch = ?, parts = ? WHERE id = ?`
	updateOutput  = `UPDATE session SET max_output = ? WHERE id = ?`
	listSessions  = `SELECT s.id, s.contract_id, s.attempt, s.role, s.agent, s.tier, s.model, s.created_at, count(t.turn),
		s.epoch, coalesce((SELECT outcome FROM session_part p WHERE p.session_id = s.id AND p.part = s.parts), '{}')
		FROM session s LEFT JOIN session_turn t ON t.session_id = s.id AND t.phase <> 'asked'
		WHERE s.run_id = ? GROUP BY s.id ORDER BY s.created_at, s.id`
	listEfforts = `SELECT s.id, s.attempt, s.role, coalesce(t.model, ''), count(t.turn), coalesce(sum(t.tokens_in), 0), coalesce(sum(t.tokens_cached), 0),
		coalesce(sum(t.tokens_write), 0), coalesce(sum(t.tokens_out), 0), coalesce(max(t.unpriced), 0)
		FROM session s LEFT JOIN session_turn t ON t.session_id = s.id AND t.phase <> 'asked'
		WHERE s.run_id = ? AND s.contract_id = ? GROUP BY s.id, t.model ORDER BY s.created_at, s.id, t.model`
	deleteSessions = `DELETE FROM session WHERE run_id = ?`

	insertPart    = `INSERT INTO session_part (session_id, part, outcome, ended_at) VALUES (?, ?, ?, ?)`
	selectOutcome = `SELECT outcome FROM session_part WHERE session_id = ? AND part = ?`

	askTurn = `INSERT INTO session_turn (session_id, turn, try, phase) VALUES (?, ?, ?, 'asked')
		ON CONFLICT (session_id, turn) DO UPDATE SET try = excluded.try, phase = 'asked'`
	answerTurn = `UPDATE session_turn SET phase = 'answered', stop = ?, said = ?, model = ?, tokens_in = ?, tokens_cached = ?,
		tokens_write = ?, tokens_out = ?, cost = ?, unpriced = ?, estimated = ? WHERE session_id = ? AND turn = ?`
	settleTurn = `UPDATE session_turn SET phase = 'settled' WHERE session_id = ? AND turn = ?`
	selectTurn = `SELECT try, phase, stop, said, model, tokens_in, tokens_cached, tokens_write, tokens_out, cost, unpriced, estimated
		FROM session_turn WHERE session_id = ? AND turn = ?`

	insertMessage    = `INSERT INTO session_message (session_id, seq, turn, blob, copied) VALUES (?, ?, ?, ?, ?)`
	selectMessages   = `SELECT blob FROM session_message WHERE session_id = ? AND seq >= ? ORDER BY seq`
	selectTranscript = `SELECT blob FROM session_message WHERE session_id = ? AND copied = 0 ORDER BY seq`

	// What was said in a turn, and to it: the answer, then the results of its calls.
	selectOfTurn = `SELECT blob FROM session_message WHERE session_id = ? AND copied = 0 AND turn BETWEEN ? AND ? ORDER BY seq`

	insertImage = `INSERT INTO session_image (session_id, blob) VALUES (?, ?) ON CONFLICT (session_id, blob) DO NOTHING`

	beginTry = `INSERT INTO session_try (session_id, turn, idx, tries) VALUES (?, ?, ?, 1)
		ON CONFLICT (session_id, turn, idx) DO UPDATE SET tries = session_try.tries + 1`
	spareTry       = `UPDATE session_try SET tries = tries - 1 WHERE session_id = ? AND turn = ? AND idx = ? AND tries > 0`
	selectTries    = `SELECT idx, tries FROM session_try WHERE session_id = ? AND turn = ?`
	deleteTry      = `DELETE FROM session_try WHERE session_id = ? AND idx = ?`
	deleteAllTries = `DELETE FROM session_try WHERE session_id = ?`

	insertCompaction = `INSERT INTO session_compaction (session_id, epoch, turn, cause, first_seq, summarised, bytes_before, bytes_after,
		summary, written_by, model, tokens_in, tokens_cached, tokens_write, tokens_out, cost, unpriced, began_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectSummary = `SELECT summary FROM session_compaction WHERE session_id = ? ORDER BY epoch DESC LIMIT 1`

	selectWindow = `SELECT tokens FROM session_window WHERE run_id = ? AND model = ?`
	learnWindow  = `INSERT INTO session_window (run_id, model, tokens) VALUES (?, ?, ?)
		ON CONFLICT (run_id, model) DO UPDATE SET tokens = excluded.tokens WHERE excluded.tokens < session_window.tokens`
	deleteWindows = `DELETE FROM session_window WHERE run_id = ?`
)

// deletePerSession removes what belongs to the sessions of a run.
func deletePerSession() []string {
	const those = ` WHERE session_id IN (SELECT id FROM session WHERE run_id = ?)`
	return []string{
		`DELETE FROM session_message` + those, `DELETE FROM session_turn` + those,
		`DELETE FROM session_part` + those, `DELETE FROM session_compaction` + those, `DELETE FROM session_try` + those,
		`DELETE FROM session_image` + those,
	}
}
