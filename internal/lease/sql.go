package lease

// The statements of this package.
const (
	// selectClock reads the awake clock.
	selectClock = `SELECT base, tick FROM lease_clock`

	// updateClock keeps the awake clock.
	updateClock = `UPDATE lease_clock SET base = ?, tick = ?`

	// nextNumber gives a number that no token had before.
	nextNumber = `UPDATE lease_last SET n = n + 1 RETURNING n`

	// putLease gives a lease to its holder, who may have had it.
	putLease = `INSERT INTO lease_held (kind, run_id, name, part, holder, shared, label, note, since, epoch, n, ttl, expires)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, run_id, name, part, holder) DO UPDATE SET shared = excluded.shared,
	label = excluded.label, note = excluded.note, since = excluded.since, epoch = excluded.epoch, n = excluded.n, ttl = excluded.ttl,
	expires = excluded.expires`

	isKey  = ` WHERE kind = ?1 AND run_id = ?2 AND name = ?3 AND part = ?4`
	isHeld = isKey + ` AND holder = ?5`

	// extendLease begins the time of a lease anew.
	extendLease = `UPDATE lease_held SET ttl = ?6, expires = ?7` + isHeld

	// extendLeases begins the time of a holder's live leases of a kind anew.
	extendLeases = `UPDATE lease_held SET expires = ?1 + ttl
WHERE kind = ?2 AND run_id = ?3 AND holder = ?4 AND epoch = ?5 AND expires > ?1`

	// shortenLease leaves a lease the time and the begin that it had before.
	shortenLease = `UPDATE lease_held SET expires = expires - ttl + ?6, since = ?7` + isHeld

	// deleteLease ends a lease by its token.
	deleteLease = `DELETE FROM lease_held` + isKey + ` AND epoch = ?5 AND n = ?6`

	selectLeases = `SELECT kind, run_id, name, part, holder, shared, label, note, since, epoch, n, ttl, expires FROM lease_held`

	// leasesOf reads the leases of a key, leasesNear also those of its parts or
	// of the whole.
	leasesOf   = selectLeases + isKey + ` ORDER BY holder`
	leasesNear = selectLeases + ` WHERE kind = ?1 AND run_id = ?2 AND name = ?3 AND (part = ?4 OR part = '' OR ?4 = '') ORDER BY part, holder`

	// leasesIn reads the leases of a kind, in a run or, where it is empty, in all.
	leasesIn = selectLeases + ` WHERE kind = ?1 AND (?2 = '' OR run_id = ?2) ORDER BY run_id, name, part, n`

	// nextExpiry is when the first lease of a kind ends.
	nextExpiry = `SELECT min(expires) FROM lease_held WHERE kind = ?`
)
