// Package boundedtest measures what a reader of others' files costs.
package boundedtest

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// Cost runs fn, and gives how many bytes more it held at a time than before, looked at
// every so often, and how long it took.
func Cost(every time.Duration, fn func()) (held int64, took time.Duration) {
	before := live()
	stop, done, most := make(chan struct{}), make(chan struct{}), uint64(0)
	go func() {
		defer close(done)
		for {
			most = max(most, live())
			select {
			case <-stop:
				return
			case <-time.After(every):
			}
		}
	}()
	start := time.Now()
	fn()
	took = time.Since(start)
	close(stop)
	<-done
	return int64(most) - int64(before), took
}

// live is how many bytes are held, and not what lies about since they were counted, which on
// a busy machine is as much as fn makes meanwhile. What is made while they are counted counts
// as held, too: it is taken off.
func live() uint64 {
	held := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(held)
	before := held[0].Value.Uint64()
	runtime.GC()
	metrics.Read(held)
	live, made := held[1].Value.Uint64(), held[0].Value.Uint64()-before
	return live - min(live, made)
}
