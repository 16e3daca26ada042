package app

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"agency/internal/ui/tui"
)

// input is a line that a person types, by graphemes.
type input struct {
	prompt string
	cells  []string
	at     int // in cells
}

func (in *input) text() string { return strings.TrimSpace(strings.Join(in.cells, "")) }

// insert puts text in where the cursor stands. A pasted text is one line.
func (in *input) insert(s string) {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	before := strings.Join(in.cells[:in.at], "") + s // a mark joins what it follows
	after := strings.Join(in.cells[in.at:], "")
	in.cells = parted(before)
	in.at = len(in.cells)
	in.cells = append(in.cells, parted(after)...)
}

func parted(s string) []string {
	var out []string
	for it := graphemes.FromString(s); it.Next(); {
		out = append(out, it.Value())
	}
	return out
}

// key takes a key in that is neither enter nor escape.
func (in *input) key(k tea.KeyPressMsg) {
	drop := func(from, to int) {
		in.cells = append(append([]string{}, in.cells[:from]...), in.cells[to:]...)
		in.at = from
	}
	switch k.String() {
	case "backspace", "ctrl+h":
		drop(max(0, in.at-1), in.at)
	case "delete", "ctrl+d":
		drop(in.at, min(len(in.cells), in.at+1))
	case "ctrl+u":
		drop(0, in.at)
	case "ctrl+k":
		drop(in.at, len(in.cells))
	case "ctrl+w", "alt+backspace":
		from := in.at
		for from > 0 && in.cells[from-1] == " " {
			from--
		}
		for from > 0 && in.cells[from-1] != " " {
			from--
		}
		drop(from, in.at)
	case "left", "ctrl+b":
		in.at = max(0, in.at-1)
	case "right", "ctrl+f":
		in.at = min(len(in.cells), in.at+1)
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.cells)
	default:
		if k.Text != "" {
			in.insert(k.Text)
		}
	}
}

// asking stands between what is asked and what is typed.
const asking = "> "

// draw is the line in so many columns, and in which of them the cursor stands: of a text
// that is longer than that the part before it is seen.
func (in *input) draw(st tui.Style, width int) (line string, column int) {
	prompt := cut(in.prompt+asking, max(1, width/2))
	room := max(1, width-ansi.StringWidth(prompt)-1)
	from, n := in.at, 0
	for from > 0 {
		w := ansi.StringWidth(tui.Clean(in.cells[from-1]))
		if n+w > room {
			break
		}
		from, n = from-1, n+w
	}
	shown := strings.Join(in.cells[from:], "")
	return st.Paint(tui.Bold, prompt) + cut(tui.Clean(shown), room), ansi.StringWidth(prompt) + n
}
