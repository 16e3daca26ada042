// Package lease says who owns what: exclusive leases with a fencing token and
// an expiry.
//
// Expiry is counted on the host's monotonic clock (store.Tx.Mono), so neither
// a change of the wall clock nor a sleep of the machine takes a lease away or
// prolongs it. Leases of an older epoch are free: their host is gone.
//
// It does not wait for a lease, renew by itself, or hold shared leases.
package lease

import (
	"database/sql"
	"embed"
	"errors"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the schema of leases.
func Migrations() store.Set { return store.Set{Name: "lease", FS: files} }

// Lease is one row as it stands; Live says whether it counts now.
type Lease struct {
	Name   string
	Holder string
	Fence  agency.Fence
	TTL    time.Duration
	Left   time.Duration // until expiry; 0 when not live
	Live   bool
}

// Get reads a lease; a name that nobody ever held gives a Lease that is not
// live.
func Get(tx *store.Tx, name string) (Lease, error) {
	l := Lease{Name: name}
	epoch, err := tx.Epoch()
	if err != nil {
		return l, err
	}
	var ttl, expires int64
	err = tx.QueryRow("SELECT holder, epoch, n, ttl, expires FROM lease WHERE name = ?", name).
		Scan(&l.Holder, &l.Fence.Epoch, &l.Fence.N, &ttl, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.TTL = time.Duration(ttl)
	left := time.Duration(expires) - tx.Mono
	// More left than was ever given: another clock wrote it, which only a host
	// that did not raise the epoch can be.
	l.Live = l.Holder != "" && l.Fence.Epoch == epoch && left > 0 && left <= l.TTL
	if l.Live {
		l.Left = left
	}
	return l, nil
}

// Acquire gives the lease called name to holder for ttl. A new holder, or an
// old one after expiry, gets a higher token; the present holder keeps its
// token and begins its ttl anew, so that a repeated call is harmless. While
// another holds it: KindConflict.
func Acquire(tx *store.Tx, name, holder string, ttl time.Duration) (agency.Fence, error) {
	if name == "" || holder == "" || ttl <= 0 {
		return agency.Fence{}, agency.Errorf(agency.KindInvalid,
			"lease %q for %q over %s: want a name, a holder and a time above 0", name, holder, ttl)
	}
	l, err := Get(tx, name)
	if err != nil {
		return agency.Fence{}, err
	}
	f := l.Fence
	switch {
	case l.Live && l.Holder != holder:
		return agency.Fence{}, agency.Errorf(agency.KindConflict, "%s is held by %s for another %s", name, l.Holder, l.Left.Round(time.Second))
	case !l.Live:
		epoch, err := tx.Epoch()
		if err != nil {
			return agency.Fence{}, err
		}
		f = agency.Fence{Epoch: epoch, N: l.Fence.N + 1}
	}
	_, err = tx.Exec(`INSERT INTO lease (name, holder, epoch, n, ttl, expires) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, n = excluded.n,
ttl = excluded.ttl, expires = excluded.expires`, name, holder, f.Epoch, f.N, int64(ttl), int64(tx.Mono+ttl))
	return f, err
}

// Renew begins the ttl anew; KindDenied when the token is superseded or has
// expired.
func Renew(tx *store.Tx, name string, f agency.Fence) error {
	l, err := checked(tx, name, f)
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE lease SET expires = ? WHERE name = ?", int64(tx.Mono+l.TTL), name)
	return err
}

// Release gives the lease back. A token that no longer holds it releases
// nothing and is no error: what it wanted is the case.
func Release(tx *store.Tx, name string, f agency.Fence) error {
	_, err := tx.Exec("UPDATE lease SET holder = '' WHERE name = ? AND epoch = ? AND n = ?", name, f.Epoch, f.N)
	return err
}

// Check refuses, with KindDenied, a token that is superseded, released or
// expired. It belongs into the transaction of the write that it guards.
func Check(tx *store.Tx, name string, f agency.Fence) error {
	_, err := checked(tx, name, f)
	return err
}

func checked(tx *store.Tx, name string, f agency.Fence) (Lease, error) {
	l, err := Get(tx, name)
	switch {
	case err != nil:
		return l, err
	case l.Live && l.Fence == f:
		return l, nil
	case l.Live:
		return l, agency.Errorf(agency.KindDenied, "token %d.%d of %s is superseded: %s holds it now", f.Epoch, f.N, name, l.Holder)
	}
	return l, agency.Errorf(agency.KindDenied, "token %d.%d of %s has expired or was released", f.Epoch, f.N, name)
}
