package app

import "agency/internal/ui/tui"

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
