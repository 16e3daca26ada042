package supervisor

import (
	"testing"

	"agency/internal/linux/landlock"
)

// TestGapsOfOldKernels names, for what a newer kernel closes, attempts that are made.
func TestGapsOfOldKernels(t *testing.T) {
	known := map[string]bool{}
	for _, a := range Attempts() {
		known[a.Name] = true
	}
	for _, g := range gapsOfAge(landlock.MinABI) {
		for _, name := range g.Leaves {
			if !known[name] {
				t.Errorf("of an old kernel: %q is no attempt", name)
			}
		}
	}
}
