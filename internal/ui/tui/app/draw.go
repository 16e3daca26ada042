package app

import (
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"agency/internal/text"
	"agency/internal/ui/tui"
)

// The smallest terminal that something fits on.
const (
	leastWidth  = 40
	leastHeight = 10
)

// sideBySide is from how many columns on the tree and the log stand beside each other.
const sideBySide = 120

// cut is a line in at most so many columns. What it is painted with takes none.
func cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if ansi.StringWidth(s) <= width {
		return s
	}
	return ansi.Truncate(s, width, text.Ellipsis)
}

// fill is a line in exactly so many columns.
func fill(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// apart puts two texts at the ends of a line; the right one counts more.
func apart(left, right string, width int) string {
	right = cut(right, width)
	room := width - ansi.StringWidth(right)
	if right == "" || room < 2 {
		return fill(left, width)
	}
	return fill(left, room-1) + " " + right
}

// bar is a share as a bar of so many columns.
func bar(st tui.Style, share float64, width int, ink tui.Ink) string {
	full := int(math.Round(min(max(share, 0), 1) * float64(width)))
	if share < 1 {
		full = min(full, width-1)
	}
	return st.Paint(ink, strings.Repeat("█", full)) + st.Paint(tui.Dim, strings.Repeat("░", width-full))
}

// chosen is a line that the next key is about: marked also without colours.
func chosen(st tui.Style, line string, width int, focused bool) string {
	line = "▸" + strings.TrimPrefix(line, " ")
	if !focused {
		return line
	}
	return st.Paint(tui.Chosen, fill(ansi.Strip(line), width))
}

// wrapped is a text in lines of at most so many columns, broken between words.
func wrapped(s string, width int) []string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
		if width <= 0 || ansi.StringWidth(line) <= width {
			out = append(out, line)
			continue
		}
		for part := range strings.SplitSeq(tui.Wrap(tui.Style{Width: width + 1}, "", line), "\n") { // an id stays whole
			out = append(out, strings.Split(ansi.Hardwrap(part, width, true), "\n")...)
		}
	}
	return out
}

// ending is the end of a text in whole lines, with a mark where it was cut.
func ending(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return "… the beginning is left out here\n" + s
}

// screen gathers the lines of a frame: never more than there are rows.
type screen struct {
	st            tui.Style
	width, height int
	lines         []string
	fits          *fits // nil: nothing is remembered
}

func (s *screen) left() int { return s.height - len(s.lines) }

func (s *screen) add(lines ...string) {
	for _, l := range lines {
		if s.left() > 0 {
			s.lines = append(s.lines, s.fits.of(fit{line: l, st: s.st, width: s.width}))
		}
	}
}

// fit adds a line of parts that are fitted already.
func (s *screen) fit(line string) {
	if s.left() > 0 {
		s.lines = append(s.lines, line)
	}
}

// filled is a line in exactly so many columns.
func (s *screen) filled(line string, width int) string {
	return s.fits.of(fit{line: line, st: s.st, width: width, filled: true})
}

// pad adds empty lines until so many rows are left.
func (s *screen) pad(rows int) {
	for s.left() > rows {
		s.lines = append(s.lines, "")
	}
}

func (s *screen) rule(title string) {
	line := "── " + title + " "
	s.add(s.st.Paint(tui.Dim, line+strings.Repeat("─", max(0, s.width-ansi.StringWidth(line)))))
}

func (s *screen) String() string { return strings.Join(s.lines, "\n") }

// clamp is n within 0 and below size.
func clamp(n, size int) int { return max(0, min(n, size-1)) }

// window is where a list of size lines begins in so many rows so that one of them is
// seen; from is where it began before.
func window(from, at, size, rows int) int {
	if at < from {
		from = at
	}
	if at >= from+rows {
		from = at - rows + 1
	}
	return max(0, min(from, size-rows))
}

// fits remembers what became of lines that were fitted to columns and cleaned. Of two
// frames that follow each other most lines are the same, and to measure one costs far more
// than to find it. It holds what the last two frames asked for.
type fits struct {
	now, before map[fit]string
	made        int // how many were not remembered
}

// fit is a line and what it is fitted to.
type fit struct {
	line   string
	st     tui.Style
	width  int
	filled bool // to the width; else only cut
}

// turn begins a frame.
func (f *fits) turn() {
	f.now, f.before = f.before, f.now
	if f.now == nil {
		f.now = map[fit]string{}
	}
	clear(f.now)
}

func (f *fits) of(k fit) string {
	if f == nil {
		return k.fitted()
	}
	line, known := f.now[k]
	if known {
		return line
	}
	if line, known = f.before[k]; !known {
		line = k.fitted()
		f.made++
	}
	if f.now != nil {
		f.now[k] = line
	}
	return line
}

// fitted is the line in its columns, of which only what package tui paints steers a terminal.
func (k fit) fitted() string {
	if k.filled {
		return tui.Safe(k.st, fill(k.line, k.width))
	}
	return tui.Safe(k.st, cut(k.line, k.width))
}
