package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// What a frame remembers of those before changes nothing of what it shows: at each step it
// is the frame of an application that remembers nothing.
func TestRememberedFramesAreTheSame(t *testing.T) {
	b := begin(t, runID, 160, 30)
	b.m.link.open = &feed{}
	doc := document(40)
	evs := someEvents(400)
	now := noon
	steps := map[string]func(){
		"document": func() { b.send(doc) },
		"events": func() {
			b.send(eventsMsg{feed: b.m.link.feed, events: evs[:20], now: now})
			evs = evs[20:]
		},
		"said": func() {
			f := &feed{id: b.m.link.feed, said: make(chan api.Delta, 8), cancel: func() {}}
			b.send(saidMsg{feed: f, said: []api.Delta{{Session: doc.doc.Sessions[0].ID, Turn: 9, Kind: api.DeltaText, Text: fmt.Sprint(len(evs), " things"), Begins: true}}})
		},
		"second": func() {
			now = now.Add(time.Second)
			b.send(eventsMsg{feed: b.m.link.feed, now: now})
		},
		"other": func() {
			doc.doc.Sessions[0].Health, doc.doc.Sessions[0].HealthReason = "working", ""
			doc.doc.Contracts[1].Title = "another"
			b.send(doc)
		},
		"unfold":  func() { b.keys("down", "enter") },
		"focus":   func() { b.keys("tab") },
		"scroll":  func() { b.keys("up", "up") },
		"verbose": func() { b.keys("v") },
		"narrow":  func() { b.send(tea.WindowSizeMsg{Width: 100, Height: 24}) },
		"wide":    func() { b.send(tea.WindowSizeMsg{Width: 180, Height: 40}) },
		"colour":  func() { b.m.o.Style = tui.Style{}; b.send(tea.PasteMsg{}) },
	}
	order := "document events events said second events other said unfold second focus scroll events verbose narrow events second wide focus events colour events"
	for i, step := range strings.Fields(order) {
		steps[step]()
		fresh := b.m
		fresh.fits, fresh.run.tree.seen, fresh.run.log.seen = &fits{}, sight{}, logSight{}
		fresh.draw()
		if b.m.drawn != fresh.drawn {
			t.Fatalf("step %d, %s: shows\n%s\ninstead of\n%s", i, step, b.m.drawn, fresh.drawn)
		}
	}
}

// Frames after the first measure no line that stood in the one before.
func TestLinesAreFittedOnce(t *testing.T) {
	b := begin(t, runID, 160, 50)
	b.m.link.open = &feed{}
	b.send(document(1000))
	evs := someEvents(200)
	b.send(eventsMsg{feed: b.m.link.feed, events: evs[:180], now: noon})
	made := b.m.fits.made
	b.send(eventsMsg{feed: b.m.link.feed, events: evs[180:], now: noon})
	if anew := b.m.fits.made - made; anew > 25 { // 20 events, and what counts them
		t.Errorf("%d lines of 50 are fitted anew for 20 events", anew)
	}
	if n := len(b.m.fits.now) + len(b.m.fits.before); n > 4*50+20 {
		t.Errorf("%d lines are remembered", n)
	}
}

// The lines of an event are made once, however long it is seen.
func TestEventsAreFormattedOnce(t *testing.T) {
	l := eventLog{zone: time.UTC}
	for _, ev := range someEvents(30) {
		l.add(ev, nil)
	}
	l.lines(tui.Style{}, 80, 20, false)
	l.shown[30][0] = "remembered"
	l.add(agency.Event{ID: 31, Severity: agency.SeverityInfo, Summary: "newer", Time: noon}, nil)
	got := l.lines(tui.Style{}, 80, 20, false)
	if got[18] != " remembered" || !strings.Contains(got[19], "newer") || len(l.shown) != 20 {
		t.Errorf("%d are remembered: %q", len(l.shown), got[18:])
	}
	if got = l.lines(tui.Style{}, 60, 20, false); got[18] == " remembered" {
		t.Error("another width shows the same lines")
	}
}
