package check

// The statements of this package.
const (
	blobsOfReceipts = `SELECT detail FROM receipts`

	// insertReceipt adds a receipt.
	insertReceipt = `INSERT INTO receipts (id, run_id, n, contract_id, agent_id, stage, kind, command, tree, env, exit_code, cause,
	unread, duration, cpu, passed, failed, skipped, parsed, reusable, copy_of, detail, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectReceipts = `SELECT id, run_id, contract_id, kind, command, tree, env, exit_code, cause, unread, duration, cpu, passed, failed, skipped,
	parsed, detail, at, stage, copy_of
FROM receipts WHERE `

	// selectReceipt reads one.
	selectReceipt = selectReceipts + `id = ?`

	// selectOfRun reads those of a run after its first ones, in the order in which
	// they were made.
	selectOfRun = selectReceipts + `run_id = ? ORDER BY n LIMIT ? OFFSET ?`

	// selectOfStage reads those of a kind and stage of a run.
	selectOfStage = selectReceipts + `run_id = ? AND stage = ? AND kind = ? ORDER BY n`

	// selectOfTree reads those of a kind on a tree.
	selectOfTree = selectReceipts + `run_id = ? AND tree = ? AND kind = ? ORDER BY n`

	// selectNewest reads the newest of a kind of a contract.
	selectNewest = selectReceipts + `run_id = ? AND contract_id = ? AND kind = ? ORDER BY n DESC LIMIT 50`

	// selectLastOf reads the newest of a command that ran by itself to its own
	// end, but for one stage.
	selectLastOf = selectReceipts + `command = ? AND stage <> ? AND reusable = 1 AND copy_of = '' ORDER BY at DESC, n DESC LIMIT 1`

	// selectNamed reads whether a command of a run named its tests when it last ended well.
	selectNamed = `SELECT parsed FROM receipts WHERE run_id = ? AND command = ? AND exit_code = 0 AND reusable = 1 AND copy_of = '' ORDER BY n DESC LIMIT 1`

	// selectDuration reads how long a command of a run took when it last came to
	// its own end.
	selectDuration = `SELECT duration FROM receipts WHERE run_id = ? AND command = ? AND reusable = 1 AND copy_of = '' ORDER BY n DESC LIMIT 1`

	// standsFor picks what may stand for another run of a check. A failure that
	// no test explains is known in its own run only.
	standsFor = `tree = ? AND command = ? AND env = ? AND reusable = 1 AND (exit_code = 0 OR parsed = 1 OR run_id = ?)`

	// selectReusable reads the newest that may stand for another.
	selectReusable = selectReceipts + standsFor + ` ORDER BY at DESC, n DESC LIMIT 1`

	// selectRuns reads those that may stand for another, one of each run: what
	// was taken over keeps the time of its run.
	selectRuns = selectReceipts + `id IN (SELECT max(id) FROM receipts WHERE ` + standsFor + ` GROUP BY at) ORDER BY at DESC LIMIT ?`

	// selectTaken reads what the same check of the same stage has taken over.
	selectTaken = selectReceipts + `run_id = ? AND contract_id = ? AND stage = ? AND kind = ?
AND tree = ? AND command = ? AND env = ? AND reusable = 1 ORDER BY n DESC LIMIT 1`

	// distrust has no receipt of a check stand for another.
	distrust = `UPDATE receipts SET reusable = 0 WHERE tree = ? AND command = ? AND env = ?`

	// selectLastNumber reads the number of a run's newest receipt.
	selectLastNumber = `SELECT max(n) FROM receipts WHERE run_id = ?`

	// deleteReceipts removes those of a run.
	deleteReceipts = `DELETE FROM receipts WHERE run_id = ?`
)
