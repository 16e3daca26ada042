// Package lock is how the agents of a run take turns: locks of files and their
// symbols, and execution tokens with a queue.
//
// Who holds one is a lease; the tables here say who waits. Each operation is a
// function of a transaction (store.Tx); a Manager adds waiting. Who ends gives
// back what it holds in the same commit, and a heartbeat renews an agent's locks
// (see Hooks of Migrations).
//
// The package does not know what a lock or token guards: whoever writes checks
// its fence.
package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
)

// TTL is how long a lock is held without a heartbeat of its holder.
const TTL = 600 * time.Second

// Request asks for a file, or for one symbol of it as path#Symbol. A lock of
// a file goes for all of its symbols.
type Request struct {
	Run    agency.RunID
	Agent  agency.AgentID
	Path   string // from the root of the repository
	Shared bool   // others may share it; else nobody else has it
	Reason string
	TTL    time.Duration // 0: TTL
}

// FileLock is a lock that is held. Its fence goes with each write that it
// guards.
type FileLock struct {
	Run        agency.RunID   `json:"run_id"`
	Path       string         `json:"file_path"`
	Agent      agency.AgentID `json:"agent_id"`
	Shared     bool           `json:"shared"`
	Reason     string         `json:"reason,omitempty"`
	AcquiredAt time.Time      `json:"acquired_at"`
	Left       time.Duration  `json:"left"` // nanoseconds awake until it expires
	Fence      agency.Fence   `json:"fence"`
}

// Held is the error of a lock that others hold. Its kind is KindConflict.
type Held struct {
	Path    string
	Holders []FileLock
	err     error
}

func (e *Held) Error() string { return e.err.Error() }

// Unwrap gives the error with the kind.
func (e *Held) Unwrap() error { return e.err }

// Lock is the Lock of this package in a transaction of its own; that the lock
// was refused is an event too.
func (m *Manager) Lock(ctx context.Context, r Request) (f agency.Fence, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		f, err = Lock(tx, r)
		return err
	})
	var held *Held
	if !errors.As(err, &held) {
		return f, err
	}
	return f, errors.Join(err, m.db.Write(ctx, func(tx *store.Tx) error { return held.tell(tx, r) }))
}

// Lock gives an agent a lock, which it keeps by its heartbeats until it unlocks
// or leaves. The same request again is nothing; an agent that shares gets the
// lock alone when nobody else shares it, and one that has it alone keeps it so.
// *Held while others hold what does not go together with it.
func Lock(tx *store.Tx, r Request) (agency.Fence, error) {
	p, err := board.ParsePath(r.Path)
	if err != nil {
		return agency.Fence{}, err
	}
	if r.TTL < 0 || r.TTL > board.MaxTime {
		return agency.Fence{}, agency.Errorf(agency.KindInvalid, "lock of %s for %s: want 0 to %s", r.Path, r.TTL, board.MaxTime)
	}
	if r.TTL == 0 {
		r.TTL = TTL
	}
	if err := board.MustLive(tx, r.Run, r.Agent); err != nil {
		return agency.Fence{}, err
	}
	near, err := lease.WithParts(tx, lockKey(r.Run, p))
	if err != nil {
		return agency.Fence{}, err
	}
	var others []FileLock
	had := agency.Fence{}
	for _, l := range near {
		switch {
		case l.Holder == string(r.Agent) && l.Key == lockKey(r.Run, p):
			had = l.Fence
		case l.Holder != string(r.Agent) && !(l.Shared && r.Shared):
			others = append(others, lockOf(l))
		}
	}
	if len(others) > 0 {
		return agency.Fence{}, lockHeld(p.Shown, others)
	}
	f, err := lease.Acquire(tx, lease.Request{
		Key: lockKey(r.Run, p), Holder: string(r.Agent), Shared: r.Shared, TTL: r.TTL, Label: p.Shown, Note: r.Reason,
	})
	if err != nil || f == had {
		return f, err
	}
	board.WakeMaintain(tx)
	return f, logLock(tx, r.Run, r.Agent, "locks "+p.Shown, agency.LockAcquired{Name: p.Shown, Holder: string(r.Agent), Shared: r.Shared})
}

// Unlock gives a lock back. One that nobody holds is given back already;
// KindDenied for another's, and for a token that is no longer the lock's.
func Unlock(tx *store.Tx, run agency.RunID, agent agency.AgentID, name string, f agency.Fence) error {
	p, err := board.ParsePath(name)
	if err != nil {
		return err
	}
	held, err := lease.Holders(tx, lockKey(run, p))
	if err != nil || len(held) == 0 {
		return err
	}
	for _, l := range held {
		if l.Holder == string(agent) && l.Fence == f {
			return release(tx, l, "")
		}
	}
	return agency.Errorf(agency.KindDenied, "lock of %s: token %d.%d of %s is not one of those that hold it: %s",
		p.Shown, f.Epoch, f.N, agent, names(held))
}

// Renew begins a lock's time anew, as each heartbeat of its holder does.
// KindDenied for a token that does not hold it.
func Renew(tx *store.Tx, run agency.RunID, name string, f agency.Fence) error {
	p, err := board.ParsePath(name)
	if err != nil {
		return err
	}
	return lease.Renew(tx, lockKey(run, p), f)
}

// Check refuses a token that does not hold the lock, with KindDenied. It
// belongs into the transaction of the write that the lock guards.
func Check(tx *store.Tx, run agency.RunID, name string, f agency.Fence) error {
	p, err := board.ParsePath(name)
	if err != nil {
		return err
	}
	return lease.Check(tx, lockKey(run, p), f)
}

// List are the locks held in a run, by path.
func List(tx *store.Tx, run agency.RunID) ([]FileLock, error) {
	all, err := lease.List(tx, lockKind, run)
	var out []FileLock
	for _, l := range all {
		if l.Live {
			out = append(out, lockOf(l))
		}
	}
	return out, err
}

// lockKind is the kind of the leases that are locks.
const lockKind = "lock"

func lockKey(run agency.RunID, p board.Path) lease.Key {
	return lease.Key{Kind: lockKind, Run: run, Name: p.File, Part: p.Symbol}
}

func lockOf(l lease.Lease) FileLock {
	return FileLock{
		Run: l.Run, Path: l.Label, Agent: agency.AgentID(l.Holder), Shared: l.Shared, Reason: l.Note,
		AcquiredAt: l.Since, Left: l.Left, Fence: l.Fence,
	}
}

func lockHeld(shown string, by []FileLock) error {
	var who []string
	for _, l := range by {
		text := fmt.Sprintf("%s (%s, another %s", l.Agent, l.Path, l.Left.Round(time.Second))
		if l.Reason != "" {
			text += ": " + l.Reason
		}
		who = append(who, text+")")
	}
	return &Held{Path: shown, Holders: by, err: agency.Errorf(agency.KindConflict, "%s is locked by %s", shown, strings.Join(who, ", ")).
		WithMend("work on something else, or ask the holder by a message")}
}

// tell logs that a lock was refused.
func (e *Held) tell(tx *store.Tx, r Request) error {
	d := agency.LockDenied{Name: e.Path, Holder: string(r.Agent)}
	for _, l := range e.Holders {
		d.HeldBy = append(d.HeldBy, string(l.Agent))
	}
	return logLock(tx, r.Run, r.Agent, "is refused "+e.Path+", held by "+strings.Join(d.HeldBy, ", "), d)
}

// release ends a lock or token lease, for a reason where it was not its holder
// that did.
func release(tx *store.Tx, l lease.Lease, reason string) error {
	if err := lease.Release(tx, l.Key, l.Fence); err != nil {
		return err
	}
	text := "unlocks " + l.Label
	if reason != "" {
		text = "loses the lock of " + l.Label + ": " + reason
	}
	return logLock(tx, l.Run, agency.AgentID(l.Holder), text, agency.LockReleased{Name: l.Label, Holder: l.Holder, Reason: reason})
}

// releaseLocks is for an agent that has ended.
func releaseLocks(tx *store.Tx, run agency.RunID, agent agency.AgentID, reason string) error {
	all, err := lease.List(tx, lockKind, run)
	for _, l := range all {
		if l.Holder == string(agent) && err == nil {
			err = release(tx, l, reason)
		}
	}
	return err
}

// sweepLocks tells of the locks whose time is over. Others do not wait for it.
func sweepLocks(tx *store.Tx) (n int, err error) {
	all, err := lease.List(tx, lockKind, "")
	for _, l := range all {
		if l.Left > 0 {
			continue
		}
		if err := release(tx, l, "its time is over"); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

func logLock(tx *store.Tx, run agency.RunID, agent agency.AgentID, text string, d agency.Detail) error {
	ev := agency.NewEvent(run, agency.SeverityDebug, string(agent)+" "+text, d)
	ev.AgentID = agent
	_, err := event.Append(tx, ev)
	return err
}

func names(held []lease.Lease) string {
	var out []string
	for _, l := range held {
		out = append(out, l.Holder)
	}
	return strings.Join(out, ", ")
}
