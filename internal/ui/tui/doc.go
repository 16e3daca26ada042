// Package tui is how runs look on a terminal and in a log file: one aligned
// line an event, a progress line that is redrawn in place, gates with the
// commands that answer them, and tables.
//
// It prints what it is given and asks nobody: it does not know where events
// come from, and it reads no key. Everything that agents, models and
// repositories wrote is stripped of what could move a terminal's cursor.
package tui

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/api"
)

// Style says what the output can show.
type Style struct {
	Color bool // ANSI colours
	Live  bool // a progress line may be redrawn in place
	Width int  // columns; 0: unknown, nothing is cut
	Fold  int  // how many lines of a long text are shown; 0: all
}

// The colours that are used, by meaning.
const (
	plain   = ""
	dim     = "2"
	bold    = "1"
	italic  = "3"
	reverse = "7"
	red     = "31"
	green   = "32"
	yellow  = "33"
	cyan    = "36"
)

func (s Style) paint(code, text string) string {
	if !s.Color || code == plain || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Clean is text that somebody else wrote, safe for a terminal: no escape
// sequences, no control characters; invalid UTF-8 becomes the replacement
// character. Marks of direction and others that nobody sees are shown as \u202e:
// without them two names could look alike. Tabs and line ends stay.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b:
			n = escapeLen(s[i:])
		case unseen(r):
			b.WriteString(escaped(r))
		case r == '\r' && !strings.HasPrefix(s[i+n:], "\n"): // between words, as on a terminal
			b.WriteByte(' ')
		case unsafe(r): // left out
		case r == utf8.RuneError && n <= 1:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// visible is Clean, with all that this would leave out shown as an escape.
func visible(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafe(r) {
			b.WriteString(escaped(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Line is Clean on one line: line ends and tabs become spaces.
func Line(s string) string {
	return strings.Join(strings.Fields(Clean(s)), " ")
}

func isClean(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || unsafe(r) {
			return false
		}
	}
	return true
}

// unsafe characters move the cursor, ring, or turn the direction of what
// follows around, so that a reader sees other text than is there.
func unsafe(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	}
	return unseen(r)
}

// unseen characters turn the direction of others around, or have no width.
func unseen(r rune) bool {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	case r == 0x200b, r >= 0x2060 && r <= 0x2064, r == 0x2028, r == 0x2029, r == 0xfeff:
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f
}

// escapeLen is the length of the escape sequence at the start of s: control
// sequences to their final byte, strings to their terminator.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		return stringLen(s)
	}
	for i := 1; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x2f {
			if s[i] <= 0x7e && s[i] >= 0x30 {
				return i + 1
			}
			return i
		}
	}
	return len(s)
}

// stringLen is the length of an operating system command and its like. One
// without an end hides no more than its own line.
func stringLen(s string) int {
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case s[i] == '\n':
			return i
		}
	}
	return len(s)
}

// Ink is a colour or weight by what it means: one of the sixteen that a terminal's
// user has chosen.
type Ink string

// The inks.
const (
	Plain  Ink = plain
	Dim    Ink = dim
	Bold   Ink = bold
	Red    Ink = red
	Green  Ink = green
	Yellow Ink = yellow
	Cyan   Ink = cyan
	Alarm  Ink = bold + ";" + yellow // what waits for a person
	Chosen Ink = reverse             // the line that the next key is about
)

// Paint is a text in an ink, where the style has colours.
func (s Style) Paint(ink Ink, text string) string { return s.paint(string(ink), text) }

// StateInk is how a run's state looks.
func StateInk(s agency.RunState) Ink { return Ink(stateColor(s)) }

// StatusInk is how a contract's status looks.
func StatusInk(s agency.Status) Ink { return Ink(statusColor(s)) }

// CriterionInk is how a criterion of a contract looks by how it stands with it.
func CriterionInk(c api.ContractDoc, p agency.Proof) Ink { return Ink(criterionColor(c, p)) }

// Percent is a share as people read it: what is not all of it is never 100.
func Percent(share float64) string { return percent(share) }

// Age is how long ago something was, in its largest unit.
func Age(d time.Duration) string { return age(d) }

// ShortRun is the end of a run's id, which every command accepts.
func ShortRun(id agency.RunID) string { return shortRun(id) }

// Number is a run's number as every list shows it; "" where it has none.
func Number(n int) string {
	if n == 0 {
		return ""
	}
	return "#" + number(n)
}

// Modes is a run's mode, with the one that it moved to by itself.
func Modes(moved, mode agency.Mode) string {
	if moved == "" || moved == mode {
		return string(mode)
	}
	return string(mode) + "→" + string(moved)
}

// Routine tells whether an event says no more than a view of the run's records, or
// the next event, does. Its details are nil where this version does not know them.
func Routine(ev agency.Event, d agency.Detail) bool {
	return !ev.Severity.AtLeast(agency.SeverityInfo) || routine(ev, d)
}

// EventLine is an event as the live log shows it, in as many lines as it takes in the
// style's columns.
func EventLine(st Style, zone *time.Location, ev agency.Event) string {
	l := Log{o: LogOptions{Style: st, Zone: zone}}
	return l.line(ev)
}

// EventWhole is an event with all that is said of it, of which the live log shows what fits.
func EventWhole(st Style, zone *time.Location, ev agency.Event) string {
	l := Log{o: LogOptions{Style: st, Zone: zone}}
	of := ev.Time.In(zone).Format(time.DateTime) + "  " + Line(who(ev)) + "  "
	about := ""
	for _, part := range []struct{ name, of string }{
		{"contract", string(ev.ContractID)}, {"agent", string(ev.AgentID)}, {"message", string(ev.RelatedMessage)},
	} {
		if part.of != "" {
			about += st.paint(dim, part.name+" "+Line(part.of)) + "\n"
		}
	}
	return of + st.paint(colorOf(ev), l.word(ev)) + "\n" + about + "\n" + strings.TrimRight(Clean(ev.Summary), "\n") + "\n"
}

// Safe is a text of which only what this package paints can steer a terminal.
func Safe(st Style, text string) string { return (&Screen{style: st}).safe(text) }
