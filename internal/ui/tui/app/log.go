package app

import (
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/ui/tui"
)

// keptEvents bounds how many events the log holds; the record has all of them.
const keptEvents = 20_000

// eventLog is the live log: it follows, until another line than the newest is chosen.
type eventLog struct {
	all, brief reel
	verbose    bool
	zone       *time.Location
	after      int64
	from       time.Time
	heard      int64 // events that came, shown or not
	last       int64 // the id of the newest
	seen       logSight
	shown      map[int64][]string // the lines of what was seen, by event
	opened     *agency.Event      // that is shown whole
	whole      pager              // its text
}

// logSight is what the lines of an event depend on, beside the event.
type logSight struct {
	st   tui.Style
	zone *time.Location
}

// reel is a list of events whose beginning is dropped when it becomes long.
type reel struct {
	events  []*agency.Event // that both reels share
	dropped int
	at      int // how many events above the newest the chosen one stands; 0: it follows
	end     int // and the last that is seen
}

func (r *reel) add(ev *agency.Event) {
	if len(r.events) >= keptEvents+keptEvents/4 {
		gone := len(r.events) - keptEvents
		r.events = append(make([]*agency.Event, 0, keptEvents+keptEvents/4), r.events[gone:]...)
		r.dropped += gone
	}
	r.events = append(r.events, ev)
	if r.at > 0 {
		r.at, r.end = r.at+1, r.end+1
	}
	r.choose(r.at)
}

// choose chooses an event, which then is seen; the newest is followed.
func (r *reel) choose(at int) {
	r.at = clamp(at, len(r.events))
	r.end = min(r.end, r.at)
}

// chosen is the event that the next key is about; nil: there is none.
func (r *reel) chosen() *agency.Event {
	if len(r.events) == 0 {
		return nil
	}
	return r.events[len(r.events)-1-r.at]
}

// add takes events in. An event that came already, as after a lost connection, changes
// nothing.
func (l *eventLog) add(ev agency.Event, d agency.Detail) bool {
	if ev.ID != 0 && ev.ID <= l.last {
		return false
	}
	l.last = ev.ID
	l.heard++
	if ev.ID <= l.after && ev.ID != 0 || ev.Time.Before(l.from) {
		return true
	}
	quiet := tui.Routine(ev, d)
	switch d.(type) {
	case *agency.Completed, *agency.Published: // by which their codes are told
	default:
		ev.Details = nil // what is shown needs none of it
	}
	l.all.add(&ev)
	if !quiet {
		l.brief.add(&ev)
	}
	return true
}

func (l *eventLog) reel() *reel {
	if l.verbose {
		return &l.all
	}
	return &l.brief
}

// key moves what is chosen, a page being so many rows.
func (l *eventLog) key(k string, rows int) {
	r, page := l.reel(), max(1, rows-1)
	switch k {
	case "up", "k":
		r.choose(r.at + 1)
	case "down", "j":
		r.choose(r.at - 1)
	case "pgup", "b", "ctrl+u":
		r.choose(r.at + page)
	case "pgdown", "space", "ctrl+d":
		r.choose(r.at - page)
	case "home", "<":
		r.choose(len(r.events))
	case "end", ">":
		r.choose(0)
	}
}

// open shows the chosen event whole, and tells whether there is one.
func (l *eventLog) open(st tui.Style, width int) bool {
	l.opened, l.whole.top = l.reel().chosen(), 0
	l.lay(st, width)
	return l.opened != nil
}

// lay fits the text of the event that is shown whole to the terminal.
func (l *eventLog) lay(st tui.Style, width int) {
	if l.opened != nil {
		l.whole.set(tui.EventWhole(st, l.zone, *l.opened), width)
	}
}

// drawTitle says what of it is seen.
func (l *eventLog) title() string {
	title := "log"
	if l.verbose {
		title = "log, every event"
	}
	if r := l.reel(); r.at > 0 {
		return fmt.Sprintf("%s · %d newer below, end follows", title, r.at)
	}
	return title
}

// lines are the rows that are seen, the chosen event among them; only they are formatted, and
// each once. A column is for the mark of what is chosen, which it is while it has the keys.
func (l *eventLog) lines(st tui.Style, width, rows int, focused bool) []string {
	plain := st
	st.Width = width // the printed log leaves the last column of a terminal free
	as := logSight{st, l.zone}
	if l.seen != as {
		l.seen, l.shown = as, nil
	}
	r, shown := l.reel(), make(map[int64][]string, rows)
	of := func(above int) []string {
		ev := r.events[len(r.events)-1-above]
		event, known := shown[ev.ID]
		if !known {
			event, known = l.shown[ev.ID]
		}
		if !known || ev.ID == 0 {
			event = strings.Split(tui.EventLine(st, l.zone, *ev), "\n")
		}
		shown[ev.ID] = event
		return event
	}
	r.reveal(rows, func(above int) int { return len(of(above)) })
	out := make([]string, rows)
	at := rows
	for above := r.end; above < len(r.events) && at > 0; above++ {
		event := of(above)
		for j := len(event) - 1; j >= 0 && at > 0; j-- {
			at--
			out[at] = " " + event[j]
			if focused && above == r.at {
				out[at] = chosen(plain, out[at], width, true)
			}
		}
	}
	l.shown = shown
	return out[at:]
}

// reveal moves what is seen until the chosen event is among it, each having so many rows, and
// no row is free while there are events.
func (r *reel) reveal(rows int, of func(above int) int) {
	if len(r.events) == 0 {
		return
	}
	n, least := of(r.at), r.at // the last that may be seen with the chosen one
	for least > r.end && n+of(least-1) <= rows {
		least--
		n += of(least)
	}
	for i := r.at + 1; i < len(r.events) && n < rows; i++ {
		n += of(i)
	}
	for least > 0 && n+of(least-1) <= rows {
		least--
		n += of(least)
	}
	r.end = least
}
