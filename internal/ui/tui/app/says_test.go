package app

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agency/internal/agency"
	"agency/internal/api"
)

// What an agent says stands beside it while it says it, and below its conversation,
// which follows it; once the conversation has it, it stands there once.
func TestSaysWhatItSays(t *testing.T) {
	for _, width := range []int{80, 120} {
		b := begin(t, runID, width, 24)
		doc := document(1)
		s := &doc.doc.Sessions[0]
		s.Health, s.HealthReason = "working", ""
		b.send(doc)
		b.want("edit_file")
		f := &feed{id: b.m.link.feed, said: make(chan api.Delta, 8), cancel: func() {}}
		says := func(turn int, text string) {
			b.send(saidMsg{feed: f, said: []api.Delta{{Session: s.ID, Turn: turn, Kind: api.DeltaText, Text: text, Begins: strings.HasPrefix(text, "I")}}})
		}
		says(2, "I look at\nthe pars")
		says(2, "er \x1b[2Jfirst")
		b.want("the parser first")
		if strings.Contains(b.m.drawn, "\x1b[2J") {
			t.Fatalf("the terminal is told what to do:\n%q", b.m.drawn)
		}
		b.keys("down", "t")
		b.send(transcriptMsg{session: s.ID, text: strings.Repeat("said before\n", 100), turn: 1, now: noon})
		b.want("says now", "I look at", "the parser first")
		says(2, strings.Repeat(", then on", 40)+" to the very-last-word")
		b.want("very-last-word")
		b.send(transcriptMsg{session: s.ID, text: strings.Repeat("said before\n", 100) + "It is said", turn: 2, now: noon})
		b.want("It is said")
		if strings.Contains(ansi.Strip(b.m.drawn), "says now") {
			t.Errorf("it is said twice:\n%s", ansi.Strip(b.m.drawn))
		}
		says(3, "I go on")
		b.want("says now", "I go on")
		b.send(saidMsg{feed: &feed{id: 99}, said: []api.Delta{{Session: s.ID, Turn: 9, Text: "of another feed", Begins: true}}})
		if strings.Contains(b.m.drawn, "of another feed") {
			t.Error("another feed is heard")
		}
	}
}

// While a provider is waited for the title says for what, and how long still, however narrow the
// terminal is.
func TestSaysWhatIsWaitedFor(t *testing.T) {
	for _, width := range []int{80, 120} {
		b := begin(t, runID, width, 24)
		doc := document(1)
		b.send(doc)
		session := doc.doc.Sessions[0].ID
		ev := agency.NewEvent(runID, agency.SeverityWarning, "asked again", agency.Retried{Session: session, Provider: "slow/model", Cause: "rate_limit", WaitSeconds: 30, Attempt: 1, Of: 4})
		ev.ID, ev.Time = 90, noon
		b.send(eventsMsg{feed: b.m.link.feed, events: []agency.Event{ev}, now: noon})
		b.want("waiting for slow: rate limit, next try in 30 s, 2 of 4")
		b.send(tickMsg{noon.Add(12 * time.Second)})
		b.want("next try in 18 s")
		done := agency.NewEvent(runID, agency.SeverityInfo, "", agency.TurnCompleted{Session: session, Turn: 2})
		done.ID, done.Time = 91, noon.Add(20*time.Second)
		b.send(eventsMsg{feed: b.m.link.feed, events: []agency.Event{done}, now: done.Time})
		if strings.Contains(ansi.Strip(b.m.drawn), "waiting for") {
			t.Errorf("it is waited on:\n%s", ansi.Strip(b.m.drawn))
		}
	}
}

// What a stream brings within the time of a frame is one message: the terminal is not
// drawn for each piece.
func TestSaidInOneFrame(t *testing.T) {
	b := begin(t, runID, 80, 24)
	f := &feed{id: b.m.link.feed, said: make(chan api.Delta, 100), cancel: func() {}}
	for range 100 {
		f.said <- api.Delta{Session: "s", Text: "x"}
	}
	close(f.said)
	m, ok := b.m.work.said(f)().(saidMsg)
	if !ok || len(m.said) != 100 {
		t.Errorf("one message brings %d", len(m.said))
	}
	if b.m.work.said(f)() != nil {
		t.Error("a stream that has ended is heard again")
	}
}
