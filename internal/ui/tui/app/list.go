package app

import (
	"fmt"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// list is the repository's runs, the newest first, below the gates that wait.
type list struct {
	known bool
	runs  []api.RunDoc
	gates []tui.Waiting
	at    int // over gates and runs
	top   int
}

func (l *list) size() int { return len(l.gates) + len(l.runs) }

// set takes the runs in, oldest first; the selection stays where it was.
func (l *list) set(runs []api.RunDoc) {
	was, kept := l.key(l.at), l.known && l.at > 0
	l.known, l.runs = true, slices.Clone(runs)
	slices.Reverse(l.runs)
	l.gates = tui.WaitingOf(runs)
	l.at = clamp(l.at, l.size())
	for i := range l.size() {
		if kept && l.key(i) == was {
			l.at = i
		}
	}
}

// key tells an item from others, also in the next list.
func (l *list) key(i int) string {
	switch {
	case i < len(l.gates):
		return "gate " + string(l.gates[i].Gate.ID)
	case i < l.size():
		return "run " + string(l.runs[i-len(l.gates)].ID)
	}
	return ""
}

// chosen is the run that is meant, and its gate where that was chosen.
func (l *list) chosen() (agency.RunID, agency.GateID) {
	switch {
	case l.at < len(l.gates):
		return l.gates[l.at].Run, l.gates[l.at].Gate.ID
	case l.at < l.size():
		return l.runs[l.at-len(l.gates)].ID, ""
	}
	return "", ""
}

func (l *list) press(k string, rows int) bool {
	page := max(1, rows-1)
	switch k {
	case "up", "k":
		l.at--
	case "down", "j":
		l.at++
	case "pgup", "ctrl+u":
		l.at -= page
	case "pgdown", "space", "ctrl+d":
		l.at += page
	case "home", "<":
		l.at = 0
	case "end", ">":
		l.at = l.size() - 1
	default:
		return false
	}
	l.at = clamp(l.at, l.size())
	return true
}

// draw fills what a screen has left but for the rows of the foot.
func (l *list) draw(s *screen, now time.Time, foot int) {
	switch {
	case !l.known:
		s.add("", " one moment…")
		return
	case l.size() == 0:
		s.add("", " No runs yet.", "", " n starts one: type what should be different.")
		return
	}
	// Headings stand among the lines and are never chosen.
	type line struct {
		head string
		item int
	}
	var lines []line
	if n := len(l.gates); n > 0 {
		lines = append(lines, line{head: agency.Things(n, "gate waits for you", "gates wait for you")})
		for i := range l.gates {
			lines = append(lines, line{item: i})
		}
	}
	lines = append(lines, line{head: agency.Things(len(l.runs), "run", "runs")})
	for i := range l.runs {
		lines = append(lines, line{item: len(l.gates) + i})
	}
	at := slices.IndexFunc(lines, func(x line) bool { return x.head == "" && x.item == l.at })
	rows := s.left() - foot
	l.top = window(l.top, at, len(lines), rows)
	if l.at == 0 {
		l.top = 0
	}
	for i := l.top; i < len(lines) && s.left() > foot; i++ {
		x := lines[i]
		if x.head != "" {
			s.rule(x.head)
			continue
		}
		text := " " + l.line(s.st, x.item, now, s.width-1)
		if x.item == l.at {
			text = chosen(s.st, text, s.width, true)
		}
		s.add(text)
	}
}

// names are what a command may call a run: its number, and the end of its id.
func names(id agency.RunID, number int) string {
	return fill(tui.Number(number), 5) + " " + fill(tui.ShortRun(id), 9)
}

func (l *list) line(st tui.Style, i int, now time.Time, width int) string {
	if i < len(l.gates) {
		w := l.gates[i]
		left := st.Paint(tui.Alarm, fill(string(w.Gate.Kind), 12)) + " " + names(w.Run, w.Number) + " " + tui.Line(w.Gate.Summary)
		return apart(left, st.Paint(tui.Dim, tui.Age(now.Sub(w.Gate.CreatedAt))), width)
	}
	r := l.runs[i-len(l.gates)]
	ink := tui.StateInk(r.State)
	left := st.Paint(ink, fill(string(r.State), 12)) + " " + names(r.ID, r.Number) + " "
	if width >= 76 {
		share := bar(st, r.Progress, 8, ink)
		left += share + st.Paint(tui.Dim, fmt.Sprintf(" %*s  ", 5, fmt.Sprintf("%d/%d", r.ContractsDone, r.ContractsTotal)))
	}
	left += tui.Line(r.Goal)
	right := tui.Age(now.Sub(r.CreatedAt))
	if width >= 60 {
		right = tui.Cost(agency.USD(r.CostUSD), r.Tokens, r.Unpriced) + "  " + fill(right, 6)
	}
	if width >= 110 {
		right = tui.Modes(r.MovedTo, r.Mode) + "  " + right
	}
	return apart(left, st.Paint(tui.Dim, right), width)
}
