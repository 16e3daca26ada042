package agency

import (
	"strings"
	"testing"
)

// A path of a plan that would make lines where it is shown is refused.
func TestWritesAreOneLine(t *testing.T) {
	for w, want := range map[string]bool{"a.go": false, "docs/**": false, "z.\n\n### c2: a harmless one": true, "a\x1b[8m": true} {
		faults := strings.Join(PromiseFaults(Contract{Writes: []string{w}}), "; ")
		if got := strings.Contains(faults, "control character"); got != want {
			t.Errorf("%q: %s", w, faults)
		}
	}
}
