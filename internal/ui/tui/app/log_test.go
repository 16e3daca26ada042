package app

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"agency/internal/agency"
)

// hears sends events to the log, each with a summary.
func (b *bench) hears(summaries ...string) {
	b.m.link.open = &feed{}
	var evs []agency.Event
	for _, s := range summaries {
		ev := agency.NewEvent(runID, agency.SeverityWarning, s, agency.Log{})
		ev.ID, ev.Time, ev.ContractID = b.m.run.log.last+int64(len(evs))+1, noon, "c0"
		evs = append(evs, ev)
	}
	b.send(eventsMsg{feed: b.m.link.feed, events: evs, now: noon})
}

// marked are the lines of the log that are marked as chosen.
func (b *bench) marked() string {
	_, log, _ := strings.Cut(ansi.Strip(b.m.drawn), "── log")
	var out []string
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "▸") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, " ")
}

// Whatever line of the log is chosen is read whole, at any width, and stays where it is while
// others come.
func TestAnyLineOfTheLogIsReadWhole(t *testing.T) {
	for _, width := range []int{40, 80, 120, 200} {
		b := begin(t, runID, width, 24)
		b.send(document(1))
		var all []string
		for i := range 60 {
			all = append(all, fmt.Sprintf("event-%d:%s end%d.", i, strings.Repeat(" word", 20+i*3), i))
		}
		b.hears(all...)
		if b.keys("tab"); width == 80 {
			b.want("enter whole line · tab contracts")
		}
		for i := 59; i >= 0; i-- {
			if width <= 80 && !strings.Contains(b.marked(), fmt.Sprintf("event-%d:", i)) {
				t.Fatalf("%d columns: marked is %q, want event %d in\n%s", width, b.marked(), i, ansi.Strip(b.m.drawn))
			}
			if b.keys("enter"); b.m.view != viewEvent {
				t.Fatalf("%d columns: view %d", width, b.m.view)
			}
			b.want(fmt.Sprintf("event-%d:", i), "contract c0")
			b.hears("newer") // moves nothing
			b.keys("end")
			b.want(fmt.Sprintf("end%d.", i))
			b.keys("esc")
			if i == 59 { // the newest is followed: the one that came is chosen by now
				b.keys("up")
			}
			b.keys("up")
		}
		b.keys("home", "enter")
		b.want("event-0:")
		if b.keys("]"); !strings.Contains(ansi.Strip(b.m.drawn), "event-1:") {
			t.Errorf("no next line in\n%s", ansi.Strip(b.m.drawn))
		}
		b.keys("[")
		b.want("event-0:")
		b.keys("esc", "end")
		b.hears("the last one")
		if width <= 80 && !strings.Contains(b.marked(), "the last one") {
			t.Errorf("%d columns: the end does not follow: %q", width, b.marked())
		}
	}
}

// What is scrolled through stands still until what is chosen would leave it.
func TestTheLogScrollsNoMoreThanItMust(t *testing.T) {
	b := begin(t, runID, 80, 24)
	b.send(document(1))
	for i := range 40 {
		b.hears(fmt.Sprint("event-", i, "."))
	}
	b.keys("tab")
	rows := logRows(&b.m)
	for range rows - 1 {
		b.keys("up")
	}
	b.want("event-39.", fmt.Sprint("event-", 40-rows, "."))
	b.keys("up")
	if strings.Contains(b.m.drawn, "event-39.") {
		t.Errorf("what is chosen left what is seen:\n%s", ansi.Strip(b.m.drawn))
	}
	b.want(fmt.Sprint("event-", 39-rows, "."))
	b.keys("home")
	b.want("event-0.", fmt.Sprint("event-", rows-1, "."))
	b.send(tea.WindowSizeMsg{Width: 80, Height: 34}) // a terminal that grows is filled
	b.want("event-0.", fmt.Sprint("event-", rows+9, "."))
}

// Before anything happened there is no line to read.
func TestAnEmptyLogHasNothingToOpen(t *testing.T) {
	b := begin(t, runID, 80, 24)
	b.send(document(1))
	if b.keys("tab", "up", "enter"); b.m.view != viewRun {
		t.Errorf("view %d", b.m.view)
	}
}
