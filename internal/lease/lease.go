// Package lease says who owns what, with a fencing token.
//
// What is leased stays so until it is released: whoever grants a lease knows when
// its holder has ended, and a holder may outlive the host that granted it. The package
// also keeps the awake clock, by which others count time.
//
// It does not wait for a lease or know what a name means.
package lease

import (
	"embed"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the schema of leases and of the awake clock.
func Migrations() store.Set { return store.Set{Name: "lease", FS: files} }

// Key names what is leased.
type Key struct {
	Kind string // of thing, by which its owner finds its own leases
	Run  agency.RunID
	Name string
}

func (k Key) String() string { return strings.Join([]string{k.Kind, string(k.Run), k.Name}, "/") }

func (k Key) columns(more ...any) []any { return append([]any{k.Kind, string(k.Run), k.Name}, more...) }

// Request asks for a lease. Label is the name as people know it, Note what the
// lease is wanted for; neither means anything here.
type Request struct {
	Key
	Holder string
	Label  string
	Note   string
}

// Lease is a request that was granted.
type Lease struct {
	Request
	Fence agency.Fence
	Since time.Time
}

// Acquire grants a lease with a token that no lease had before. The same holder's
// again is the lease that it has, so that a repetition is harmless; while another holds
// it: KindConflict.
func Acquire(tx *store.Tx, r Request) (Lease, error) {
	if r.Kind == "" || r.Name == "" || r.Holder == "" {
		return Lease{}, agency.Errorf(agency.KindInvalid, "lease %q for %q: want a kind, a name and a holder", r.Key, r.Holder)
	}
	held, err := store.All(tx, scan, leaseOf, r.columns()...)
	if err != nil {
		return Lease{}, err
	}
	if len(held) > 0 {
		if held[0].Holder != r.Holder {
			return held[0], agency.Errorf(agency.KindConflict, "%s is held by %s", r.Key, held[0].Holder)
		}
		return held[0], nil
	}
	l := Lease{Request: r, Since: tx.Now}
	if l.Fence.Epoch, err = tx.Epoch(); err != nil {
		return l, err
	}
	if err := tx.QueryRow(nextNumber).Scan(&l.Fence.N); err != nil {
		return l, err
	}
	_, err = tx.Exec(insertLease, r.columns(r.Holder, r.Label, r.Note, store.Micros(tx.Now), l.Fence.Epoch, l.Fence.N)...)
	return l, err
}

// Release gives the lease back. A token that no longer holds it releases
// nothing and is no error: what it wanted is the case.
func Release(tx *store.Tx, k Key, f agency.Fence) error {
	_, err := tx.Exec(deleteLease, k.columns(f.Epoch, f.N)...)
	return err
}

// List reads the leases of a kind in a run, in the order in which they were granted.
func List(q store.Querier, kind string, run agency.RunID) ([]Lease, error) {
	return store.All(q, scan, leasesIn, kind, string(run))
}

// Forget removes the leases of a kind in a run.
func Forget(tx *store.Tx, kind string, run agency.RunID) error {
	_, err := tx.Exec(deleteLeases, kind, string(run))
	return err
}

func scan(row store.Scanner) (l Lease, err error) {
	var since int64
	err = row.Scan(&l.Kind, &l.Run, &l.Name, &l.Holder, &l.Label, &l.Note, &since, &l.Fence.Epoch, &l.Fence.N)
	l.Since = store.Time(since)
	return l, err
}
