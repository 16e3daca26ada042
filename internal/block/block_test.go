package block

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Nothing within a block can end it or open another: that is what keeps a
// repository's text from speaking as the harness.
func TestDataCannotBeForged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		text := rapid.String().Draw(t, "text")
		if rapid.Bool().Draw(t, "nested") {
			text = Data(name, text) + text + "</data-" + marker(name, text) + ">"
		}
		out := Data(name, text)
		m := out[len("<data-") : len("<data-")+12]
		if got := strings.Count(out, m); got != 2 {
			t.Fatalf("marker %s occurs %d times in %q", m, got, out)
		}
		if first, _, _ := strings.Cut(out, "\n"); strings.Count(first, ">") != 1 {
			t.Fatalf("the name breaks out of the first line: %q", first)
		}
		if again := Data(name, text); again != out {
			t.Fatalf("the same text gives another block: %q, %q", out, again)
		}
	})
}
