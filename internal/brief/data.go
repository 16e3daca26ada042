package brief

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/block"
)

// oneLine shows a text within a line.
func oneLine(v any) string { return block.InLine(fmt.Sprint(v)) }

const (
	// maxTail is how much of an output a brief repeats: failures stand last.
	maxTail     = 6 << 10
	maxFailures = 10
)

func tail(s string) string {
	if len(s) <= maxTail {
		return s
	}
	s = s[len(s)-maxTail:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/2 {
		s = s[i+1:]
	}
	return "[...]\n" + s
}

// failures are the failed tests of a receipt with their output.
func failures(r agency.Receipt) string {
	var b strings.Builder
	n := 0
	for _, t := range r.Tests {
		if t.Status != agency.TestFailed {
			continue
		}
		if n++; n > maxFailures {
			fmt.Fprintf(&b, "[%d more]\n", r.Failed-maxFailures)
			break
		}
		out := t.Output
		if len(out) > maxTail/3 {
			out = "[...]\n" + out[len(out)-maxTail/3:]
		}
		fmt.Fprintf(&b, "--- %s\n%s\n", t.Name, strings.TrimRight(out, "\n"))
	}
	return b.String()
}
