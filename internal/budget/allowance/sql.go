package allowance

// The statements of this package. A day that lies ahead counts to each day before it:
// a clock that was set back gives no money back.
const (
	isHeld = ` WHERE repo = ? AND run_id = ? AND key = ?`

	// putHeld holds an amount for a request, in the place of what it held before.
	putHeld = `INSERT INTO allowance_held (repo, run_id, key, epoch, place, money) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (repo, run_id, key) DO UPDATE SET money = excluded.money`

	// selectHeld reads what a request holds, deleteHeld ends it.
	selectHeld = `SELECT money FROM allowance_held` + isHeld
	deleteHeld = `DELETE FROM allowance_held` + isHeld

	// addSpent books what a request came to.
	addSpent = `INSERT INTO allowance_spent (day, repo, run_id, place, money) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (day, repo, run_id) DO UPDATE SET money = allowance_spent.money + excluded.money`

	// selectSpent reads what was booked from a day on, selectHolding which requests
	// hold something.
	selectSpent   = `SELECT day, repo, run_id, place, money FROM allowance_spent WHERE day >= ?`
	selectHolding = `SELECT repo, run_id, key FROM allowance_held`

	// sumSpent is all that was spent from a day on, sumHeld all that is held.
	sumSpent = `SELECT coalesce(sum(money), 0) FROM allowance_spent WHERE day >= ?`
	sumHeld  = `SELECT coalesce(sum(money), 0) FROM allowance_held`

	// selectSpenders reads who spent from a day on, the most first.
	selectSpenders = `SELECT repo, run_id, max(place), sum(money) AS spent FROM allowance_spent WHERE day >= ?
GROUP BY repo, run_id ORDER BY spent DESC, repo, run_id`

	// selectHosts reads whose requests hold something, selectOf what those of a host
	// are.
	selectHosts = `SELECT DISTINCT repo, epoch FROM allowance_held`
	selectOf    = `SELECT run_id, key, place, money FROM allowance_held WHERE repo = ? AND epoch = ?`
)
