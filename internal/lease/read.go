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
	all, err := read(tx, leasesOf, name)
	return slices.DeleteFunc(all, func(l Lease) bool { return !l.Live }), err
}

// List reads the leases whose name begins with prefix, by name, those that are
// no longer live too, until they are released.
func List(tx *store.Tx, prefix string) ([]Lease, error) {
	return read(tx, leasesIn, prefix, store.PrefixEnd(prefix))
}

// Next is how long the lease with the least time left has, of those whose name
// begins with prefix; ok is false where there is none.
func Next(q store.Querier, prefix string) (left time.Duration, ok bool, err error) {
	var at sql.NullInt64
	if err := q.QueryRow(nextExpiry, prefix, store.PrefixEnd(prefix)).Scan(&at); err != nil || !at.Valid {
		return 0, false, err
	}
	now, err := Awake(q)
	return max(0, time.Duration(at.Int64)-now), true, err
}

func read(tx *store.Tx, query string, args ...any) ([]Lease, error) {
	now, err := Awake(tx)
	if err != nil {
		return nil, err
	}
	epoch, err := tx.Epoch()
	if err != nil {
		return nil, err
	}
	return store.All(tx, func(row store.Scanner) (l Lease, err error) {
		var since int64
		var expires time.Duration
		err = row.Scan(&l.Name, &l.Holder, &l.Shared, &l.Label, &l.Note, &since, &l.Fence.Epoch, &l.Fence.N, &l.TTL, &expires)
		l.Since = store.Time(since)
		l.Left = expires - now
		l.Live = l.Left > 0 && l.Fence.Epoch == epoch
		return l, err
	}, query, args...)
}
