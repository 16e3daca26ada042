package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agency/internal/agency"
)

// Fault is one thing that is wrong with a configuration. Line and Col are
// 1-based and count characters; they are 0 where no file is at fault, and
// File is then how the user wrote the flag.
type Fault struct {
	File      string
	Line, Col int
	What      string
	Source    string // the line at fault, secrets masked
}

// Error is the fault without its "agency: config: " in front.
func (f Fault) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, f.Col)
		}
		b.WriteString(": ")
	}
	b.WriteString(f.What)
	if f.Line > 0 {
		line, caret := window(f.Source, f.Col)
		fmt.Fprintf(&b, "\n%5d | %s\n      | %s^", f.Line, line, strings.Repeat(" ", caret))
	}
	return b.String()
}

// Faults is every fault of a configuration, in the order of files and lines.
type Faults []Fault

// Error prints one fault after the other; the first is without "agency: ",
// which the command line puts in front of every error.
func (fs Faults) Error() string {
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = "config: " + f.Error()
	}
	return strings.Join(parts, "\nagency: ")
}

// maxFaults bounds what is shown of a file that is something else entirely.
const maxFaults = 50

// collector gathers faults while files are read.
type collector struct{ faults []Fault }

func (c *collector) add(src *lines, line, col int, format string, args ...any) {
	f := Fault{File: src.path, Line: line, Col: max(col, 1), What: fmt.Sprintf(format, args...)}
	if line > 0 {
		f.Source = src.line(line)
	}
	c.faults = append(c.faults, f)
}

// err is nil without faults.
func (c *collector) err() error { return Faults(c.faults).Err() }

// Err is the faults as an error, KindInvalid: each once, in order, no more than a
// person reads. It is nil without faults.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	fs = slices.Clone(fs)
	first := map[string]int{} // files stay in the order they were read
	for i, f := range slices.Backward(fs) {
		first[f.File] = i
	}
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(first[a.File], first[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	fs = slices.CompactFunc(fs, func(a, b Fault) bool { return a == b })
	if len(fs) > maxFaults {
		more := len(fs) - maxFaults
		fs = append(fs[:maxFaults:maxFaults], Fault{What: "and " + agency.Things(more, "more fault", "more faults")})
	}
	return &agency.Error{Kind: agency.KindInvalid, Err: fs}
}

// lines is a file's lines, kept for faults.
type lines struct {
	path  string
	lines []string
}

func (t *lines) line(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	if len(t.lines[n-1]) > maxLine {
		return "…" // a whole file of JSON in a line: nobody reads it, and to mask it takes long
	}
	if t.insideSecret(n) {
		return strings.Repeat("*", utf8.RuneCountInString(t.lines[n-1]))
	}
	return maskLine(t.lines[n-1])
}

const windowWidth = 120

// window cuts a long line around the column and makes control characters
// visible as spaces, so that a terminal shows the caret below its place.
func window(line string, col int) (string, int) {
	rs := []rune(line)
	for i, r := range rs {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
			rs[i] = ' '
		}
	}
	at := min(col-1, len(rs))
	from := 0
	if len(rs) > windowWidth {
		from = max(0, min(at-windowWidth/2, len(rs)-windowWidth))
		rs = rs[from:min(len(rs), from+windowWidth)]
	}
	return strings.TrimRight(string(rs), " "), at - from
}
