package board

import (
	"strings"
	"testing"
)

func TestFirstLine(t *testing.T) {
	wide := strings.Repeat("ü", longest)
	for text, want := range map[string]string{
		"":                                "",
		" one \n two":                     "one ",
		wide:                              wide,
		wide + "\nmore":                   wide,
		wide + "x":                        wide[:2*(longest-1)] + "…",
		strings.Repeat("x", 3*longest):    strings.Repeat("x", longest-1) + "…",
		"\n\n" + strings.Repeat("ab", 40): strings.Repeat("ab", 40),
	} {
		if got := firstLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
