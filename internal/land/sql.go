package land

// The statements of this package.
const (
	// insertIntent writes a move before it; another try may go elsewhere.
	insertIntent = `INSERT INTO land_intent (step, run_id, contract, ref, old, new, checkout, merge_details, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (step) DO UPDATE SET ref = excluded.ref, old = excluded.old, new = excluded.new, checkout = excluded.checkout`

	// insertMissing records a move whose row is missing.
	insertMissing = `INSERT INTO land_intent (step, run_id, contract, ref, old, new, created_at)
VALUES (?, ?, ?, ?, '', ?, ?) ON CONFLICT (step) DO NOTHING`

	// markDone marks a move as done that was not.
	markDone = `UPDATE land_intent SET done = 1, new = ? WHERE step = ? AND done = 0`

	// deleteOpen removes a move that was not made.
	deleteOpen = `DELETE FROM land_intent WHERE step = ? AND done = 0`

	// selectMergeDetails reads how a step went together with others.
	selectMergeDetails = `SELECT merge_details FROM land_intent WHERE step = ?`

	// selectNew reads the commit that a step was to land.
	selectNew = `SELECT new FROM land_intent WHERE step = ?`

	selectIntents = `SELECT step, run_id, contract, ref, old, new, checkout, done, merge_details FROM land_intent `

	// selectOpenMerges reads the final merges that are not done, of one run or,
	// where it is empty, of all.
	selectOpenMerges = selectIntents + `WHERE done = 0 AND contract = '' AND (? = '' OR run_id = ?) ORDER BY created_at, step`

	// selectLastDone reads the newest move of a ref that is done.
	selectLastDone = selectIntents + `WHERE done = 1 AND run_id = ? AND ref = ? ORDER BY created_at DESC, n DESC LIMIT 1`

	// selectLandings reads what a run has landed, oldest first.
	selectLandings = selectIntents + `WHERE done = 1 AND run_id = ? ORDER BY created_at, n`

	// deleteIntents removes those of a run.
	deleteIntents = `DELETE FROM land_intent WHERE run_id = ?`
)
