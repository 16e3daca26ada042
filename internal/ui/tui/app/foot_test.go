package app

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"agency/internal/agency"
	"agency/internal/ui/tui"
)

// rows are the last of the frame, without colours.
func (b *bench) rows(n int) []string {
	lines := strings.Split(ansi.Strip(b.m.drawn), "\n")
	return lines[max(0, len(lines)-n):]
}

// A question is read to its end on a small terminal, with the keys that answer it.
func TestQuestionsFitOnASmallTerminal(t *testing.T) {
	b := begin(t, runID, 80, 24)
	budget := gate("b1", agency.GateBudget, noon)
	budget.Grant = &agency.Grant{Node: "run", Limit: "usd", EnoughUSD: 0.06, PlainUSD: 12.34}
	plan := gate("p1", agency.GatePlan, noon)
	plan.Approving = "carry out the plan with three contracts beside each other, of which the second waits until the first has landed"
	doc := document(1)
	doc.gates = []agency.Gate{budget, plan}
	b.send(doc)
	b.keys("g", "a")
	b.want("new limit in US dollars, at least $0.0600; empty sets $12.34")
	typed := b.rows(2)
	if b.keys("7"); b.rows(2)[0] != "> 7" || !strings.Contains(typed[1], "enter does it · esc leaves it") {
		t.Errorf("%q", b.rows(3))
	}
	if c := b.m.cursor; c == nil || c.X != 3 || c.Y != 22 {
		t.Errorf("the cursor stands at %+v", c)
	}
	b.keys("esc", "tab", "a")
	words := strings.Join(strings.Fields(strings.Join(b.rows(4), " ")), " ")
	if !strings.Contains(words, "approve the plan gate: "+plan.Approving+"? y / n y does it · n or esc leaves it") {
		t.Errorf("%q", words)
	}
}

// What went wrong is read to its end, too, and no key is shown in part.
func TestNotesAndKeysFit(t *testing.T) {
	b := begin(t, runID, 80, 24)
	doc := document(1)
	doc.gates = []agency.Gate{gate("g1", agency.GateMerge, noon)}
	b.send(doc)
	text := "the answer is refused: " + strings.Repeat("for a reason, ", 8) + "mend it"
	b.m.note = note{text: text, ink: tui.Red, at: noon}
	b.keys("down")
	if words := strings.Join(strings.Fields(strings.Join(b.rows(3), " ")), " "); !strings.Contains(words, text) {
		t.Errorf("%q", words)
	}
	if last := b.rows(1)[0]; !strings.HasSuffix(last, "s say") || !strings.HasPrefix(last, "g gate · ") {
		t.Errorf("%q", last)
	}
}

// The sum that the application names is the one that it asks for: a plain answer names none,
// and the host sets what the gate told.
func TestPlainAnswerAtABudgetGate(t *testing.T) {
	b := begin(t, runID, 100, 30)
	g := gate("b1", agency.GateBudget, noon)
	g.Grant = &agency.Grant{Node: "run", Limit: "usd", PlainUSD: 12.34}
	doc := document(1)
	doc.gates = []agency.Gate{g}
	b.send(doc)
	b.keys("g")
	b.want("a  set a new limit; without a sum $12.34")
	b.keys("a")
	b.want("empty sets $12.34")
	b.do(b.keys("enter"))
	if got := strings.Join(b.h.acts, "; "); got != `approve fix-it-abcd2345 b1 "" 0` {
		t.Error(got)
	}
}

// A gate that is answered shows its answer and no keys: at once where it was answered here,
// by its event where it was elsewhere, and by the record; where an answer was refused it
// has its keys again.
func TestAnsweredGateHasNoKeys(t *testing.T) {
	doc := document(1)
	g := gate("g1", agency.GateMerge, noon)
	doc.gates = []agency.Gate{g}
	shown := func() *bench {
		b := begin(t, runID, 100, 30)
		b.send(doc)
		b.keys("g")
		b.want("a  merge it", "a approve · r reject")
		return b
	}
	none := func(b *bench, as string) {
		t.Helper()
		b.want(as)
		for _, key := range []string{"a  merge it", "r  send it back", "a approve", "r reject"} {
			if strings.Contains(ansi.Strip(b.m.drawn), key) {
				t.Errorf("%q in\n%s", key, ansi.Strip(b.m.drawn))
			}
		}
		if b.keys("a"); b.m.ask.active() {
			t.Error("it is asked for an answer")
		}
	}
	here := shown()
	cmd := here.keys("a", "y")
	none(here, "your answer is on its way: approve")
	here.h.err = agency.Errorf(agency.KindInvalid, "refused")
	here.do(cmd)
	here.want("a  merge it", "a approve · r reject")

	elsewhere := shown()
	ev := agency.NewEvent(runID, agency.SeverityInfo, "rejected", agency.GateRejected{Gate: "g1", Kind: agency.GateMerge, By: "bob", Reason: "too long"})
	ev.ID, ev.Time = 9, noon
	elsewhere.m.link.open = &feed{}
	elsewhere.send(eventsMsg{feed: elsewhere.m.link.feed, events: []agency.Event{ev}, now: noon})
	none(elsewhere, "rejected by bob: too long")

	record := shown()
	answered := doc
	answered.gates = []agency.Gate{g}
	answered.gates[0].Decision = agency.Decision{Verb: agency.Approve, By: "eve"}
	record.send(answered)
	none(record, "approved by eve")

	ended := shown()
	over := doc
	over.doc.State = agency.StateCancelled
	ended.send(over)
	none(ended, "land 2 files")
}

// What an answer does is said where its reason or hint is asked for, and a hint may be given
// where the gate promises that it is taken.
func TestAnswersSayWhatTheyDo(t *testing.T) {
	escalated := gate("e1", agency.GateEscalation, noon)
	escalated.Approving, escalated.Rejecting = "one more attempt; with --note TEXT it has your hint", "end the run"
	again := gate("m1", agency.GateMerge, noon)
	again.Rejecting = "end the run: it was sent back once; its branch stays"
	for _, tt := range []struct {
		gate agency.Gate
		keys []string
		asks string
		want string
	}{
		{escalated, []string{"a"}, "one more attempt; your hint, or empty", `approve fix-it-abcd2345 e1 "" 0`},
		{escalated, []string{"a", "t", "r", "y"}, "one more attempt; your hint, or empty", `approve fix-it-abcd2345 e1 "try" 0`},
		{escalated, []string{"r", "n", "o"}, "reject the escalation gate: end the run; why", `reject fix-it-abcd2345 e1 "no" 0`},
		{again, []string{"r", "n", "o"}, "end the run: it was sent back once; its branch stays; why", `reject fix-it-abcd2345 m1 "no" 0`},
	} {
		b := begin(t, runID, 100, 30)
		doc := document(1)
		doc.gates = []agency.Gate{tt.gate}
		b.send(doc)
		b.keys("g", tt.keys[0])
		b.want(tt.asks)
		b.keys(tt.keys[1:]...)
		b.do(b.keys("enter"))
		if got := strings.Join(b.h.acts, "; "); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// What was said of one run does not stand over another.
func TestNotesStayWithTheirRun(t *testing.T) {
	b := begin(t, runID, 100, 30)
	b.send(document(1))
	b.m.say(tui.Green, "merge gate rejected: the run failed")
	b.m.enter(runID)
	if b.m.note.text == "" {
		t.Error("it is gone from its own run")
	}
	if b.m.enter("other-run"); b.m.note.text != "" {
		t.Errorf("%q over another run", b.m.note.text)
	}
}

// The log of a tiered run has the codes of its steps, also of those that are told by what
// was published.
func TestLogHasTheCodes(t *testing.T) {
	b := begin(t, runID, 160, 30)
	b.send(document(1))
	b.m.link.open = &feed{}
	var evs []agency.Event
	for i, d := range []agency.Detail{
		agency.Published{Kind: agency.ArtifactBoundaries, Version: 1}, agency.Published{Kind: agency.ArtifactAssumptions, Version: 1},
	} {
		ev := agency.NewEvent(runID, agency.SeverityInfo, "said", d)
		ev.ID, ev.Time, ev.Role, ev.ContractID = int64(i+20), noon, agency.RoleLead, "t2-boundaries"
		evs = append(evs, ev)
	}
	b.send(eventsMsg{feed: b.m.link.feed, events: evs, now: noon})
	b.want("BOUNDS_READY", "published")
}
