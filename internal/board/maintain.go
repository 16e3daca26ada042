package board

import (
	"cmp"
	"context"
	"time"

	"agency/internal/agency"
	"agency/internal/lease"
	"agency/internal/store"
)

// Limits are what a run's own configuration says. A zero field means the
// board's.
type Limits struct {
	MaxQueue int
	// Cleanup is the longest time between two looks of Maintain; the shortest of
	// all runs counts.
	Cleanup time.Duration
}

// Limit sets the limits of a run in this process.
func (b *Board) Limit(run agency.RunID, l Limits) {
	b.boxes.mu.Lock()
	b.boxes.limits[run] = l
	b.boxes.mu.Unlock()
	b.boxes.wake()
}

// maxQueue is how many messages of one recipient of a run may be pending.
func (b *Board) maxQueue(run agency.RunID) int {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	return cmp.Or(b.boxes.limits[run].MaxQueue, b.o.MaxQueue)
}

// cleanup is the longest time between two looks.
func (b *Board) cleanup() time.Duration {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	var shortest time.Duration
	for _, l := range b.boxes.limits {
		if l.Cleanup > 0 && (shortest == 0 || l.Cleanup < shortest) {
			shortest = l.Cleanup
		}
	}
	return cmp.Or(shortest, b.o.Cleanup)
}

// atOnce is how much one transaction of Maintain ends, so that senders do not wait
// for it.
const atOnce = 200

// settling is how long Maintain waits where something is due by its own look and
// not by that of the transaction, whose clock was read a little earlier.
const settling = 10 * time.Millisecond

// Maintain ends what is over when its time comes, until the context ends or the
// board is closed: mail past its time to live, overdue responses, expired keys,
// locks and holds. While nothing is due it writes nothing, and it looks only
// every Options.Cleanup. An error of the store ends it too; it may be called
// again.
func (b *Board) Maintain(ctx context.Context) error {
	for {
		in, err := b.expireDue(ctx)
		if err != nil {
			return err
		}
		rang := make(chan struct{})
		stop := b.o.After(in, func() { close(rang) })
		select {
		case <-rang:
		case <-b.boxes.timed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-b.over:
			err = ErrClosed
		}
		stop()
		if err != nil {
			return err
		}
	}
}

// expireDue ends what is over and tells how long there is nothing to do.
func (b *Board) expireDue(ctx context.Context) (time.Duration, error) {
	for {
		in, timed := time.Duration(0), false
		if err := b.db.Read(ctx, func(q *store.Snapshot) (err error) { in, timed, err = b.due(q); return err }); err != nil {
			return 0, err
		}
		switch {
		case !timed:
			return b.cleanup(), nil
		case in > 0:
			return min(in, b.cleanup()), nil
		}
		n := 0
		if err := b.db.Write(ctx, func(tx *store.Tx) error {
			for _, part := range b.timed {
				more, err := part.Expire(tx, atOnce)
				if n += more; err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return 0, err
		}
		if n == 0 {
			return settling, nil
		}
	}
}

// due is when the first of all parts has something to end.
func (b *Board) due(q store.Querier) (in time.Duration, ok bool, err error) {
	for _, part := range b.timed {
		left, timed, err := part.Due(q)
		if err != nil {
			return 0, false, err
		}
		if timed && (!ok || left < in) {
			in, ok = left, true
		}
	}
	return in, ok, nil
}

// Due is when the next Sweep has something to do, in time of the awake clock
// from now; ok is false while nothing is timed.
func Due(q store.Querier) (in time.Duration, ok bool, err error) {
	var at int64
	if err := q.QueryRow(nextDue).Scan(&at); err != nil || at == 0 {
		return 0, false, err
	}
	now, err := clock(q)
	return max(0, time.Duration(at)-now), true, err
}

// clock is what times to live, deadlines, holds and heartbeats count on: time
// during which a host lived and the machine was awake. It goes on where it
// stood when another host takes over.
func clock(q store.Querier) (time.Duration, error) { return lease.Awake(q) }
