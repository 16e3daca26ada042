package app

import (
	"fmt"
	"slices"
)

// pager is a long text that is looked at in parts. What it holds is clean already.
type pager struct {
	lines   []string
	body    int // lines before the ending
	width   int
	marks   []int // lines at which parts begin that one goes to, such as the files of a diff
	top     int
	rows    int  // that were seen last
	follows bool // it stays at its end while it grows
}

// set puts a text into a pager for a width; where it stands stays.
func (p *pager) set(s string, width int) {
	p.lines, p.width, p.marks = wrapped(s, width), width, nil
	p.body = len(p.lines)
	p.settle()
}

// ending puts a text below the one that is set, in the place of the last ending.
func (p *pager) ending(s string) {
	p.lines = append(p.lines[:p.body:p.body], wrapped(s, p.width)...)
	p.settle()
}

// part is one of those that a text consists of.
type part struct {
	text   string
	marked bool // one goes to its beginning
}

// lay likewise sets parts.
func (p *pager) lay(parts []part, width int) {
	p.lines, p.width, p.marks = nil, width, nil
	for _, one := range parts {
		if one.marked {
			p.marks = append(p.marks, len(p.lines))
		}
		p.lines = append(p.lines, wrapped(one.text, width)...)
	}
	p.settle()
}

func (p *pager) last() int { return max(0, len(p.lines)-p.rows) }

func (p *pager) settle() {
	if p.follows {
		p.top = p.last()
	}
	p.top = max(0, min(p.top, p.last()))
}

// size says how many rows it has.
func (p *pager) size(rows int) {
	p.rows = rows
	p.settle()
}

// seen are the lines that are shown.
func (p *pager) seen() []string {
	top := max(0, min(p.top, len(p.lines)))
	return p.lines[top:min(len(p.lines), top+p.rows)]
}

// where says how far down it is.
func (p *pager) where() string {
	switch {
	case len(p.lines) <= p.rows:
		return ""
	case p.follows:
		return "follows"
	}
	return fmt.Sprintf("%d-%d of %d", p.top+1, min(len(p.lines), p.top+p.rows), len(p.lines))
}

// key moves it, and tells whether the key is one of those that do.
func (p *pager) key(k string) bool {
	page := max(1, p.rows-1)
	switch k {
	case "up", "k":
		p.top--
	case "down", "j":
		p.top++
	case "pgup", "b", "ctrl+u":
		p.top -= page
	case "pgdown", "space", "ctrl+d":
		p.top += page
	case "home", "<":
		p.top = 0
	case "end", ">":
		p.top = p.last()
	case "]", "right":
		if i := slices.IndexFunc(p.marks, func(m int) bool { return m > p.top }); i >= 0 {
			p.top = p.marks[i]
		}
	case "[", "left":
		for _, m := range slices.Backward(p.marks) {
			if m < p.top {
				p.top = m
				break
			}
		}
	default:
		return false
	}
	p.top = max(0, min(p.top, p.last()))
	p.follows = p.follows && p.top == p.last()
	return true
}
