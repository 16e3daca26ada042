package lock

import (
	"embed"
	"errors"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/lease"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema. It needs those of lease and board.
func Migrations() store.Set {
	return store.Set{Name: "board_lock", FS: migrations, Hooks: []store.Hook{store.On(board.Left(), releaseAll), store.On(board.Alive(), renew)}}
}

// releaseAll gives away what an agent that has ended holds or waits for.
func releaseAll(tx *store.Tx, d board.Departure) error {
	return errors.Join(releaseLocks(tx, d.Run, d.Agent, d.Reason), releaseTokens(tx, d.Run, d.Agent, d.Reason))
}

// renew prolongs the locks of an agent that was heard of.
func renew(tx *store.Tx, m board.Member) error {
	return lease.RenewAll(tx, lockKind, m.Run, string(m.Agent))
}

// Timed is how locks and holds end by time.
func Timed() board.Timed { return board.Timed{Due: due, Expire: expire} }

func due(q store.Querier) (in time.Duration, ok bool, err error) {
	for _, kind := range []string{lockKind, tokenKind} {
		left, held, err := lease.Next(q, kind)
		if err != nil {
			return 0, false, err
		}
		if held && (!ok || left < in) {
			in, ok = left, true
		}
	}
	return in, ok, nil
}

func expire(tx *store.Tx, _ int) (int, error) {
	locks, err := sweepLocks(tx)
	if err != nil {
		return locks, err
	}
	tokens, err := sweepTokens(tx)
	return locks + tokens, err
}

// Recover brings a run's locks and tokens to where they were before the last
// host ended: for a host that has raised the epoch, before anybody works. Agents
// that have not ended keep what they hold, with a new fence and the time that
// was left, and their places in queues. Once more is nothing.
func Recover(tx *store.Tx, run agency.RunID) error {
	for _, kind := range []string{lockKind, tokenKind} {
		held, err := lease.List(tx, kind, run)
		if err != nil {
			return err
		}
		for _, l := range held {
			if err := readopt(tx, l); err != nil {
				return err
			}
		}
	}
	keys, err := tokenKeys(tx, run)
	for _, k := range keys {
		if err == nil {
			_, err = settle(tx, k)
		}
	}
	return err
}

// readopt keeps a lease of the last host for a holder that has not ended.
func readopt(tx *store.Tx, l lease.Lease) error {
	err := board.MustLive(tx, l.Run, agency.AgentID(l.Holder))
	if err == nil {
		_, err = lease.Adopt(tx, l)
	}
	switch agency.KindOf(err) {
	case agency.KindNotFound, agency.KindConflict, agency.KindDenied: // ended, taken by another, or over
		return endLease(tx, l)
	}
	return err
}

// endLease takes a lock or a token that nobody has any more.
func endLease(tx *store.Tx, l lease.Lease) error {
	const reason = "its holder has ended"
	if l.Kind == tokenKind {
		return takeToken(tx, l, reason)
	}
	return release(tx, l, reason)
}

// Forget removes a run's locks and tokens.
func Forget(tx *store.Tx, run agency.RunID) error {
	for _, query := range []string{deleteTokens, deleteWaiters} {
		if _, err := tx.Exec(query, string(run)); err != nil {
			return err
		}
	}
	for _, kind := range []string{lockKind, tokenKind} {
		held, err := lease.List(tx, kind, run)
		if err != nil {
			return err
		}
		for _, l := range held {
			if err := lease.Release(tx, l.Key, l.Fence); err != nil {
				return err
			}
		}
	}
	return nil
}

// Prune removes what need not be kept of a run that ended long ago: which
// tokens it had.
func Prune(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(deleteTokens, string(run))
	return err
}

// Prunable are the runs, ended or not, of which Prune would remove something.
func Prunable(q store.Querier) ([]agency.RunID, error) {
	return store.Column[agency.RunID](q, selectPrunable)
}
