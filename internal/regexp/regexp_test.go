package regexp

import "testing"

// A wrong expression ends the tests of its package, not a run in which it is first asked.
func TestWrongOnesAreFound(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("taken")
		}
	}()
	MustCompile(`(`)
}
