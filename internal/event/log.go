package event

import (
	"context"
	"iter"
	"sync"

	"agency/internal/agency"
	"agency/internal/store"
)

// Ring sizes: enough for a follower that is busy for a while, little enough
// to forget. A follower further behind reads the database.
const (
	ringEvents = 4096
	ringBytes  = 8 << 20
)

// page is how many events a follower takes at a time.
const page = 256

// Log is the log of one store in this process. It holds the newest events for
// its followers; any number of followers may follow.
type Log struct {
	db   *store.DB
	stop func()

	mu    sync.Mutex
	ring  []agency.Event // ids increase; a sliding window over one array
	bytes int
	floor int64         // the ring has every event with an id above, once fed
	fed   bool          // something has been appended since NewLog
	more  chan struct{} // closed at the next append
}

// NewLog makes the log of a store and begins to collect what is appended.
func NewLog(db *store.DB) *Log {
	l := &Log{db: db, more: make(chan struct{})}
	l.stop = store.Subscribe(db, appended(), l.feed)
	return l
}

// Close ends the collecting: later events are seen by no follower of this
// log, only by Since. It is idempotent.
func (l *Log) Close() error {
	l.stop()
	return nil
}

// feed runs after each commit that appended events, in commit order.
func (l *Log) feed(evs []agency.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fed {
		// Ids increase in commit order, so what is older is in the database.
		l.fed, l.floor = true, evs[0].ID-1
	}
	for i := range evs {
		l.ring = append(l.ring, evs[i])
		l.bytes += size(&evs[i])
	}
	drop := 0
	for len(l.ring)-drop > ringEvents || (l.bytes > ringBytes && drop < len(l.ring)) {
		l.bytes -= size(&l.ring[drop])
		l.floor = l.ring[drop].ID
		drop++
	}
	l.ring = l.ring[drop:] // append copies to a new array when this one is used up
	close(l.more)
	l.more = make(chan struct{})
}

func size(ev *agency.Event) int { return 256 + len(ev.Summary) + len(ev.Details) }

// ahead gives the ring's part after an id, if the ring has all of it. The
// slice is never written again: feed only appends behind it. wait is closed
// when there is more than is returned.
func (l *Log) ahead(after int64) (evs []agency.Event, complete bool, wait <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait = l.more
	if !l.fed || after < l.floor {
		return nil, false, wait
	}
	lo, hi := 0, len(l.ring)
	for lo < hi { // the first event with a higher id
		if mid := (lo + hi) / 2; l.ring[mid].ID <= after {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return l.ring[lo:min(len(l.ring), lo+page):min(len(l.ring), lo+page)], true, wait
}

// Tail yields the events after an id that pass the filter, first those that
// are stored, then those to come, each once and in order, until the context
// ends (its cause is the last error) or the caller breaks.
func (l *Log) Tail(ctx context.Context, after int64, f Filter) iter.Seq2[agency.Event, error] {
	return func(yield func(agency.Event, error) bool) {
		for {
			evs, complete, wait := l.ahead(after)
			last := after
			var err error
			if complete {
				if len(evs) > 0 {
					last = evs[len(evs)-1].ID
				}
			} else {
				evs, last, err = l.stored(ctx, after, f)
			}
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(agency.Event{}, err)
				return
			}
			for i := range evs {
				if f.Matches(&evs[i]) && !yield(evs[i], nil) {
					return
				}
			}
			if last > after {
				after = last
				continue
			}
			select {
			case <-wait:
			case <-ctx.Done():
			}
		}
	}
}

// stored reads a page from the database, and how far it looked: up to the end
// when the page is not full, so that a filter that lets little pass does not
// begin anew each time.
func (l *Log) stored(ctx context.Context, after int64, f Filter) (evs []agency.Event, last int64, err error) {
	err = l.db.Read(ctx, func(s *store.Snapshot) error {
		last = after
		if err := s.QueryRow(selectLast).Scan(&last); err != nil {
			return err
		}
		last = max(last, after)
		evs, err = Since(s, after, f, page)
		if len(evs) == page {
			last = evs[page-1].ID
		}
		return err
	})
	return evs, last, err
}
