package verify

import (
	"testing"
	"time"
)

// Lines that nobody asked for are found out where that costs next to nothing.
func TestWorthLinking(t *testing.T) {
	for _, tt := range []struct {
		programs int
		suite    time.Duration
		want     bool
	}{
		{1, 0, true}, {5, time.Second, true}, {30, 0, false}, {30, 900 * time.Millisecond, false}, {30, 19 * time.Second, false}, {30, 20 * time.Second, true}, {300, time.Minute, false},
	} {
		if got := worthLinking(tt.programs, tt.suite); got != tt.want {
			t.Errorf("%d programs beside %v: %t", tt.programs, tt.suite, got)
		}
	}
}
