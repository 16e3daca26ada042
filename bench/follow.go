package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

const (
	followRate    = 1000 // events a second
	followWriters = 100
	followFor     = 5 * time.Second
	followAgain   = 700 // events after which the second follower asks anew
	followAim     = 100 * time.Millisecond
)

// followRow follows the log over the host's socket while a hundred agents write a
// thousand events a second: what was lost or came twice of two followers, of whom
// one leaves and asks again after the last event that it saw, and how long after
// its time an event arrived.
func followRow() row {
	return row{figures: []string{"tail/1000s-amiss", "tail/1000s-lag"}, measure: measureFollow}
}

func measureFollow(ctx context.Context, b *bench) (out []figure, err error) {
	l, err := b.lookedAt(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	amiss, lags, written := 0, []time.Duration{}, 0.0
	for range b.n {
		after, err := l.lastEvent(ctx)
		if err != nil {
			return nil, err
		}
		all := followRate * int(followFor/time.Second)
		stays, leaves := &follower{seen: make([]int, all)}, &follower{seen: make([]int, all), again: followAgain}
		var wait sync.WaitGroup
		errs := make([]error, 3)
		begun := time.Now()
		for i, f := range []*follower{stays, leaves} {
			wait.Go(func() { errs[i] = f.follow(ctx, l.dial(), after, begun) })
		}
		wait.Go(func() { errs[2] = l.write(ctx, begun, all) })
		wait.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		written = max(written, time.Since(begun).Seconds()/followFor.Seconds())
		amiss += stays.amiss() + leaves.amiss()
		lags = append(lags, slices.Concat(stays.lags, leaves.lags)...)
	}
	slices.Sort(lags)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	p99 := lags[len(lags)*99/100]
	return []figure{
		{"tail/1000s-amiss", float64(amiss), atMost(0), []string{fmt.Sprintf("of %d deliveries; the last event came after %.3g of the time of writing", len(lags), written)}},
		{"tail/1000s-lag", float64(p99) / float64(followAim), atMost(1), []string{
			fmt.Sprintf("p50 %.3g ms, p99 %.3g ms, most %.3g ms from when an event was due to its arrival", ms(lags[len(lags)/2]), ms(p99), ms(lags[len(lags)-1])),
		}},
	}, nil
}

func (l *looked) lastEvent(ctx context.Context) (last int64, err error) {
	doc, err := l.view.Doc(ctx, benchRun)
	return doc.LastEvent, err
}

// dueAt is when the n-th event is due after the beginning.
func dueAt(n int) time.Duration { return time.Duration(n) * time.Second / followRate }

// write writes events, each when it is due, or as soon as its writer is free.
func (l *looked) write(ctx context.Context, begun time.Time, all int) error {
	var wait sync.WaitGroup
	errs := make([]error, followWriters)
	for w := range followWriters {
		wait.Go(func() {
			for n := w; n < all && errs[w] == nil; n += followWriters {
				ev := toolEvent(n, agentOf(w), agency.ContractID(fmt.Sprint("c", w)))
				if errs[w] = pause(ctx, time.Until(begun.Add(dueAt(n)))); errs[w] == nil {
					errs[w] = l.log.Append(ctx, ev)
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// follower counts how often each event came.
type follower struct {
	seen  []int
	lags  []time.Duration
	again int // it asks anew after so many; 0: never
}

// follow follows until the last event has come; where that is lost, until a while
// after the last that came.
func (f *follower) follow(ctx context.Context, c *api.Client, after int64, begun time.Time) error {
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*followFor+10*time.Second)
	defer cancel()
	for left := len(f.seen); left > 0; {
		for ev, err := range c.Events(ctx, api.EventQuery{Run: benchRun, After: after, Follow: true}) {
			if ctx.Err() != nil {
				return nil // what did not come is lost
			}
			if err != nil {
				return err
			}
			var d agency.ToolCalled
			if err := json.Unmarshal(ev.Details, &d); err != nil {
				return err
			}
			n := d.Turn - 1
			f.seen[n]++
			f.lags = append(f.lags, time.Since(begun)-dueAt(n))
			if after = ev.ID; f.seen[n] == 1 {
				left--
			}
			if left == 0 || f.again > 0 && len(f.lags)%f.again == 0 {
				break
			}
		}
	}
	return nil
}

// amiss is how many events were lost, and how many came more than once.
func (f *follower) amiss() (n int) {
	for _, times := range f.seen {
		n += max(times-1, 1-times)
	}
	return n
}
