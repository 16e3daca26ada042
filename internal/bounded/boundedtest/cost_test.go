package boundedtest_test

import (
	"testing"
	"time"

	"agency/internal/bounded/boundedtest"
)

var kept [][]byte

// TestCost: what is held counts; what is made and dropped does not, however much it is.
func TestCost(t *testing.T) {
	garbage := func() {
		for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
			kept = [][]byte{make([]byte, 256<<10)}
		}
	}
	kept = nil
	if held, _ := boundedtest.Cost(10*time.Millisecond, garbage); held > 8<<20 {
		t.Errorf("garbage costs %d MB", held>>20)
	}
	kept = nil
	held, _ := boundedtest.Cost(10*time.Millisecond, func() {
		var all [][]byte
		for range 80 {
			all = append(all, make([]byte, 1<<20))
		}
		garbage()
		kept = all
	})
	if held < 40<<20 || held > 88<<20 {
		t.Errorf("80 MB cost %d MB", held>>20)
	}
}
