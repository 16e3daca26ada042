package main

import (
	"strings"
	"testing"

	"agency/internal/ui/tui"
)

// TestNoColoursOfOthers: what stands in the files of a repository colours no terminal.
func TestNoColoursOfOthers(t *testing.T) {
	var out strings.Builder
	on := terminal{style: tui.Style{Color: true}}
	on.out = tui.NewScreen(&out, on.style)
	if err := on.showPlain(false, nil, func() string { return "a.py:1: def login(): # \x1b[31mred\n" }); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "a.py:1: def login(): # red\n" {
		t.Errorf("printed %q", got)
	}
}
