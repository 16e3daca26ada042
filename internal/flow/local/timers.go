package local

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// timer is what a handle of a timer has beside.
type timer struct {
	h         *handle
	wait      time.Duration
	elapsed   time.Duration // as last written
	started   time.Duration // on the clock; counted from there with elapsed
	running   bool
	persisted bool // a row exists
}

// passed is how much of a timer has passed.
func (t *timer) passed(now time.Duration) time.Duration {
	if !t.running {
		return t.elapsed
	}
	return t.elapsed + now - t.started
}

// timers are a run's timers that have not fired, and what is written of them.
type timers struct {
	e   *Engine
	run agency.RunID

	open    map[string]*timer
	elapsed map[string]time.Duration // as loaded
	gone    []string                 // rows of timers that are over
	fired   []*timer                 // since the last write of the journal
	saved   time.Duration            // when it was written how much has passed
}

func (t *timers) load(s *store.Snapshot) error {
	return store.Each(s, func(row store.Scanner) error {
		var key string
		var elapsed time.Duration
		err := row.Scan(&key, &elapsed)
		t.elapsed[key] = elapsed
		return err
	}, selectTimers, string(t.run))
}

func (t *timers) add(one *timer) {
	if elapsed, ok := t.elapsed[one.h.key]; ok {
		one.elapsed, one.persisted = elapsed, true
	}
	t.open[one.h.key] = one
}

// launch begins those whose commands are durable.
func (t *timers) launch() {
	now := t.e.o.Clock.Mono()
	for _, one := range t.open {
		if !one.running {
			one.running, one.started = true, now
		}
	}
}

// fire takes a timer as the journal says that it fired; nil where none is set.
func (t *timers) fire(key string) *timer {
	one := t.open[key]
	if one != nil {
		t.drop(one)
		t.fired = append(t.fired, one)
	}
	return one
}

// drop takes a timer out, and its row with the next write.
func (t *timers) drop(one *timer) {
	delete(t.open, one.h.key)
	if one.persisted {
		t.gone = append(t.gone, one.h.key)
	}
}

// due is the timer that has passed its end by most; the key decides ties.
func (t *timers) due() *timer {
	now := t.e.o.Clock.Mono()
	var first *timer
	for _, one := range t.open {
		if !one.running || one.passed(now) < one.wait {
			continue
		}
		if first == nil || cmp.Or(cmp.Compare(one.wait-one.passed(now), first.wait-first.passed(now)), cmp.Compare(one.h.key, first.h.key)) < 0 {
			first = one
		}
	}
	return first
}

// alarm rings when the next timer is due or its progress is to be written.
func (t *timers) alarm() (<-chan time.Time, func()) {
	if len(t.open) == 0 {
		return nil, func() {}
	}
	now := t.e.o.Clock.Mono()
	next := time.Duration(1<<63 - 1)
	for _, one := range t.open {
		next = min(next, one.wait-one.passed(now), t.saved+saveEvery(one.wait)-now)
	}
	return t.e.o.Clock.After(max(next, 0))
}

// saveEvery is how much of a timer a crash may cost.
func saveEvery(wait time.Duration) time.Duration {
	return min(max(wait/10, time.Second), 30*time.Second)
}

// sorted are the open ones in the order of their keys, so that writes are
// repeatable.
func (t *timers) sorted() []*timer {
	return slices.SortedFunc(maps.Values(t.open), func(a, b *timer) int { return cmp.Compare(a.h.key, b.h.key) })
}

// save writes how far the timers are, if it is time to.
func (t *timers) save(ctx context.Context, now bool) error {
	mono := t.e.o.Clock.Mono()
	wanted := now
	for _, one := range t.open {
		wanted = wanted || mono-t.saved >= saveEvery(one.wait)
	}
	if !wanted {
		return nil
	}
	passed := map[string]time.Duration{}
	for _, one := range t.sorted() {
		if p := min(one.passed(mono), one.wait); p > 0 {
			passed[one.h.key], one.persisted = p, true
		}
	}
	for _, one := range t.fired {
		passed[one.h.key] = one.wait // fired, but the journal does not say so
	}
	t.saved = mono
	if len(passed) == 0 {
		return nil
	}
	return t.e.write(ctx, func(tx *store.Tx) error {
		for key, p := range passed {
			if _, err := tx.Exec(putTimer, string(t.run), key, int64(p)); err != nil {
				return err
			}
		}
		return nil
	})
}

// journaled drops the rows of timers that are over.
func (t *timers) journaled(tx *store.Tx) error {
	for _, key := range t.gone {
		if _, err := tx.Exec(deleteTimer, string(t.run), key); err != nil {
			return err
		}
	}
	return nil
}
