package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"agency/bench/peer"
	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

const (
	followers  = 16
	tailEvents = 6000
	tailers    = 32 // writers
)

// tailRow compares sixteen followers of the log with sixteen readers of the
// database, who look for what is new every millisecond when they are level,
// while 32 writers append events in transactions of one. Both pay for the
// writing.
func tailRow() row {
	return row{figures: []string{"tail/rate-vs-readers", "tail/cpu-vs-readers"}, cheap: true, measure: measureTail}
}

func measureTail(ctx context.Context, b *bench) ([]figure, error) {
	cpu := samples{}
	side := func(name string, through func(context.Context, *store.DB) (func(int) error, func() error)) contender {
		return contender{name, func(ctx context.Context) (float64, error) {
			rate, used, err := b.tail(ctx, through)
			cpu[name] = append(cpu[name], used)
			return rate, err
		}}
	}
	s, err := b.rounds(ctx, side("tail", byLog), side("readers", byDatabase))
	if err != nil {
		return nil, err
	}
	return []figure{
		{"tail/rate-vs-readers", s.ratio("tail", "readers"), atLeast(2), []string{
			s.raw("tail", 1000, "thousand deliveries/s"), s.raw("readers", 1000, "thousand deliveries/s"),
		}},
		{"tail/cpu-vs-readers", cpu.ratio("tail", "readers"), atMost(0.35), []string{
			cpu.raw("tail", 1, "us CPU an event"), cpu.raw("readers", 1, "us CPU an event"),
		}},
	}, nil
}

// byLog follows through the log, whose followers are fed after each commit.
func byLog(ctx context.Context, db *store.DB) (follow func(n int) error, end func() error) {
	log := event.NewLog(db)
	return func(n int) error {
		for _, err := range log.Tail(ctx, 0, event.Filter{Run: benchRun}) {
			if err != nil {
				return err
			}
			if n--; n == 0 {
				break
			}
		}
		return nil
	}, log.Close
}

// byDatabase reads what is new, and where there is nothing, waits.
func byDatabase(ctx context.Context, db *store.DB) (follow func(n int) error, end func() error) {
	return func(n int) error {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for after := int64(0); n > 0; {
			var evs []agency.Event
			err := db.Read(ctx, func(s *store.Snapshot) (err error) {
				evs, err = event.Since(s, after, event.Filter{Run: benchRun}, 256)
				return err
			})
			if err != nil {
				return err
			}
			if n -= len(evs); len(evs) == 0 {
				<-tick.C
				continue
			}
			after = evs[len(evs)-1].ID
		}
		return nil
	}, func() error { return nil }
}

// tail gives deliveries a second and microseconds of CPU an event.
func (b *bench) tail(ctx context.Context, through func(context.Context, *store.DB) (func(int) error, func() error)) (rate, cpu float64, err error) {
	dir, err := b.folder()
	if err != nil {
		return 0, 0, err
	}
	db, err := store.Open(ctx, store.Options{LongLog: true, Path: filepath.Join(dir, "tail.db"), Sets: []store.Set{event.Migrations()}})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	follow, end := through(ctx, db)
	defer func() { err = errors.Join(err, end()) }()
	var all sync.WaitGroup
	errs := make([]error, followers+tailers)
	begun, used := time.Now(), peer.CPU()
	for i := range followers {
		all.Go(func() { errs[i] = follow(tailEvents) })
	}
	for w := range tailers {
		all.Go(func() { errs[followers+w] = appendShare(ctx, db, w) })
	}
	all.Wait()
	took := time.Since(begun)
	used = peer.CPU() - used
	return tailEvents * followers / took.Seconds(), float64(used.Microseconds()) / tailEvents, errors.Join(errs...)
}

// appendShare appends one writer's share of the events.
func appendShare(ctx context.Context, db *store.DB, writer int) error {
	for i := writer; i < tailEvents; i += tailers {
		err := db.Write(ctx, func(tx *store.Tx) error {
			_, err := event.Append(tx, agency.Event{
				RunID: benchRun, Category: agency.CategoryState, Type: "state_changed", Severity: agency.SeverityInfo,
				Summary: fmt.Sprint("event ", i), Details: fmt.Appendf(nil, `{"n":%d}`, i),
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
