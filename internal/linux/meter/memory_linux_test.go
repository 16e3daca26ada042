package meter

import (
	"testing"
	"time"
)

// However slow counts become, the next is never far, and they never take more than
// half of a processor.
func TestCountsAreNotPutOff(t *testing.T) {
	for _, tt := range []struct {
		cost time.Duration
		much bool
		want time.Duration
	}{
		{time.Millisecond, false, hiddenPause},
		{10 * time.Millisecond, false, 250 * time.Millisecond},
		{10 * time.Millisecond, true, hiddenPause},
		{500 * time.Millisecond, true, time.Second},
		{800 * time.Millisecond, false, hiddenMost},
		{3 * time.Second, false, 6 * time.Second},
		{3 * time.Second, true, 6 * time.Second},
	} {
		if got := pauseAfter(tt.cost, tt.much); got != tt.want {
			t.Errorf("after one of %s, much %v: %s, want %s", tt.cost, tt.much, got, tt.want)
		}
	}
}
