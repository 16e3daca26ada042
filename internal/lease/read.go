package lease

import (
	"database/sql"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// Holders are the live leases of a key: one that is exclusive, or several
// that share.
func Holders(tx *store.Tx, k Key) ([]Lease, error) { return live(All(tx, k)) }

// WithParts are the live leases of a key and, where it names a whole, of all
// its parts, else of the whole.
func WithParts(tx *store.Tx, k Key) ([]Lease, error) {
	return live(read(tx, leasesNear, k.columns()...))
}

// All are the leases of a key, those that are no longer live too, until they
// are released.
func All(tx *store.Tx, k Key) ([]Lease, error) { return read(tx, leasesOf, k.columns()...) }

// List reads all leases of a kind, by key, in a run or, where it is empty, in
// every run.
func List(tx *store.Tx, kind string, run agency.RunID) ([]Lease, error) {
	return read(tx, leasesIn, kind, string(run))
}

func live(all []Lease, err error) ([]Lease, error) {
	return slices.DeleteFunc(all, func(l Lease) bool { return !l.Live }), err
}

// Next is how long the lease of a kind with the least time left has; ok is
// false where there is none.
func Next(q store.Querier, kind string) (left time.Duration, ok bool, err error) {
	var at sql.NullInt64
	if err := q.QueryRow(nextExpiry, kind).Scan(&at); err != nil || !at.Valid {
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
		err = row.Scan(&l.Kind, &l.Run, &l.Name, &l.Part, &l.Holder, &l.Shared, &l.Label, &l.Note, &since, &l.Fence.Epoch, &l.Fence.N, &l.TTL, &expires)
		l.Since = store.Time(since)
		l.Left = expires - now
		l.Live = l.Left > 0 && l.Fence.Epoch == epoch
		return l, err
	}, query, args...)
}
