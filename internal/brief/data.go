package brief

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/text"
)

// Data puts a text from outside into a block. Its marker is made from the
// text's own hash and does not occur in the text, so that nothing within can
// end the block; the same text always gives the same block, which keeps a
// prompt's prefix stable.
func Data(name, text string) string {
	text = Clean(text)
	m := marker(name, text)
	return fmt.Sprintf("<data-%s name=%q>\n%s\n</data-%s>", m, oneLine(name), strings.TrimRight(text, "\n"), m)
}

func marker(name, text string) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s", n, name, text))
		if m := hex.EncodeToString(sum[:6]); !strings.Contains(text, m) {
			return m
		}
	}
}

// Clean makes a text valid UTF-8 without control characters but line breaks
// and tabs, and without letters that change the direction or cannot be seen.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == utf8.RuneError:
			return '�'
		case unicode.IsControl(r):
			return -1
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// oneLine shows a text within a line: no line breaks, no end of a code span or
// block, not too long.
func oneLine(v any) string {
	return strings.NewReplacer("`", "'", "<", "‹", ">", "›").Replace(text.OneLine(Clean(fmt.Sprint(v)), maxLine))
}

const (
	maxLine = 400
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
