package text_test

import (
	"strings"
	"testing"

	"agency/internal/text"
)

// However a text is written, its end is kept.
func TestTail(t *testing.T) {
	const all = "0123456789"
	for pieces := 1; pieces <= len(all); pieces++ {
		for most := range len(all) + 2 {
			tail := text.Tail{Most: most}
			for rest := all; rest != ""; {
				n := min(pieces, len(rest))
				if got, err := tail.Write([]byte(rest[:n])); got != n || err != nil {
					t.Fatal(got, err)
				}
				rest = rest[n:]
			}
			end, whole := tail.End()
			if !strings.HasSuffix(all, end) || len(end) != min(most, len(all)) || whole != (most >= len(all)) {
				t.Errorf("of %q, in pieces of %d, at most %d: %q, %t", all, pieces, most, end, whole)
			}
		}
	}
}
