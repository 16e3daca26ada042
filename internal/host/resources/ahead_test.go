package resources

import (
	"context"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
)

// A base is run once, whoever begins with it, and what runs has left before the
// resources that it works with go.
func TestAheadOnceAndOver(t *testing.T) {
	var a ahead
	var begun, left atomic.Int32
	do := func(ctx context.Context) {
		begun.Add(1)
		<-ctx.Done()
		left.Add(1)
	}
	ended, end := context.WithCancel(t.Context())
	for _, base := range []agency.OID{"a", "a", "b"} {
		a.begin(ended, t.Context(), base, do)
	}
	end() // the session that began it is over, and its run is not
	a.begin(t.Context(), t.Context(), "c", do)
	a.close()
	if begun.Load() != 3 || left.Load() != 3 {
		t.Errorf("%d began and %d have left, of three", begun.Load(), left.Load())
	}
	a.begin(t.Context(), t.Context(), "d", do)
	a.close()
	if begun.Load() != 3 {
		t.Error("it began after it was closed")
	}
}

// A cancelled run leaves nothing at work.
func TestAheadEndsWithItsRun(t *testing.T) {
	var a ahead
	cancelled, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	a.begin(t.Context(), cancelled, "a", func(ctx context.Context) {
		<-ctx.Done()
		close(left)
	})
	cancel()
	<-left
	a.close()
}
