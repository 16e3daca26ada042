// Package text shortens what others wrote, for one line of a log or a screen. What
// is cut bears a mark, by which redaction knows where a secret may have been parted.
package text

import (
	"fmt"
	"strings"
	"unicode"
)

// Ellipsis stands where the end of a text was cut off.
const Ellipsis = "…"

// The marks of what LeftOut stands for.
const (
	LeftBegin = "[... "
	LeftEnd   = " left out ...]"
)

// LeftOut is the line between the head and the tail of a text; much says how much is
// not there.
func LeftOut(much string) string { return LeftBegin + much + LeftEnd }

// BytesLeftOut is LeftOut of so many bytes.
func BytesLeftOut(n int64) string { return LeftOut(fmt.Sprintf("%d bytes", n)) }

// Head is the beginning of a text: at most so many runes, the last of them an
// Ellipsis where more was there. It is valid UTF-8.
func Head(s string, most int) string {
	if len(s) > most { // bytes are no fewer than runes
		n, cut := 0, 0
		for at := range s {
			if n++; n == most {
				cut = at
			} else if n > most {
				return strings.ToValidUTF8(s[:cut], "") + Ellipsis
			}
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Ends is a text of more than so many bytes without its middle. It is valid UTF-8.
func Ends(s string, most int) string {
	if left := len(s) - most; left > 0 {
		s = s[:most/2] + BytesLeftOut(int64(left)) + s[len(s)-most/2:]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// FirstLine is the Head of the first line that says something.
func FirstLine(s string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return Head(line, most)
}

// MostLine bounds what others wrote where it stands in a line of a gate, in runes.
const MostLine = 1000

// OneLine is the Head of a text whose lines stand in one: what separates words is one
// space, and nothing in it controls a terminal.
func OneLine(s string, most int) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	return Head(strings.Join(words, " "), most)
}

// FewOf are the first of many, and last how many more there are.
func FewOf(names []string, most int) []string {
	if more := len(names) - most; more > 0 {
		return append(names[:most:most], fmt.Sprintf("and %d more", more))
	}
	return names
}

// Few names the first of many.
func Few(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
