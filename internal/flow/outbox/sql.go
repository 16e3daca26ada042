package outbox

// The statements of this package.
const (
	// insertSignal adds a signal.
	insertSignal = `INSERT INTO flow_outbox (run_id, id, name, payload) VALUES (?, ?, ?, ?)`

	// selectSignals reads what is to be delivered, in the order of the decisions.
	selectSignals = `SELECT seq, run_id, id, name, payload FROM flow_outbox ORDER BY seq`

	// deleteDelivered removes what the engine has taken.
	deleteDelivered = `DELETE FROM flow_outbox WHERE seq <= ?`

	// deleteRun removes what a run was sent.
	deleteRun = `DELETE FROM flow_outbox WHERE run_id = ?`
)
