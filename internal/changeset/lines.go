package changeset

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// Lines are what a change does to the new side of each file.
type Lines struct {
	// Added are the lines that the change adds, by file.
	Added map[string][]check.Lines
	// CutAt are the lines behind which old ones are gone, by file.
	CutAt map[string][]int

	each func(Line) // nil: nobody reads what the lines say

	// Where the reading of a unified diff is.
	file     string // of the new side; empty where it is gone
	at       int    // line of the new side
	old, new int    // lines of the hunk's sides still to come
}

// Added are the lines that a change adds, by file.
func Added(ctx context.Context, d git.Dir, from, to agency.OID) (map[string][]check.Lines, error) {
	c, err := LinesBetween(ctx, d, from, to)
	return c.Added, err
}

// LinesBetween reads the lines that differ between two trees, as git gives them.
func LinesBetween(ctx context.Context, d git.Dir, from, to agency.OID) (*Lines, error) {
	c := newLines()
	w := &lineWriter{each: c.line}
	err := d.Diff().PatchTo(ctx, from, to, git.PatchOptions{Context: 1}, w)
	w.end()
	return c, err
}

// Line is a line that a change adds, at a place of the new side, or one that it takes away.
type Line struct {
	Added bool
	File  string // of the new side; empty where the file is gone
	At    int    // from 1, of one that is added
	Text  []byte // its first 64 KiB; valid until the next
}

// EachLine reads the lines that differ between two trees, with what they say. Files that git
// takes for binary have none.
func EachLine(ctx context.Context, d git.Dir, from, to agency.OID, each func(Line)) error {
	c := newLines()
	c.each = each
	w := &lineWriter{each: c.line}
	err := d.Diff().PatchTo(ctx, from, to, git.PatchOptions{Context: 1}, w)
	w.end()
	return err
}

func (c *Lines) tell(added bool, line []byte) {
	if c.each != nil {
		c.each(Line{added, c.file, c.at, line[1:]})
	}
}

func newLines() *Lines {
	return &Lines{Added: map[string][]check.Lines{}, CutAt: map[string][]int{}}
}

// line takes a line of a unified diff.
func (c *Lines) line(line []byte) {
	head := c.old <= 0 && c.new <= 0
	switch text := string(line); {
	case head && strings.HasPrefix(text, "+++ "):
		c.file = git.PatchPath(strings.TrimRight(text, "\n"))
	case head && strings.HasPrefix(text, "@@ "):
		c.old, c.at, c.new = hunk(text)
	case head, text == "", text[0] == '\\':
	case text[0] == '+':
		c.tell(true, line)
		add(c.Added, c.file, c.at)
		c.at, c.new = c.at+1, c.new-1
	case text[0] == '-':
		c.tell(false, line)
		c.old--
		if cuts := c.CutAt[c.file]; len(cuts) == 0 || cuts[len(cuts)-1] != c.at-1 {
			c.CutAt[c.file] = append(cuts, c.at-1)
		}
	default:
		c.at, c.old, c.new = c.at+1, c.old-1, c.new-1
	}
}

// lineWriter hands lines on as they are written, of each no more than its
// beginning: a line of an agent's file may have any length.
type lineWriter struct {
	each func(line []byte)
	part []byte
}

// maxPart is how much of a line is looked at.
const maxPart = 64 << 10

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if room := maxPart - len(w.part); room > 0 {
			w.part = append(w.part, line[:min(room, len(line))]...)
		}
		if whole {
			w.end()
		}
		p = rest
	}
	return n, nil
}

// end hands on the last line, which nothing ends.
func (w *lineWriter) end() {
	if len(w.part) > 0 {
		w.each(w.part)
		w.part = w.part[:0]
	}
}

// hunk reads how many lines a hunk has in the old file, where it begins in the
// new one, and how many lines it has there.
func hunk(head string) (old, at, added int) {
	was, rest, _ := strings.Cut(strings.TrimPrefix(head, "@@ -"), " +")
	side := func(s string) (from, n int) {
		if _, err := fmt.Sscanf(s, "%d,%d", &from, &n); err != nil {
			n = 1 // "7 @@": one line
		}
		return from, n
	}
	_, old = side(was)
	at, added = side(rest)
	return old, at, added
}

func add(out map[string][]check.Lines, file string, at int) {
	all := out[file]
	if n := len(all); n > 0 && all[n-1].To == at-1 {
		all[n-1].To = at
		return
	}
	out[file] = append(all, check.Lines{From: at, To: at})
}

// Of are the single lines of a file that are added.
func (c *Lines) Of(file string) (out []int) {
	for _, l := range c.Added[file] {
		for n := l.From; n <= l.To; n++ {
			out = append(out, n)
		}
	}
	return out
}

// Ranges writes lines as file:from-to, sorted.
func Ranges(file string, lines []int) (out []string) {
	slices.Sort(lines)
	all := map[string][]check.Lines{}
	for _, n := range slices.Compact(lines) {
		add(all, file, n)
	}
	for _, l := range all[file] {
		out = append(out, file+":"+l.String())
	}
	return out
}
