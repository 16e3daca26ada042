package verdicts

// The statements of this package.
const (
	// insertVerdict keeps a verdict; the first one of a step stays.
	insertVerdict = `INSERT INTO verdicts (run_id, step, contract_id, verdict, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	// selectVerdict reads the verdict of a step.
	selectVerdict = `SELECT verdict FROM verdicts WHERE run_id = ? AND step = ?`

	// selectVerdicts reads those of a run after a number, in the order in which they
	// were given.
	selectVerdicts = `SELECT n, verdict FROM verdicts WHERE run_id = ? AND n > ? ORDER BY n`

	// deleteVerdicts removes those of a run.
	deleteVerdicts = `DELETE FROM verdicts WHERE run_id = ?`
)
