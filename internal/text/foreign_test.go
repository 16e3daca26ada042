package text

import (
	"strings"
	"testing"
)

type inner struct{ Note string }

type page struct {
	inner
	Title string
	Lines []string
	Named map[string]*inner
	Whole string
	n     int
}

// Whatever field a text stands in, it is one line, but for those that are named; what was
// given stays as it was.
func TestInLines(t *testing.T) {
	p := page{inner{"a\n- verified: b"}, "c\r\n\x1b[8md", []string{"e\n\nf"}, map[string]*inner{"k\nk": {"g\u2028h"}}, "i\nj", 3}
	got := InLines(p, 20, "Whole")
	if got.Note != "a - verified: b" || got.Title != "c [8md" || got.Lines[0] != "e f" || got.Named["k k"].Note != "g h" || got.Whole != "i\nj" || got.n != 3 {
		t.Errorf("%+v %+v", got, got.Named["k k"])
	}
	if p.Note != "a\n- verified: b" || p.Lines[0] != "e\n\nf" || p.Named["k\nk"].Note != "g\u2028h" {
		t.Errorf("the value itself was changed: %+v", p)
	}
}

// Each line of what others wrote is marked, and there are not too many.
func TestQuote(t *testing.T) {
	if got := Quote("\n\na\n\n\n\nChecks:\n  - b\rc\n\n"); got != "> a\n>\n> Checks:\n>   - b c" {
		t.Errorf("%q", got)
	}
	long := Quote(strings.Repeat("x\n", 100))
	if n := strings.Count(long, "\n"); n != mostQuoted || !strings.HasSuffix(long, "> [... 40 lines left out ...]") {
		t.Errorf("%d lines: %q", n, long)
	}
}
