package file

import (
	"errors"
	"fmt"
	"strings"
)

// maxNear bounds the search for a near miss: lines of the file times lines of
// the text.
const maxNear = 4 << 20

// notFound says that a text does not occur and helps: where it occurs but for
// blanks, or where most of its lines stand.
func notFound(content, before string) error {
	hint := "read the place again and copy it exactly"
	if numbered(before) {
		hint = "it seems to contain the line numbers of read_file: leave them out"
	} else if line, same, of := nearest(content, before); line > 0 {
		have := excerpt(content, line, of)
		if same == of {
			hint = fmt.Sprintf("lines %d to %d are the same but for blanks. They are exactly:\n%s", line, line+of-1, have)
		} else {
			hint = fmt.Sprintf("the nearest place, %d of %d lines the same, is at line %d:\n%s", same, of, line, have)
		}
	}
	return errors.New("old_text does not occur in the file; " + hint)
}

// numbered tells whether each line of a text begins as read_file shows it.
func numbered(s string) bool {
	for l := range strings.Lines(s) {
		digits, _, ok := strings.Cut(strings.TrimLeft(l, " "), "\t")
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
			return false
		}
	}
	return s != ""
}

// nearest finds the window of the content whose lines, blanks aside, are most
// alike to the text's. Line is 0 where less than half of them are.
func nearest(content, before string) (line, same, of int) {
	have, want := squeezed(content), squeezed(before)
	for len(want) > 1 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if len(want) == 0 || len(have)*len(want) > maxNear {
		return 0, 0, 0
	}
	best := 0
	for i := range have {
		n := 0
		for j, w := range want {
			if i+j < len(have) && have[i+j] == w {
				n++
			}
		}
		if n > best && strings.Join(have[i:min(len(have), i+len(want))], "") != "" {
			best, line = n, i+1
		}
	}
	if best*2 < len(want) {
		return 0, 0, 0
	}
	return line, best, len(want)
}

// squeezed are the lines of a text with every run of blanks as one.
func squeezed(s string) []string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return lines
}

// excerpt is n lines from line, at most 30 and as they stand.
func excerpt(content string, line, n int) string {
	lines := strings.Split(content, "\n")
	to := min(len(lines), line-1+min(n, 30))
	var b strings.Builder
	for _, l := range lines[line-1 : to] {
		b.WriteString(clip(strings.TrimRight(l, "\r"), 400) + "\n")
	}
	return b.String()
}
