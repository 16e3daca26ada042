// Package boundedtest measures what a reader of others' files costs.
package boundedtest

import (
	"runtime"
	"time"
)

// Cost runs fn, and gives how many bytes more it held at a time than before, looked at
// every so often, and how long it took.
func Cost(every time.Duration, fn func()) (held int64, took time.Duration) {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, done, most := make(chan struct{}), make(chan struct{}), uint64(0)
	go func() {
		defer close(done)
		for {
			runtime.GC() // what is held, and not what lies about
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
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
	return int64(most) - int64(before.HeapAlloc), took
}
