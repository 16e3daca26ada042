package app

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"agency/internal/agency"
	"agency/internal/ui/tui"
)

// foot is the rows below everything: what was said last, or what is asked and typed, then
// the keys. A question has as many rows as it takes, so that its end is read, too.
type foot struct {
	lines []string
	typed bool // a line is typed: the cursor stands in column x of row y
	x, y  int
}

// mostFoot bounds it in rows, so that what a question is about stays in view.
const mostFoot = 6

// besidesFoot are the rows that a small terminal keeps for all else.
const besidesFoot = 7

func footOf(m *Model) (f foot) {
	st, width := m.o.Style, m.width
	most := max(2, min(mostFoot, m.height-besidesFoot)) - 1 // without the keys
	keys := fitting(keysOf(m), width)
	switch {
	case m.ask.line:
		in := m.ask.input
		if ansi.StringWidth(in.prompt+asking) > width/2 && most > 1 {
			f.add(st, tui.Bold, fold(in.prompt, width, most-1))
			in.prompt = ""
		}
		line, at := in.draw(st, width)
		f.typed, f.x, f.y = true, min(at, width-1), len(f.lines)
		f.lines = append(f.lines, line)
		if m.note.text != "" && m.note.ink == tui.Yellow {
			keys = cut(tui.Line(m.note.text), width)
		}
	case m.ask.yes != "":
		const answers = "  y / n"
		f.add(st, tui.Alarm, fold(m.ask.yes, width-len(answers), most))
		f.lines[len(f.lines)-1] += st.Paint(tui.Bold, answers)
	default:
		f.add(st, cmp.Or(m.note.ink, tui.Plain), fold(m.note.text, width, most))
	}
	f.add(st, tui.Dim, []string{keys})
	return f
}

func (f *foot) add(st tui.Style, ink tui.Ink, lines []string) {
	for _, l := range lines {
		f.lines = append(f.lines, st.Paint(ink, l))
	}
}

// cursor is where it stands, the foot beginning in a row.
func (f foot) cursor(row int) *tea.Cursor {
	if !f.typed {
		return nil
	}
	return tea.NewCursor(f.x, row+f.y)
}

// fold is a text in at most so many lines, one at least; the last is cut where it is longer.
func fold(s string, width, most int) []string {
	lines := wrapped(tui.Line(s), width)
	if len(lines) == 0 {
		return []string{""}
	}
	if len(lines) > most {
		lines = append(lines[:most-1], strings.Join(lines[most-1:], " "))
	}
	for i := range lines {
		lines[i] = cut(strings.TrimRight(lines[i], " "), width)
	}
	return lines
}

// fitting are as many keys as fit: of none that is shown its meaning is missing.
func fitting(keys []string, width int) string {
	line := ""
	for i, k := range keys {
		if i > 0 {
			k = " · " + k
		}
		if ansi.StringWidth(line+k) > width {
			break
		}
		line += k
	}
	return line
}

// keysOf are those that count now, the most needed first.
func keysOf(m *Model) []string {
	switch {
	case m.ask.line:
		return []string{"enter does it", "esc leaves it"}
	case m.ask.active():
		return []string{"y does it", "n or esc leaves it"}
	case m.view == viewHelp:
		return []string{"esc back", "q leave"}
	case m.view == viewList:
		return []string{"enter open", "n new run", "? help", "q leave"}
	case m.view == viewTranscript:
		return []string{"esc back", "> follow", "s say", "? help", "q leave"}
	case m.view == viewEvent:
		return []string{"esc back", "] [ next line, one before", "? help", "q leave"}
	case m.view == viewGate:
		return gateKeys(m)
	case m.view == viewChange && len(m.run.page.marks) > 0:
		return []string{"esc back", "] [ files", "? help", "q leave", "s say"}
	case m.view == viewChange:
		return []string{"esc back", "? help", "q leave", "s say"}
	case m.run.logged && len(m.run.waits()) > 0:
		return []string{"enter whole line", "tab contracts", "g gate", "v every event", "esc list", "? help", "q leave"}
	case m.run.logged:
		return []string{"enter whole line", "tab contracts", "v every event", "esc list", "? help", "q leave", "s say"}
	case len(m.run.waits()) > 0:
		return []string{"g gate", "esc list", "? help", "q leave", "t conversation", "tab log", "s say", "d change", "p pause", "c cancel"}
	case m.run.state() == agency.StatePaused, m.run.state() == agency.StateInterrupted:
		return []string{"u resume", "esc list", "? help", "q leave", "t conversation", "d change", "tab log", "c cancel"}
	case m.run.state().Final():
		return []string{"esc list", "? help", "q leave", "t conversation", "d change", "tab log", "enter unfold"}
	}
	return []string{"esc list", "? help", "q leave", "t conversation", "tab log", "s say", "d change", "p pause", "c cancel"}
}

// gateKeys are those of a gate: one that is answered has no answers any more.
func gateKeys(m *Model) (keys []string) {
	if g, ok := m.run.shownGate(); ok && m.run.answerable(g) {
		keys = tui.AnswerKeys(g.Kind)
	}
	if len(m.run.page.marks) > 0 {
		keys = append(keys, "d change", "] [ files")
	}
	keys = append(keys, "esc back")
	if len(m.run.waits()) > 1 {
		keys = append(keys, "tab next gate")
	}
	return append(keys, "? help", "q leave")
}
