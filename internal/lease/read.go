package lease

import (
	"database/sql"
	"slices"
	"time"

	"agency/internal/store"
)

// Holders are the live leases of a name: one that is exclusive, or several
// that share.
func Holders(tx *store.Tx, name string) ([]Lease, error) {
	all, err := read(tx, "WHERE name = ?", name)
	return slices.DeleteFunc(all, func(l Lease) bool { return !l.Live }), err
}

// List reads the leases whose name begins with prefix, by name, those that are
// no longer live too, until they are released.
func List(tx *store.Tx, prefix string) ([]Lease, error) {
	return read(tx, "WHERE name >= ?1 AND name < ?1 || char(0x10FFFF) ORDER BY name, n", prefix)
}

// Next is how long the lease with the least time left has, of those whose name
// begins with prefix; ok is false where there is none.
func Next(q store.Querier, prefix string) (left time.Duration, ok bool, err error) {
	var at sql.NullInt64
	if err := q.QueryRow("SELECT min(expires) FROM lease_held WHERE name >= ?1 AND name < ?1 || char(0x10FFFF)", prefix).Scan(&at); err != nil || !at.Valid {
		return 0, false, err
	}
	now, err := Awake(q)
	return max(0, time.Duration(at.Int64)-now), true, err
}

func read(tx *store.Tx, where string, args ...any) ([]Lease, error) {
	now, err := Awake(tx)
	if err != nil {
		return nil, err
	}
	epoch, err := tx.Epoch()
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query("SELECT name, holder, shared, label, note, since, epoch, n, ttl, expires FROM lease_held "+where, args...)
	if err != nil {
		return nil, err
	}
	var out []Lease
	for rows.Next() {
		var l Lease
		var since int64
		var expires time.Duration
		if err := rows.Scan(&l.Name, &l.Holder, &l.Shared, &l.Label, &l.Note, &since, &l.Fence.Epoch, &l.Fence.N, &l.TTL, &expires); err != nil {
			return nil, err
		}
		l.Since = store.Time(since)
		l.Left = expires - now
		l.Live = l.Left > 0 && l.Fence.Epoch == epoch
		out = append(out, l)
	}
	return out, rows.Err()
}
