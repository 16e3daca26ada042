package lock

// The statements of this package.
const (
	// insertToken notes that a token was asked for.
	insertToken = `INSERT INTO board_token (run_id, type, scope) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`

	// updateReleased notes when a token was released, and selectReleased reads it.
	updateReleased = `UPDATE board_token SET released_at = ? WHERE run_id = ? AND type = ? AND scope = ?`
	selectReleased = `SELECT released_at FROM board_token WHERE run_id = ? AND type = ? AND scope = ?`

	// selectTokens reads the tokens of a run that were ever asked for.
	selectTokens = `SELECT type, scope FROM board_token WHERE run_id = ? ORDER BY type, scope`

	// insertWaiter gives an agent the last place in a queue; it keeps the one that
	// it has.
	insertWaiter = `INSERT INTO board_token_wait (run_id, type, scope, agent_id, hold, requested_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	// selectWaiters reads a queue, the next first.
	selectWaiters = `SELECT w.agent_id, a.role, w.requested_at, w.hold FROM board_token_wait w
JOIN board_agent a USING (run_id, agent_id) WHERE run_id = ? AND type = ? AND scope = ? ORDER BY w.seq`

	// deleteWaiter takes an agent out of a queue, leaveQueues out of all.
	deleteWaiter = `DELETE FROM board_token_wait WHERE run_id = ? AND type = ? AND scope = ? AND agent_id = ?`
	leaveQueues  = `DELETE FROM board_token_wait WHERE run_id = ? AND agent_id = ?`

	// selectPrunable reads the runs that asked for a token.
	selectPrunable = `SELECT DISTINCT run_id FROM board_token ORDER BY run_id`

	// What is kept of a run.
	deleteTokens  = `DELETE FROM board_token WHERE run_id = ?`
	deleteWaiters = `DELETE FROM board_token_wait WHERE run_id = ?`
)
