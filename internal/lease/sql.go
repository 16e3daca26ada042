package lease

// The statements of this package. A range of names ends before its second bound
// (store.PrefixEnd).
const (
	// selectClock reads the awake clock.
	selectClock = `SELECT base, tick FROM lease_clock`

	// updateClock keeps the awake clock.
	updateClock = `UPDATE lease_clock SET base = ?, tick = ?`

	// nextNumber gives a number that no token had before.
	nextNumber = `UPDATE lease_last SET n = n + 1 RETURNING n`

	// putLease gives a lease to its holder, who may have had it.
	putLease = `INSERT INTO lease_held (name, holder, shared, label, note, since, epoch, n, ttl, expires)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name, holder) DO UPDATE SET shared = excluded.shared, label = excluded.label,
	note = excluded.note, since = excluded.since, epoch = excluded.epoch, n = excluded.n, ttl = excluded.ttl, expires = excluded.expires`

	// extendLease begins the time of a lease anew.
	extendLease = `UPDATE lease_held SET ttl = ?, expires = ? WHERE name = ? AND holder = ?`

	// extendLeases begins the time of a holder's live leases in a range anew.
	extendLeases = `UPDATE lease_held SET expires = ?1 + ttl
WHERE name >= ?2 AND name < ?3 AND holder = ?4 AND epoch = ?5 AND expires > ?1`

	// shortenLease leaves a lease the time and the begin that it had before.
	shortenLease = `UPDATE lease_held SET expires = expires - ttl + ?, since = ? WHERE name = ? AND holder = ?`

	// deleteLease ends a lease by its token.
	deleteLease = `DELETE FROM lease_held WHERE name = ? AND epoch = ? AND n = ?`

	selectLeases = `SELECT name, holder, shared, label, note, since, epoch, n, ttl, expires FROM lease_held `

	// leasesOf reads the leases of a name.
	leasesOf = selectLeases + `WHERE name = ?`

	// leasesIn reads the leases in a range.
	leasesIn = selectLeases + `WHERE name >= ? AND name < ? ORDER BY name, n`

	// nextExpiry is when the first lease of a range ends.
	nextExpiry = `SELECT min(expires) FROM lease_held WHERE name >= ? AND name < ?`
)
