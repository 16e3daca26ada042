package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// View is the frame that Update drew: where lists and texts stand is known to the keys
// that move them.
func (m Model) View() tea.View {
	v := tea.NewView(m.drawn)
	v.AltScreen, v.Cursor = true, m.cursor
	return v
}

// draw makes the frame of what is known.
func (m *Model) draw() {
	m.fits.turn()
	m.drawn, m.cursor = frame(m)
}

// frame is the text of the terminal: never more rows and columns than there are.
func frame(m *Model) (string, *tea.Cursor) {
	if m.width < leastWidth || m.height < leastHeight {
		return cut(fmt.Sprintf("want %dx%d", leastWidth, leastHeight), m.width) + "\n" +
			cut(fmt.Sprintf("is %dx%d; q leaves", m.width, m.height), m.width), nil
	}
	s := &screen{st: m.o.Style, width: m.width, height: m.height, fits: m.fits}
	f := footOf(m)
	switch m.view {
	case viewList:
		drawTitle(m, s, "")
		m.list.draw(s, m.now, len(f.lines))
	case viewRun:
		drawRun(m, s)
	case viewGate:
		drawRunTitle(m, s)
		drawPage(m, s, "gate", &m.run.page)
	case viewChange:
		drawRunTitle(m, s)
		drawPage(m, s, "change", &m.run.page)
	case viewTranscript:
		drawRunTitle(m, s)
		drawTranscript(m, s)
	case viewEvent:
		drawRunTitle(m, s)
		drawPage(m, s, "log line", &m.run.log.whole)
	case viewHelp:
		drawTitle(m, s, "help")
		drawPage(m, s, "", &m.help)
	}
	s.pad(len(f.lines))
	cursor := f.cursor(len(s.lines))
	s.add(f.lines...)
	return s.String(), cursor
}

// drawTitle is the first line where no run is looked at.
func drawTitle(m *Model, s *screen, what string) {
	left := s.st.Paint(tui.Bold, "agency") + "  " + tui.Line(m.o.Repo)
	if what != "" {
		left += "  " + what
	}
	s.add(apart(left, hostLine(m, s.st), s.width))
}

// hostLine says where nothing goes on although it looks as if it did.
func hostLine(m *Model, st tui.Style) string {
	if m.link.live || m.link.gone == "" || !unfinished(m) {
		return ""
	}
	return st.Paint(tui.Yellow, tui.Line(m.link.gone)+"; this is the record")
}

// unfinished tells whether something of what is shown would go on by itself.
func unfinished(m *Model) bool {
	busy := func(s agency.RunState) bool { return s == agency.StatePlanning || s == agency.StateRunning }
	if m.inRun() {
		return m.run.known && busy(m.run.state())
	}
	return slices.ContainsFunc(m.list.runs, func(r api.RunDoc) bool { return busy(r.State) })
}

// drawRunTitle are the lines above a run: which it is, how far it has come, what waits.
func drawRunTitle(m *Model, s *screen) {
	r, st := &m.run, s.st
	state := r.state()
	left := st.Paint(tui.Bold, strings.TrimSpace(tui.Number(r.doc.Number)+" "+tui.Line(string(r.id))))
	if !r.known {
		s.add(apart(left, hostLine(m, st), s.width))
		return
	}
	left += "  " + st.Paint(tui.StateInk(state), string(state)) + "  " + tui.Line(r.doc.Goal)
	s.add(apart(left, hostLine(m, st), s.width))
	s.add(sumsLine(m, st))
	if line := alarmLine(m, st, state); line != "" {
		s.add(line)
	}
}

// sumsLine are a run in numbers; a narrow terminal has no room for the last of them.
func sumsLine(m *Model, st tui.Style) string {
	r := &m.run
	d := r.doc
	width := 8
	if m.width >= sideBySide {
		width = 16
	}
	parts := []string{bar(st, d.Progress, width, tui.StateInk(r.state())) + " " + tui.Percent(d.Progress)}
	if awaits := r.awaited.Line(m.now); awaits != "" { // first, for the end is left out
		parts = append(parts, awaits)
	}
	if d.ContractsTotal > 1 {
		parts = append(parts, fmt.Sprintf("%d/%d contracts", d.ContractsDone, d.ContractsTotal))
	}
	if t := r.tree.sums; t.criteria > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d proved", t.proved, t.criteria))
	}
	parts = append(parts, limitBar(st, d, r.cost.Limits.USD, width-8))
	if r.progress.Tests != "" {
		parts = append(parts, r.progress.Tests)
	}
	if f := r.cost.Forecast; f.Open > 0 && f.Mid.USD > 0 {
		parts = append(parts, "likely "+agency.USD(f.Mid.USD).String())
	}
	parts = append(parts, tui.Elapsed(r.elapsed(m.now)))
	if n := r.tree.sums.atWork; n > 0 {
		parts = append(parts, agency.Things(n, "agent", "agents"))
	}
	for len(parts) > 1 && ansi.StringWidth(strings.Join(parts, " · ")) > m.width {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, " · ")
}

func (r *runView) elapsed(now time.Time) time.Duration {
	if !r.doc.FinishedAt.IsZero() {
		now = r.doc.FinishedAt
	}
	return max(0, tui.Passed(r.doc.CreatedAt, now))
}

// alarmLine is what a person must know first: a gate that waits, or how the run ended.
func alarmLine(m *Model, st tui.Style, state agency.RunState) string {
	if open := m.run.waits(); len(open) > 0 {
		g := open[0]
		more := ""
		if len(open) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(open)-1)
		}
		return st.Paint(tui.Alarm, fmt.Sprintf("%s GATE waits %s%s", strings.ToUpper(string(g.Kind)), tui.Age(m.now.Sub(g.CreatedAt)), more)) +
			"  g: " + tui.Line(g.Summary)
	}
	if m.run.doc.Reason != "" {
		return st.Paint(tui.StateInk(state), tui.Line(m.run.doc.Reason))
	}
	if m.run.doc.Merged != "" {
		return st.Paint(tui.Green, "merged into "+tui.Line(m.run.doc.Target)+" as "+m.run.doc.Merged.Short())
	}
	return ""
}

// splitRows is how many rows the contracts and the log have; side says that they stand
// beside each other.
func splitRows(m *Model) (above, below int, side bool) {
	rows := m.height - len(footOf(m).lines) - 2 // both titles of a run
	if m.run.known && alarmLine(m, tui.Style{}, m.run.state()) != "" {
		rows--
	}
	if m.width >= sideBySide {
		return rows - 1, rows - 1, true
	}
	rows -= 2 // their own titles
	above = min(max(1, len(m.run.tree.rows)), max(1, rows*3/5))
	return above, max(1, rows-above), false
}

func treeRows(m *Model) int { above, _, _ := splitRows(m); return above }
func logRows(m *Model) int  { _, below, _ := splitRows(m); return below }

func drawRun(m *Model, s *screen) {
	drawRunTitle(m, s)
	r, st := &m.run, s.st
	if !r.known {
		s.add("", " one moment…")
		return
	}
	above, below, side := splitRows(m)
	title := "contracts"
	if r.tree.hides {
		title = "contracts that are not complete"
	}
	if n := len(r.tree.rows); n > above {
		title += fmt.Sprintf(" %d of %d", r.tree.at+1, n)
	}
	if r.logged {
		title += " · tab"
	}
	logTitle := r.log.title()
	if !r.logged {
		logTitle += " · tab"
	}
	if !side {
		s.rule(title)
		s.add(r.treeLines(st, m.now, s.width, above)...)
		s.rule(logTitle)
		s.add(r.log.lines(st, s.width, min(below, s.left()-len(footOf(m).lines)), r.logged)...)
		return
	}
	half := s.width * 11 / 20
	left := &screen{st: st, width: half, height: above + 1, fits: m.fits}
	left.rule(title)
	left.add(r.treeLines(st, m.now, half, above)...)
	left.pad(0)
	right := &screen{st: st, width: s.width - half - 3, height: below + 1, fits: m.fits}
	right.rule(logTitle)
	right.add(r.log.lines(st, right.width, below, r.logged)...)
	right.pad(0)
	for i := range left.lines {
		s.fit(left.filled(left.lines[i], half) + st.Paint(tui.Dim, " │ ") + right.lines[i])
	}
}

// drawPage draws a long text.
func drawPage(m *Model, s *screen, title string, p *pager) {
	at := len(s.lines)
	s.add("")
	p.size(s.left() - len(footOf(m).lines))
	title = strings.TrimSpace(title + " " + p.where())
	s.lines = s.lines[:at]
	s.rule(title)
	s.add(p.seen()...)
}

func drawTranscript(m *Model, s *screen) {
	t := &m.run.transcript
	title := "conversation of " + tui.Line(strings.TrimPrefix(string(t.session), string(m.run.id)+"/"))
	switch {
	case t.err != nil:
		s.rule(title)
		s.add(s.st.Paint(tui.Red, tui.Line(t.err.Error())))
	case t.text == "":
		s.rule(title)
		s.add("", " one moment…")
	default:
		drawPage(m, s, title, &t.pager)
	}
}
