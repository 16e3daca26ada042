package llm

import (
	"fmt"
	"testing"
)

// What is kept is bounded, and given again only for equal tools.
func TestMemo(t *testing.T) {
	var m Memo
	encoded := 0
	form := func(t Tool) any { encoded++; return t.Name }
	for i := range 3 * toolsKept {
		tools := []Tool{{Name: fmt.Sprint(i)}}
		for range 2 {
			if got := string(m.Encode(tools, form)); got != fmt.Sprintf("[%q]", fmt.Sprint(i)) {
				t.Errorf("tools %d give %s", i, got)
			}
		}
	}
	if n := len(*m.sets.Load()); n != toolsKept || encoded != 3*toolsKept {
		t.Errorf("%d sets kept, want %d; %d encoded", n, toolsKept, encoded)
	}
}
