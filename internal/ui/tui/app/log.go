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

// eventLog is the live log: it follows, until it is scrolled away from its end.
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
	end     int // how many events above the end it stands; 0: it follows
}

func (r *reel) add(ev *agency.Event) {
	if len(r.events) >= keptEvents+keptEvents/4 {
		gone := len(r.events) - keptEvents
		r.events = append(make([]*agency.Event, 0, keptEvents+keptEvents/4), r.events[gone:]...)
		r.dropped += gone
	}
	r.events = append(r.events, ev)
	if r.end > 0 {
		r.end++
	}
	r.end = min(r.end, max(0, len(r.events)-1))
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

// key scrolls, a page being so many rows.
func (l *eventLog) key(k string, rows int) bool {
	r, page := l.reel(), max(1, rows-1)
	switch k {
	case "up", "k":
		r.end++
	case "down", "j":
		r.end--
	case "pgup", "b", "ctrl+u":
		r.end += page
	case "pgdown", "space", "ctrl+d":
		r.end -= page
	case "home", "<":
		r.end = len(r.events)
	case "end", ">":
		r.end = 0
	default:
		return false
	}
	r.end = clamp(r.end, max(1, len(r.events)-rows+1))
	return true
}

// drawTitle says what of it is seen.
func (l *eventLog) title() string {
	title := "log"
	if l.verbose {
		title = "log, every event"
	}
	if r := l.reel(); r.end > 0 {
		return fmt.Sprintf("%s · %d newer below, end follows", title, r.end)
	}
	return title
}

// lines are the last rows of what is seen; only they are formatted, and each once.
func (l *eventLog) lines(st tui.Style, width, rows int) []string {
	r := l.reel()
	st.Width = width + 1 // the printed log leaves the last column of a terminal free
	as := logSight{st, l.zone}
	if l.seen != as {
		l.seen, l.shown = as, nil
	}
	shown := make(map[int64][]string, rows)
	out := make([]string, rows)
	at := rows
	for i := len(r.events) - 1 - r.end; i >= 0 && at > 0; i-- {
		ev := r.events[i]
		event, known := l.shown[ev.ID]
		if !known || ev.ID == 0 {
			event = strings.Split(tui.EventLine(st, l.zone, *ev), "\n")
		}
		shown[ev.ID] = event
		for j := len(event) - 1; j >= 0 && at > 0; j-- {
			at--
			out[at] = event[j]
		}
	}
	l.shown = shown
	return out[at:]
}
