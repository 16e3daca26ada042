package event_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

const followers = 16

// BenchmarkTail appends b.N events in transactions of one, from several
// writers, and lets sixteen followers see each: through the log, or by
// reading the database after each commit as readers without a tail do.
func BenchmarkTail(b *testing.B) {
	b.Run("log-16", func(b *testing.B) {
		_, log := open(b)
		tail(b, log, func(ctx context.Context, n int) {
			seen := 0
			for _, err := range log.Tail(ctx, 0, event.Filter{Run: "r"}) {
				if err != nil {
					return
				}
				if seen++; seen == n {
					return
				}
			}
		})
	})
	b.Run("database-16", func(b *testing.B) {
		_, log := open(b)
		tail(b, log, func(ctx context.Context, n int) { poll(ctx, log, n) })
	})
}

// poll reads what is new every millisecond: without a tail there is nothing
// that wakes a reader.
func poll(ctx context.Context, log *event.Log, n int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	after := int64(0)
	for seen := 0; seen < n; {
		evs, err := log.Since(ctx, after, event.Filter{Run: "r"}, 256)
		if err != nil {
			return
		}
		if seen += len(evs); len(evs) > 0 {
			after = evs[len(evs)-1].ID
			continue
		}
		<-tick.C
	}
}

func tail(b *testing.B, log *event.Log, read func(ctx context.Context, n int)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var readers, writers sync.WaitGroup
	cpu := cpuTime()
	b.ResetTimer()
	for range followers {
		readers.Go(func() { read(ctx, b.N) })
	}
	const crowd = 32
	for w := range crowd {
		writers.Go(func() {
			for i := w; i < b.N; i += crowd {
				if err := log.Append(ctx, note("r", i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	writers.Wait()
	readers.Wait()
	b.ReportMetric(float64(b.N*followers)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-us/event")
}

// BenchmarkTailReading is the reading alone: the events are there, sixteen
// followers take them.
func BenchmarkTailReading(b *testing.B) {
	db, log := open(b)
	const n = 4000 // all in the ring
	appendNotes(b, log, "r", 0, n)
	read := func(b *testing.B, one func()) {
		cpu := cpuTime()
		for b.Loop() {
			var wg sync.WaitGroup
			for range followers {
				wg.Go(one)
			}
			wg.Wait()
		}
		b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N*n*followers), "cpu-ns/delivery")
		b.ReportMetric(float64(b.N*n*followers)/b.Elapsed().Seconds(), "deliveries/s")
	}
	b.Run("log-16", func(b *testing.B) {
		read(b, func() { follow(b, log, 0, event.Filter{}, n) })
	})
	b.Run("database-16", func(b *testing.B) {
		read(b, func() {
			for after := int64(0); after < n; {
				var evs []agency.Event
				err := db.Read(context.Background(), func(s *store.Snapshot) (err error) {
					evs, err = event.Since(s, after, event.Filter{}, 256)
					return err
				})
				if err != nil {
					b.Error(err)
					return
				}
				after = evs[len(evs)-1].ID
			}
		})
	})
}
