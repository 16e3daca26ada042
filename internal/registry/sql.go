package registry

// The statements of this package. What has a seq stands in the order in which it
// was added to its run.
const (
	// insertRun adds a run, once.
	insertRun = `INSERT INTO runs (id, state, doc, copy, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

	// insertNumber gives a run the next number.
	insertNumber = `INSERT INTO run_numbers (number, run_id) SELECT coalesce(max(number), 0) + 1, ? FROM run_numbers`

	selectRuns = `SELECT id, state, reason, doc, merged, created_at, finished_at,
(SELECT coalesce(max(number), 0) FROM run_numbers WHERE run_id = runs.id) FROM runs `

	// selectRun reads one run, selectAllRuns all, oldest first.
	selectRun     = selectRuns + `WHERE id = ?`
	selectAllRuns = selectRuns + `ORDER BY created_at, id`

	// selectCopy reads the configuration that a run keeps.
	selectCopy = `SELECT copy FROM runs WHERE id = ?`

	// updateCopy replaces it.
	updateCopy = `UPDATE runs SET copy = ? WHERE id = ?`

	// updateState moves a run to a state.
	updateState = `UPDATE runs SET state = ?, reason = ?, finished_at = ? WHERE id = ?`

	// updateRun replaces a run's record.
	updateRun = `UPDATE runs SET doc = ? WHERE id = ?`

	// updateMerged sets what a run put into its target.
	updateMerged = `UPDATE runs SET merged = ? WHERE id = ?`

	// deleteRun removes a run, and by that its rows of the other tables.
	deleteRun = `DELETE FROM runs WHERE id = ?`

	// insertImage adds a picture of a run, selectImages reads them in their order.
	insertImage   = `INSERT INTO run_images (run_id, seq, name, blob) VALUES (?, ?, ?, ?)`
	selectImages  = `SELECT name, blob FROM run_images WHERE run_id = ? ORDER BY seq`
	blobsOfImages = `SELECT blob FROM run_images`

	// insertControl adds a control row that asks for nothing.
	insertControl = `INSERT INTO controls (run_id, pause, cancel, by_whom) VALUES (?, 0, 0, '')`

	// updateControl replaces a control row, but takes no cancel back.
	updateControl = `UPDATE controls SET pause = ?, cancel = CASE WHEN cancel = 1 THEN 1 ELSE ? END, by_whom = ?, hand_over = ? WHERE run_id = ?`

	// selectControl reads a control row.
	selectControl = `SELECT pause, cancel, by_whom, hand_over FROM controls WHERE run_id = ?`

	// insertIntervention notes what the overseer did, once.
	insertIntervention = `INSERT INTO interventions (run_id, event_id, behaviour, session_id, action, reason, by_whom)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	// existsIntervention tells whether somebody noted one.
	existsIntervention = `SELECT EXISTS (SELECT 1 FROM interventions WHERE run_id = ? AND event_id = ? AND behaviour = ? AND by_whom = ?)`

	// selectOrder reads what a session was ordered to do, the latest.
	selectOrder = `SELECT event_id, behaviour, session_id, action, reason FROM interventions
WHERE run_id = ? AND session_id = ? AND action IN ('pause', 'escalate', 'halt') ORDER BY event_id DESC LIMIT 1`

	// insertContract adds a contract, once.
	insertContract = `INSERT INTO contracts (run_id, id, seq, status, stage, doc)
VALUES (?1, ?2, (SELECT coalesce(max(seq) + 1, 0) FROM contracts WHERE run_id = ?1), ?3, ?4, ?5) ON CONFLICT (run_id, id) DO NOTHING`

	// updateContract replaces a contract.
	updateContract = `UPDATE contracts SET status = ?, stage = ?, completed_at = ?, doc = ? WHERE run_id = ? AND id = ?`

	// insertStep notes that a step has changed a contract, once.
	insertStep = `INSERT INTO contract_steps (run_id, step) VALUES (?, ?) ON CONFLICT DO NOTHING`

	// selectContract reads one contract, selectContracts those of a run after its
	// first ones, and selectFailed what failed in any run, the latest first.
	selectContract  = `SELECT doc FROM contracts WHERE run_id = ? AND id = ?`
	selectContracts = `SELECT doc FROM contracts WHERE run_id = ? AND seq >= ? ORDER BY seq`
	selectFailed    = `SELECT doc FROM contracts WHERE status = 'failed' ORDER BY completed_at DESC LIMIT ?`

	// selectEnded reads what had ended in any run before a time, the latest first.
	selectEnded = `SELECT doc FROM contracts WHERE status IN ('complete', 'failed') AND completed_at > 0 AND completed_at <= ? ORDER BY completed_at DESC LIMIT ?`

	// insertOutcome keeps what a contract came to, once.
	insertOutcome = `INSERT INTO outcomes (run_id, contract_id, ended_at, doc) VALUES (?, ?, ?, ?) ON CONFLICT (run_id, contract_id) DO NOTHING`

	// selectOutcomes reads what contracts of any run came to, the latest first.
	selectOutcomes = `SELECT doc FROM outcomes ORDER BY ended_at DESC, run_id, contract_id LIMIT ?`

	// insertGate adds a gate, once.
	insertGate = `INSERT INTO gates (id, run_id, seq, kind, doc, created_at)
VALUES (?1, ?2, (SELECT coalesce(max(seq) + 1, 0) FROM gates WHERE run_id = ?2), ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING`

	// selectGate reads one gate, selectGates those of a run, selectOpenGates
	// those of a run without a decision.
	selectGate      = `SELECT doc, verb, decision FROM gates WHERE id = ?`
	selectGates     = `SELECT doc, verb, decision FROM gates WHERE run_id = ? ORDER BY seq`
	selectOpenGates = `SELECT doc, verb, decision FROM gates WHERE run_id = ? AND verb = '' ORDER BY seq`

	// decideGate answers an open gate.
	decideGate = `UPDATE gates SET verb = ?, decision = ? WHERE id = ? AND verb = ''`

	// expireGate notes that the deadline of an open gate has passed, and
	// selectExpiry reads when.
	expireGate   = `UPDATE gates SET expired_at = ? WHERE id = ? AND verb = '' AND expired_at = 0`
	selectExpiry = `SELECT expired_at FROM gates WHERE id = ?`

	// insertReview adds a review, one a step.
	insertReview = `INSERT INTO reviews (run_id, step, seq, contract_id, doc)
VALUES (?1, ?2, (SELECT coalesce(max(seq) + 1, 0) FROM reviews WHERE run_id = ?1), ?3, ?4) ON CONFLICT (run_id, step) DO NOTHING`

	// selectReviews reads those of a run after its first ones.
	selectReviews = `SELECT doc FROM reviews WHERE run_id = ? AND seq >= ? ORDER BY seq`

	// insertReport keeps what the manager said at the end of a run, once.
	insertReport = `INSERT INTO reports (run_id, words) VALUES (?, ?) ON CONFLICT DO NOTHING`

	// selectReport reads what the manager said.
	selectReport = `SELECT words FROM reports WHERE run_id = ?`
)
