package budget

import "strings"

// The statements of this package.
const (
	// insertNode adds a node, once.
	insertNode = `INSERT INTO budget_nodes (run_id, node, parent, limit_money, limit_tokens, limit_wall)
VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, node) DO NOTHING`

	// raiseLimits sets each limit that is higher; none stays none.
	raiseLimits = `UPDATE budget_nodes SET
	limit_money  = CASE WHEN limit_money > 0 AND limit_money < ?1 THEN ?1 ELSE limit_money END,
	limit_tokens = CASE WHEN limit_tokens > 0 AND limit_tokens < ?2 THEN ?2 ELSE limit_tokens END,
	limit_wall   = CASE WHEN limit_wall > 0 AND limit_wall < ?3 THEN ?3 ELSE limit_wall END,
	warned = 0, told = 0
WHERE run_id = ?4 AND node = ?5`

	// markWarned notes how many warnings of a node were given.
	markWarned = `UPDATE budget_nodes SET warned = ? WHERE run_id = ? AND node = ?`

	// markTold notes that a node's end was told, once until its limit is raised.
	markTold = `UPDATE budget_nodes SET told = 1 WHERE run_id = ? AND node = ? AND told = 0`

	nodeColumns = `node, parent, limit_money, limit_tokens, limit_wall, spent_money, spent_tokens, spent_wall,
	reserved_money, reserved_tokens, warned`

	// selectNode reads one node.
	selectNode = `SELECT ` + nodeColumns + ` FROM budget_nodes WHERE run_id = ? AND node = ?`

	// selectStages reads the nodes below one that spent or hold anything.
	selectStages = `SELECT ` + nodeColumns + ` FROM budget_nodes WHERE run_id = ? AND parent = ? AND spent_tokens + reserved_tokens + spent_wall > 0
ORDER BY spent_money DESC, spent_tokens DESC, node`

	// selectChain reads a node and all above it, the root last.
	selectChain = `WITH RECURSIVE chain (depth, name) AS (
	SELECT 0, ?2
	UNION ALL
	SELECT depth + 1, n.parent FROM chain JOIN budget_nodes n ON n.run_id = ?1 AND n.node = chain.name WHERE n.parent <> ''
)
SELECT ` + nodeColumns + ` FROM chain JOIN budget_nodes ON run_id = ?1 AND node = chain.name ORDER BY depth`

	// reserveChain and settleChain change all nodes of a chain; inChain follows.
	reserveChain = `UPDATE budget_nodes SET reserved_money = reserved_money + ?, reserved_tokens = reserved_tokens + ?`
	settleChain  = `UPDATE budget_nodes SET reserved_money = reserved_money - ?, reserved_tokens = reserved_tokens - ?,
	spent_money = spent_money + ?, spent_tokens = spent_tokens + ?, spent_wall = spent_wall + ?`

	// insertRequest adds a reservation.
	insertRequest = `INSERT INTO budget_requests (run_id, key, node, state, epoch, at, money, tokens, unpriced, agent, role, tier, model, contract_id)
VALUES (?, ?, ?, 'reserved', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// insertWaiting adds one to the queue, who keeps its place when it asks again.
	insertWaiting = `INSERT INTO budget_waiting (run_id, node, held_at, priority, epoch) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run_id, node) DO UPDATE SET held_at = excluded.held_at, epoch = excluded.epoch`

	// deleteWaiting takes one off the queue, deleteLeftWaiting all of epochs below
	// a bound.
	deleteWaiting     = `DELETE FROM budget_waiting WHERE run_id = ? AND node = ?`
	deleteLeftWaiting = `DELETE FROM budget_waiting WHERE run_id = ? AND epoch < ?`

	// selectWaiting reads the queue of a run: the highest priority first, then who
	// came first.
	selectWaiting = `SELECT node, held_at, priority FROM budget_waiting WHERE run_id = ? ORDER BY priority DESC, n`

	// selectRequest reads how a request stands.
	selectRequest = `SELECT node, state, money, tokens FROM budget_requests WHERE run_id = ? AND key = ?`

	// rebookRequest makes a reservation that of another model.
	rebookRequest = `UPDATE budget_requests SET money = ?, tokens = ?, unpriced = ?, model = ? WHERE run_id = ? AND key = ?`

	// settleRequest books what a request cost.
	settleRequest = `UPDATE budget_requests SET state = 'settled', at = ?, money = ?, tokens = ?, tokens_in = ?, tokens_cached = ?,
	tokens_write = ?, tokens_out = ?, unpriced = ?, estimated = ?, model = ? WHERE run_id = ? AND key = ?`

	// releaseRequest books a request that never reached the provider.
	releaseRequest = `UPDATE budget_requests SET state = 'released', money = 0, tokens = 0 WHERE run_id = ? AND key = ?`

	// chargeRequest books a request whose answer was lost; nobody counted it.
	chargeRequest = `UPDATE budget_requests SET state = 'lost', at = ?, money = ?, tokens = ?, estimated = 1 WHERE run_id = ? AND key = ?`

	// selectPaid reads what requests of all runs came to since a time.
	selectPaid = `SELECT run_id, key, at, money FROM budget_requests WHERE at >= ? AND money > 0 AND state IN ('settled', 'lost')`

	// selectUnderWay reads what has no answer yet.
	selectUnderWay = `SELECT node, model, at FROM budget_requests WHERE run_id = ? AND state = 'reserved' ORDER BY at`

	// setIdle notes whether a reservation waits, and nothing is asked for it.
	setIdle = `UPDATE budget_requests SET idle = ? WHERE run_id = ? AND key = ? AND state = 'reserved'`

	// selectLeftBehind reads the reservations of epochs below a bound.
	selectLeftBehind = `SELECT key, idle FROM budget_requests WHERE run_id = ? AND state = 'reserved' AND epoch < ?`

	// What is kept of a run.
	deleteRequests = `DELETE FROM budget_requests WHERE run_id = ?`
	deleteQueue    = `DELETE FROM budget_waiting WHERE run_id = ?`
	deleteNodes    = `DELETE FROM budget_nodes WHERE run_id = ?`
)

// inChain addresses n nodes of a run in one statement.
func inChain(n int) string {
	return ` WHERE run_id = ? AND node IN (?` + strings.Repeat(", ?", n-1) + `)`
}

// wholeHour is the hour in which a request was settled.
const wholeHour = `(at - at % 3600000000)`

// selectSpent sums what a run has spent.
const selectSpent = `SELECT count(*), coalesce(sum(CASE WHEN state = 'lost' THEN 1 ELSE 0 END), 0), coalesce(sum(tokens_in), 0), coalesce(sum(tokens_cached), 0),
	coalesce(sum(tokens_write), 0), coalesce(sum(tokens_out), 0), coalesce(sum(tokens), 0), coalesce(sum(money), 0), coalesce(max(unpriced), 0), coalesce(max(estimated), 0)
FROM budget_requests WHERE run_id = ? AND state IN ('settled', 'lost')`

// selectLines sums what a run has spent, told apart by an hour as well.
func selectLines(hour string) string {
	return `SELECT agent, role, tier, model, contract_id, ` + hour + ` AS hour, count(*), sum(CASE WHEN state = 'lost' THEN 1 ELSE 0 END),
	sum(tokens_in), sum(tokens_cached), sum(tokens_write), sum(tokens_out), sum(tokens), sum(money), max(unpriced), max(estimated)
FROM budget_requests WHERE run_id = ? AND state IN ('settled', 'lost')
GROUP BY agent, role, tier, model, contract_id, hour ORDER BY agent, model, contract_id, hour`
}

// selectByModel sums what a node's own requests spent, by the model that each was settled for.
const selectByModel = `SELECT model, count(*), sum(CASE WHEN state = 'lost' THEN 1 ELSE 0 END), sum(tokens), sum(money), max(unpriced)
FROM budget_requests WHERE run_id = ? AND node = ? AND state IN ('settled', 'lost') GROUP BY model ORDER BY model`

// selectAfter reads the requests of a run that were reserved after one, however they stand.
const selectAfter = `SELECT n, state, agent, role, tier, model, contract_id, node, tokens_in, tokens_cached, tokens_write, tokens_out, tokens, money, unpriced, estimated
FROM budget_requests WHERE run_id = ? AND n > ? ORDER BY n`
