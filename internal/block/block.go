// Package block sets texts from outside apart from what a program says around them.
package block

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agency/internal/text"
)

// Data puts a text from outside into a block. Its marker is made from the
// text's own hash and does not occur in the text, so that nothing within can
// end the block; the same text always gives the same block, which keeps a
// prompt's prefix stable.
func Data(name, s string) string {
	s = Clean(s)
	m := marker(name, s)
	return fmt.Sprintf("<data-%s name=%q>\n%s\n</data-%s>", m, InLine(name), strings.TrimRight(s, "\n"), m)
}

func marker(name, s string) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s", n, name, s))
		if m := hex.EncodeToString(sum[:6]); !strings.Contains(s, m) {
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

// InLine shows a text from outside within a line: no line breaks, no end of a code span or
// block, not too long.
func InLine(s string) string {
	return strings.NewReplacer("`", "'", "<", "‹", ">", "›").Replace(text.OneLine(Clean(s), 400))
}
