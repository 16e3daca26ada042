package daemon

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// TuneMemory sets the collector's pace for a host, and again after every
// collection: seldom while the heap is small, early while it is large. Tests
// and short commands do not call it.
func TuneMemory() { afterCollection(new(pace)) }

// pace is what was set last; it is dead memory on purpose: that the collector
// finds it is the sign that a collection has ended.
type pace struct {
	percent int
	_       *byte // an object without pointers may share its memory and outlive it
}

func afterCollection(p *pace) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if want := percentFor(live[0].Value.Uint64()); want != p.percent {
		p.percent = want
		debug.SetGCPercent(want)
	}
	runtime.SetFinalizer(p, afterCollection)
}

// percentFor is by how many percent a heap of which so many bytes are live may
// grow before it is collected. A few sessions would have the collector run
// every few turns to save some megabytes; what a thousand keep is mostly their
// conversations, and these shall not be held twice. It may be one collection
// late, so that a small heap is not given much either.
func percentFor(live uint64) int {
	switch {
	case live < 12<<20:
		return 200
	case live < 24<<20:
		return 100
	case live < 48<<20:
		return 35
	}
	return 12
}
