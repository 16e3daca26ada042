package daemon

import "testing"

// A small heap is left alone, a large one is kept close to what is live.
func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{0: 200, 12 << 20: 100, 24 << 20: 35, 48 << 20: 12, 4 << 30: 12} {
		if got := percentFor(live); got != want {
			t.Errorf("with %d bytes live: %d %%, want %d", live, got, want)
		}
	}
}
