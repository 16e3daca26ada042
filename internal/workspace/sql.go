package workspace

// The statements of this package.
const (
	// insertRun keeps where a run works, once.
	insertRun = `INSERT INTO workspace_run (run_id, info) VALUES (?, ?) ON CONFLICT DO NOTHING`

	// updateRun replaces where a run works.
	updateRun = `UPDATE workspace_run SET info = ? WHERE run_id = ?`

	// selectRun reads where a run works.
	selectRun = `SELECT info FROM workspace_run WHERE run_id = ?`

	// deleteRun forgets where a run works.
	deleteRun = `DELETE FROM workspace_run WHERE run_id = ?`

	// insertCheckpoint adds a checkpoint.
	insertCheckpoint = `INSERT INTO workspace_checkpoint (run_id, workspace, id, label, tree, created_at) VALUES (?, ?, ?, ?, ?, ?)`

	checkpointsOfWorkspace = `SELECT id, label, tree, created_at FROM workspace_checkpoint WHERE run_id = ? AND workspace = ?`

	// selectCheckpoints reads those of a workspace, oldest first.
	selectCheckpoints = checkpointsOfWorkspace + ` ORDER BY n`

	// selectCheckpoint reads one of a workspace.
	selectCheckpoint = checkpointsOfWorkspace + ` AND id = ?`

	// deleteCheckpoints removes those of a run.
	deleteCheckpoints = `DELETE FROM workspace_checkpoint WHERE run_id = ?`
)
