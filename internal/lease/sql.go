package lease

// The statements of this package.
const (
	// selectClock reads the awake clock.
	selectClock = `SELECT base, tick FROM lease_clock`

	// updateClock keeps the awake clock.
	updateClock = `UPDATE lease_clock SET base = ?, tick = ?`

	// nextNumber gives a number that no token had before.
	nextNumber = `UPDATE lease_last SET n = n + 1 RETURNING n`

	// insertLease gives a lease to its holder.
	insertLease = `INSERT INTO lease_held (kind, run_id, name, holder, label, note, since, epoch, n) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

	isKey = ` WHERE kind = ?1 AND run_id = ?2 AND name = ?3`

	// deleteLease ends a lease by its token, deleteLeases those of a kind in a run.
	deleteLease  = `DELETE FROM lease_held` + isKey + ` AND epoch = ?4 AND n = ?5`
	deleteLeases = `DELETE FROM lease_held WHERE kind = ? AND run_id = ?`

	selectLeases = `SELECT kind, run_id, name, holder, label, note, since, epoch, n FROM lease_held`

	// leaseOf reads the lease of a key, leasesIn those of a kind in a run.
	leaseOf  = selectLeases + isKey
	leasesIn = selectLeases + ` WHERE kind = ? AND run_id = ? ORDER BY n`
)
