package board

import (
	"cmp"
	"context"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// Limits are what a run's own configuration says. A zero field means the
// board's.
type Limits struct {
	MaxQueue       int
	ReceiveTimeout time.Duration
}

// Limit sets the limits of a run in this process.
func (b *Board) Limit(run agency.RunID, l Limits) {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	b.boxes.limits[run] = l
}

func (b *Board) limits(run agency.RunID) Limits {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	l := b.boxes.limits[run]
	return Limits{cmp.Or(l.MaxQueue, b.o.MaxQueue), cmp.Or(l.ReceiveTimeout, b.o.ReceiveTimeout)}
}

// atOnce is how much one transaction of Keep ends, so that senders do not wait
// for it.
const atOnce = 200

// between is the longest time between two looks at what tells no time of its
// own: locks, tokens and keys, whose operations look at the clock themselves.
const between = 10 * time.Second

// Keep ends what is over, until the context ends or the board is closed: mail
// past its time to live and overdue responses at once, the rest within some
// seconds. An error of the store ends it too; it may be called again.
func (b *Board) Keep(ctx context.Context) error {
	for {
		in, err := b.tidy(ctx)
		if err != nil {
			return err
		}
		timer := time.NewTimer(in)
		select {
		case <-timer.C:
		case <-b.boxes.timed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-b.over:
			err = ErrClosed
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// tidy ends what is over and tells how long there is nothing to do.
func (b *Board) tidy(ctx context.Context) (time.Duration, error) {
	for {
		n := 0
		if err := b.db.Write(ctx, func(tx *store.Tx) (err error) { n, err = Tidy(tx, atOnce); return err }); err != nil {
			return 0, err
		}
		if n > 0 {
			continue
		}
		in, timed := between, false
		err := b.db.Read(ctx, func(q *store.Snapshot) (err error) { in, timed, err = Due(q); return err })
		if !timed {
			in = between
		}
		return min(max(in, time.Millisecond), between), err // the reader's clock may be ahead by a little
	}
}
