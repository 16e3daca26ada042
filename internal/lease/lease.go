// Package lease says who owns what: exclusive or shared, with a fencing token
// and an expiry.
//
// Expiry is counted on the awake clock, so neither a change of the wall clock
// nor a sleep of the machine takes a lease away or prolongs it. Leases of an
// older epoch are free, since their host is gone, unless they are adopted.
//
// It does not wait for a lease, renew by itself, or know what a name means.
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
	Part string // of what Name names, where that is leased by itself
}

func (k Key) String() string {
	return strings.TrimRight(strings.Join([]string{k.Kind, string(k.Run), k.Name, k.Part}, "/"), "/")
}

func (k Key) columns(more ...any) []any {
	return append([]any{k.Kind, string(k.Run), k.Name, k.Part}, more...)
}

// Request asks for a lease. Label is the name as people know it, Note what the
// lease is wanted for; neither means anything here.
type Request struct {
	Key
	Holder string
	Shared bool
	TTL    time.Duration
	Label  string
	Note   string
}

// Lease is a request that was granted. It is live until it expires, is
// released, or another host takes the store.
type Lease struct {
	Request
	Fence agency.Fence
	Since time.Time
	Left  time.Duration // until expiry, 0 or less after it
	Live  bool
}

// Acquire grants a lease. A repeated request keeps its token and begins its
// ttl anew, so that it is harmless; a holder that shares becomes exclusive
// only when it is alone, with a new token, and one that is exclusive stays so.
// While others hold what does not go together with it: KindConflict.
func Acquire(tx *store.Tx, r Request) (agency.Fence, error) {
	if r.Name == "" || r.Holder == "" || r.TTL <= 0 {
		return agency.Fence{}, agency.Errorf(agency.KindInvalid,
			"lease %q for %q over %s: want a name, a holder and a time above 0", r.Key, r.Holder, r.TTL)
	}
	held, err := Holders(tx, r.Key)
	if err != nil {
		return agency.Fence{}, err
	}
	for _, l := range held {
		switch {
		case l.Holder == r.Holder && (l.Shared == r.Shared || !l.Shared):
			return l.Fence, extend(tx, l, r.TTL)
		case l.Holder != r.Holder && !(l.Shared && r.Shared):
			return agency.Fence{}, agency.Errorf(agency.KindConflict, "%s is held by %s for another %s", r.Key, l.Holder, l.Left.Round(time.Second))
		}
	}
	return grant(tx, r)
}

// grant gives the lease a token that no lease had before.
func grant(tx *store.Tx, r Request) (f agency.Fence, err error) {
	now, err := Awake(tx)
	if err != nil {
		return f, err
	}
	if f.Epoch, err = tx.Epoch(); err != nil {
		return f, err
	}
	if err := tx.QueryRow(nextNumber).Scan(&f.N); err != nil {
		return f, err
	}
	_, err = tx.Exec(putLease, r.columns(
		r.Holder, r.Shared, r.Label, r.Note, store.Micros(tx.Now), f.Epoch, f.N, int64(r.TTL), int64(now+r.TTL))...)
	return f, err
}

// extend begins the ttl anew.
func extend(tx *store.Tx, l Lease, ttl time.Duration) error {
	now, err := Awake(tx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(extendLease, l.columns(l.Holder, int64(ttl), int64(now+ttl))...)
	return err
}

// Renew begins the ttl anew; KindDenied when the token is superseded, released
// or expired.
func Renew(tx *store.Tx, k Key, f agency.Fence) error {
	l, err := checked(tx, k, f)
	if err != nil {
		return err
	}
	return extend(tx, l, l.TTL)
}

// RenewAll renews what a holder has of a kind in a run.
func RenewAll(tx *store.Tx, kind string, run agency.RunID, holder string) error {
	now, err := Awake(tx)
	if err != nil {
		return err
	}
	epoch, err := tx.Epoch()
	if err != nil {
		return err
	}
	_, err = tx.Exec(extendLeases, int64(now), kind, string(run), holder, epoch)
	return err
}

// Release gives the lease back. A token that no longer holds it releases
// nothing and is no error: what it wanted is the case.
func Release(tx *store.Tx, k Key, f agency.Fence) error {
	_, err := tx.Exec(deleteLease, k.columns(f.Epoch, f.N)...)
	return err
}

// Check refuses, with KindDenied, a token that is superseded, released or
// expired. It belongs into the transaction of the write that it guards.
func Check(tx *store.Tx, k Key, f agency.Fence) error {
	_, err := checked(tx, k, f)
	return err
}

func checked(tx *store.Tx, k Key, f agency.Fence) (Lease, error) {
	held, err := Holders(tx, k)
	if err != nil {
		return Lease{}, err
	}
	for _, l := range held {
		if l.Fence == f {
			return l, nil
		}
	}
	if len(held) > 0 {
		return Lease{}, agency.Errorf(agency.KindDenied, "token %d.%d of %s is superseded: %s holds it now", f.Epoch, f.N, k, held[0].Holder)
	}
	return Lease{}, agency.Errorf(agency.KindDenied, "token %d.%d of %s has expired or was released", f.Epoch, f.N, k)
}

// Adopt takes a lease of an earlier host over into this epoch: the same holder
// with a new token and the time that was left. It is for a host that has found
// the holder still at work; KindConflict where another has it meanwhile.
func Adopt(tx *store.Tx, l Lease) (f agency.Fence, err error) {
	if l.Live {
		return l.Fence, nil
	}
	if l.Left <= 0 {
		return f, agency.Errorf(agency.KindDenied, "%s of %s has expired", l.Key, l.Holder)
	}
	if f, err = Acquire(tx, l.Request); err != nil {
		return f, err
	}
	_, err = tx.Exec(shortenLease, l.columns(l.Holder, int64(min(l.Left, l.TTL)), store.Micros(l.Since))...)
	return f, err
}
