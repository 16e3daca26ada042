package tui

import (
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

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
