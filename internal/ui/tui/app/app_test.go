package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

const runID = agency.RunID("fix-it-abcd2345")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// record is a Looker on documents, and counts what it is told.
type record struct {
	api.View
	events []agency.Event
}

func (r *record) Look(_ context.Context, fn func(api.View, bool) error) error { return fn(r, true) }

func (r *record) Events(context.Context, api.EventQuery) iter.Seq2[agency.Event, error] {
	return func(yield func(agency.Event, error) bool) {
		for _, ev := range r.events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func (r *record) Stream(context.Context, agency.RunID) iter.Seq2[api.Delta, error] {
	return func(func(api.Delta, error) bool) {}
}

// hand is a Steerer that notes what was done.
type hand struct {
	acts []string
	err  error
}

func (h *hand) Answer(_ context.Context, run agency.RunID, r api.AnswerRequest) (string, error) {
	h.acts = append(h.acts, fmt.Sprintf("%s %s %s %q %v", r.Verb, run, r.Gate, r.Note, r.BudgetUSD))
	return "merge gate approved", h.err
}

func (h *hand) Say(_ context.Context, _ agency.RunID, to, text string) (string, error) {
	h.acts = append(h.acts, fmt.Sprintf("say %q %q", to, text))
	return "said", h.err
}

func (h *hand) Change(_ context.Context, _ agency.RunID, c Change) (string, error) {
	h.acts = append(h.acts, string(c))
	return "changed", h.err
}

func (h *hand) Start(_ context.Context, goal string) (agency.RunID, string, error) {
	h.acts = append(h.acts, "start "+goal)
	return runID, "started", h.err
}

type bench struct {
	tb testing.TB
	m  Model
	h  *hand
}

func begin(tb testing.TB, run agency.RunID, width, height int) *bench {
	h := &hand{}
	o := Options{Looker: &record{}, Steerer: h, Repo: "repo", Run: run, Style: tui.Style{Color: true}, Now: func() time.Time { return noon }}
	b := &bench{tb: tb, h: h, m: New(o, newWork(tb.Context(), o))}
	b.send(tea.WindowSizeMsg{Width: width, Height: height})
	return b
}

func (b *bench) send(msg tea.Msg) tea.Cmd {
	next, cmd := b.m.Update(msg)
	b.m = next.(Model)
	return cmd
}

// keys presses keys by name, or types a text that is none, and gives the last command.
func (b *bench) keys(names ...string) (cmd tea.Cmd) {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "end": tea.KeyEnd, "home": tea.KeyHome, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp}
	for _, name := range names {
		if code, ok := codes[name]; ok {
			cmd = b.send(tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range name {
			cmd = b.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return cmd
}

func (b *bench) want(parts ...string) {
	b.tb.Helper()
	for _, p := range parts {
		if !strings.Contains(ansi.Strip(b.m.drawn), p) {
			b.tb.Fatalf("no %q in\n%s", p, ansi.Strip(b.m.drawn))
		}
	}
}

// do performs an action's command and takes its message in.
func (b *bench) do(cmd tea.Cmd) {
	b.tb.Helper()
	if cmd == nil {
		b.tb.Fatal("nothing is done")
	}
	b.send(cmd())
}

func gate(id agency.GateID, kind agency.GateKind, at time.Time) agency.Gate {
	return agency.Gate{ID: id, RunID: runID, Kind: kind, Summary: "land 2 files", Body: "## What\n**bold** text", CreatedAt: at}
}

func document(contracts int) runMsg {
	d := api.InspectDoc{RunDoc: api.RunDoc{ID: runID, Goal: "fix \x1b[2Jit\u202e", State: agency.StateRunning, ContractsTotal: contracts, CreatedAt: noon.Add(-time.Minute)}}
	for i := range contracts {
		id := agency.ContractID(fmt.Sprintf("c%d", i))
		c := api.ContractDoc{Contract: agency.Contract{ID: id, Title: "Parse \x1b]0;x\x07durations 界界", Tier: fmt.Sprintf("t%d", i%3), Status: agency.StatusInProgress, Stage: agency.StageWorking, Description: "what it does", AssignedRole: "implementer"}, Progress: 0.4}
		c.Criteria = []agency.Proof{{Criterion: agency.Criterion{ID: "1", Text: "it parses"}, Proof: agency.ProofVerified}, {Proof: agency.ProofOpen}}
		d.Contracts = append(d.Contracts, c)
		agent := agency.AgentID(fmt.Sprintf("a%d", i))
		d.Sessions = append(d.Sessions, api.SessionDoc{ID: agency.SessionID(fmt.Sprintf("%s/%s/attempt-1", runID, id)), Role: "implementer", Agent: agent, Contract: id, Health: "looping", HealthReason: "the same call", Turns: 4, CostUSD: 0.1})
		d.Agents = append(d.Agents, api.AgentDoc{ID: agent, Activity: "edit_file", LastActivityAt: noon.Add(-12 * time.Second)})
		d.Receipts = append(d.Receipts, api.ReceiptDoc{Contract: id, Kind: agency.CheckTest, Passed: 12, Stage: "work"})
	}
	return runMsg{run: runID, doc: d, live: true, now: noon, cost: &api.CostDoc{Limits: api.LimitsDoc{USD: 5}, Forecast: agency.RunForecast{Open: 1, Mid: agency.Spent{USD: 1}, High: agency.Spent{USD: 2}}}}
}

func TestListRanksWhatWaits(t *testing.T) {
	b := begin(t, "", 100, 30)
	kinds := []agency.GateKind{agency.GateInspection, agency.GatePlan, agency.GateMerge, agency.GateQuestion, agency.GateEscalation, agency.GateBudget, agency.GateDanger}
	r := api.RunDoc{ID: runID, Number: 3, State: agency.StateWaiting, Goal: "fix it"}
	for i, k := range kinds {
		r.Gates = append(r.Gates, api.GateDoc{ID: agency.GateID(k), Kind: k, CreatedAt: noon.Add(time.Duration(i) * time.Minute)})
	}
	r.Gates = append(r.Gates, api.GateDoc{ID: "older", Kind: agency.GateFault, CreatedAt: noon.Add(-time.Hour)})
	b.send(runsMsg{runs: []api.RunDoc{r}, live: true, now: noon})
	var got []string
	for _, w := range b.m.list.gates {
		got = append(got, string(w.Gate.Kind))
	}
	if s := strings.Join(got, " "); s != "fault danger budget escalation question merge plan inspection" {
		t.Errorf("%s", s)
	}
	b.want("8 gates wait for you", "1 run")
	for _, line := range []string{"merge        #3    abcd2345", "waiting      #3    abcd2345"} {
		b.want(line)
	}
	b.keys("down", "enter")
	if b.m.view != viewGate || b.m.run.gate != "danger" {
		t.Errorf("view %d of gate %q", b.m.view, b.m.run.gate)
	}
}

func TestRunShowsContractsAgentsAndSums(t *testing.T) {
	b := begin(t, runID, 119, 30)
	b.send(document(3))
	b.want("3/6 proved", "c0", "implementer", "looping", "the same call", "12 s ago", "12 tests pass", "$5.00", "fix it")
	if strings.Contains(b.m.drawn, "\x1b[2J") || strings.Contains(b.m.drawn, "\x1b]") || strings.Contains(b.m.drawn, "\u202e") {
		t.Errorf("%q", b.m.drawn)
	}
	b.keys("down", "enter")
	b.want("verified", "it parses")
}

// What plans, leads or judges has nothing to prove: it is neither counted nor said to be open.
func TestWhatLeadsIsNotToBeProved(t *testing.T) {
	b := begin(t, runID, 119, 30)
	doc := document(2)
	doc.doc.Contracts[0].Leads = true
	b.send(doc)
	b.want("1/2 proved")
	if n := strings.Count(ansi.Strip(b.m.drawn), " proved"); n != 2 { // in sum, and of the one that works
		t.Errorf("%d times in\n%s", n, ansi.Strip(b.m.drawn))
	}
	b.keys("down", "enter")
	b.want("aim      it parses")
}

// What a run comes to is said in whole numbers at any width, the money of it before the rest; where
// more contracts are than fit, which of them one is at.
func TestSumsAreWholeAtAnyWidth(t *testing.T) {
	for width := 40; width < 200; width += 3 {
		b := begin(t, runID, width, 16)
		b.send(document(20))
		line := strings.Split(ansi.Strip(b.m.drawn), "\n")[1]
		if strings.Contains(line, "…") || width >= 70 && !strings.Contains(line, "of $5.00") {
			t.Errorf("%d columns: %q", width, line)
		}
	}
	b := begin(t, runID, 80, 16)
	b.send(document(20))
	b.keys("down")
	b.want("contracts 2 of ")
}

func TestGateIsAnsweredOnce(t *testing.T) {
	b := begin(t, runID, 100, 30)
	doc := document(1)
	doc.gates = []agency.Gate{gate("g1", agency.GateMerge, noon)}
	b.send(doc)
	b.want("MERGE GATE")
	b.keys("g")
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n" + strings.Repeat("+more\n", 60) + "diff --git a/y b/y\n+why\n"
	b.send(diffMsg{run: runID, doc: api.DiffDoc{Stat: "2 files", Patch: patch}})
	b.want("merge it", "so far, likely $1.00", "up to $2.00", "anomalies", "the same call")
	b.keys("]", "]")
	b.want("b/y", "+why")
	b.keys("r")
	if b.keys("enter"); !b.m.ask.line {
		t.Error("a merge gate is rejected without a reason")
	}
	b.keys("esc", "a")
	b.want("y / n")
	cmd := b.keys("y")
	if b.keys("a"); b.m.ask.active() {
		t.Error("asked again while the answer is on its way")
	}
	b.do(cmd)
	b.want("merge gate approved")
	if got := strings.Join(b.h.acts, "; "); got != `approve fix-it-abcd2345 g1 "" 0` {
		t.Error(got)
	}
}

// In the text of a gate one goes from file to file, and nowhere where there are none.
func TestGoesFromFileToFile(t *testing.T) {
	b := begin(t, runID, 80, 24)
	doc := document(3)
	doc.gates = []agency.Gate{gate("g1", agency.GateMerge, noon)}
	b.send(doc)
	b.keys("g")
	top := func() string { return strings.Split(ansi.Strip(b.m.drawn), "\n")[5] } // below an empty line
	patch := func(names ...string) (out string) {
		for _, name := range names {
			out += "diff --git a/" + name + " b/" + name + "\n" + strings.Repeat("+of "+name+"\n", 40)
		}
		return out
	}
	nowhere := func(why string) {
		t.Helper()
		for _, key := range []string{"]", "["} {
			before := b.m.run.page.top
			if b.keys(key); b.m.run.page.top != before {
				t.Errorf("%s goes from %d to %d", key, before, b.m.run.page.top)
			}
			b.want(why)
		}
		if strings.Contains(b.m.drawn, "] [ files") {
			t.Error("the key is offered")
		}
	}
	nowhere("the change is read")
	b.send(diffMsg{run: runID, err: errors.New("no such tree")})
	nowhere("no change to show: no such tree")
	b.send(diffMsg{run: runID})
	nowhere("nothing is changed yet")
	b.send(diffMsg{run: runID, doc: api.DiffDoc{Patch: patch("x", "y"), Local: &api.LocalDiff{Patch: patch("mine")}}})
	b.want("] [ files")
	for _, step := range []struct{ key, at string }{
		{"]", "mine"}, {"]", "x"}, {"]", "y"}, {"]", "y"}, {"[", "x"}, {"[", "mine"}, {"[", "mine"},
	} {
		if b.keys(step.key); !strings.Contains(top(), "b/"+step.at) {
			t.Errorf("%s does not go to %s:\n%s", step.key, step.at, ansi.Strip(b.m.drawn))
		}
	}
	b.send(diffMsg{run: runID, doc: api.DiffDoc{Local: &api.LocalDiff{}}})
	nowhere("the change has no file")
}

// The change is shown alone, from a run as from its gate, and esc leads back to where one came from.
func TestChangeAlone(t *testing.T) {
	for _, from := range []view{viewRun, viewGate} {
		b := begin(t, runID, 80, 24)
		doc := document(3)
		if from == viewGate {
			doc.gates = []agency.Gate{gate("g1", agency.GateMerge, noon)}
		}
		b.send(doc)
		if from == viewGate {
			b.keys("g")
		}
		b.keys("d")
		b.want("the change is read")
		b.send(diffMsg{run: runID, doc: api.DiffDoc{Patch: "diff --git a/x b/x\n+new\ndiff --git a/y b/y\n" + strings.Repeat("+why\n", 40)}})
		b.want("] [ files", "+new")
		b.keys("]", "]")
		b.want("b/y")
		b.keys("?", "esc")
		b.want("b/y")
		if b.keys("esc"); b.m.view != from {
			t.Errorf("from view %d back to %d", from, b.m.view)
		}
	}
}

// Each key that the foot names does something in its view.
func TestKeysOfTheFootDoSomething(t *testing.T) {
	open := func(keys ...string) *bench {
		b := begin(t, runID, 200, 40)
		doc := document(3)
		doc.gates = []agency.Gate{gate("g1", agency.GateMerge, noon), gate("g2", agency.GatePlan, noon.Add(time.Second))}
		b.send(doc)
		b.send(eventsMsg{feed: b.m.link.feed, events: someEvents(3), now: noon})
		for _, k := range keys {
			b.keys(k)
			if b.m.view == viewGate || b.m.view == viewChange {
				b.send(diffMsg{run: runID, doc: api.DiffDoc{Patch: "diff --git a/x b/x\n+new\ndiff --git a/y b/y\n" + strings.Repeat("+why\n", 60)}})
			}
			if b.m.view == viewTranscript {
				b.send(transcriptMsg{session: b.m.run.transcript.session, text: strings.Repeat("said\n", 100), now: noon})
			}
		}
		return b
	}
	for _, to := range [][]string{{}, {"tab"}, {"g"}, {"d"}, {"g", "d"}, {"t", "up"}, {"tab", "up", "enter"}, {"?"}} {
		for _, named := range keysOf(&open(to...).m) {
			for _, key := range strings.Fields(strings.SplitAfterN(named, " ", 2)[0]) {
				b := open(to...)
				was := b.m
				cmd := b.keys(key)
				if cmd == nil && b.m.view == was.view && b.m.drawn == was.drawn && !b.m.ask.active() {
					t.Errorf("after %v the key %q of %q does nothing", to, key, named)
				}
			}
		}
	}
}

// What is counted does not go back by an answer that was overtaken.
func TestTimeDoesNotGoBack(t *testing.T) {
	b := begin(t, runID, 100, 30)
	doc := document(1)
	b.send(doc)
	b.send(tickMsg{noon.Add(10 * time.Second)})
	doc.now = noon.Add(8 * time.Second)
	b.send(doc)
	if want := noon.Add(10 * time.Second); !b.m.now.Equal(want) {
		t.Errorf("it is %s, want %s", b.m.now, want)
	}
}

func TestGateAnsweredElsewhereIsTold(t *testing.T) {
	b := begin(t, runID, 100, 30)
	doc := document(1)
	doc.gates = []agency.Gate{gate("g1", agency.GateMerge, noon)}
	b.send(doc)
	b.keys("g", "a")
	ev := agency.NewEvent(runID, agency.SeverityInfo, "approved", agency.GateApproved{Gate: "g1", Kind: agency.GateMerge, By: "bob"})
	ev.ID, ev.Time = 9, noon
	b.m.link.open = &feed{}
	b.send(eventsMsg{feed: b.m.link.feed, events: []agency.Event{ev}, now: noon})
	b.want("answered elsewhere: approved by bob")
	if b.keys("y") != nil || b.m.ask.active() || len(b.h.acts) > 0 {
		t.Errorf("%v", b.h.acts)
	}
	b.m.note = note{}
	doc.gates[0].Decision = agency.Decision{Verb: agency.Approve, By: "bob"}
	if b.send(doc); b.m.note.text != "" {
		t.Errorf("told twice: %s", b.m.note.text)
	}
}

func TestSayStartAndCancel(t *testing.T) {
	b := begin(t, runID, 100, 30)
	b.send(document(1))
	b.do(b.keys(":", "@a0 use the helper", "enter"))
	b.do(b.keys("s", "hurry é", "enter"))
	b.do(b.keys("c", "y"))
	b.keys("c", "n")
	if got := strings.Join(b.h.acts, "; "); got != `say "a0" "use the helper"; say "" "hurry é"; cancel` {
		t.Error(got)
	}
	b.h.acts, b.h.err = nil, errors.New("no")
	b.do(b.keys("p", "y"))
	b.want("no")
}

// Every size from the smallest on: no panic, no line too long, none too many.
func TestSizes(t *testing.T) {
	for width := 1; width < 220; width += 7 {
		for height := 1; height < 60; height += 4 {
			b := begin(t, runID, 100, 30)
			doc := document(20)
			doc.gates = []agency.Gate{gate("g1", agency.GateMerge, noon)}
			b.send(doc)
			for _, key := range []string{"down", "g", "end", "?", "esc", "esc", "t", "esc", "s", "esc", "tab", "up", "enter", "[", "esc"} {
				b.keys(key)
				b.send(tea.WindowSizeMsg{Width: width, Height: height})
				lines := strings.Split(b.m.drawn, "\n")
				if len(lines) > max(height, 2) {
					t.Fatalf("%dx%d: %d lines", width, height, len(lines))
				}
				for _, l := range lines {
					if n := ansi.StringWidth(l); n > width {
						t.Fatalf("%dx%d after %s: %d columns: %q", width, height, key, n, l)
					}
				}
			}
		}
	}
}

func someEvents(n int) []agency.Event {
	out := make([]agency.Event, n)
	for i := range out {
		out[i] = agency.NewEvent(runID, agency.SeverityInfo, fmt.Sprintf("event %d\x1b[2J", i+1), agency.Log{})
		out[i].ID, out[i].Time = int64(i+1), noon
	}
	return out
}

// A log that comes fast loses nothing, and comes in few batches.
func TestFastLogLosesNothing(t *testing.T) {
	const n = 10_000
	r := &record{events: someEvents(n)}
	o := Options{Looker: r, Now: func() time.Time { return noon }}
	ctx, cancel := context.WithCancel(t.Context())
	w := newWork(ctx, o)
	w.after = func(time.Duration) <-chan time.Time { return nil } // a frame as long as it takes
	f := w.open(1, api.EventQuery{})().(openedMsg).feed
	heard, batches := 0, 0
	l := eventLog{zone: time.UTC}
	for {
		m := w.next(f)().(eventsMsg)
		if m.ended {
			break
		}
		batches++
		for _, ev := range m.events {
			if l.add(ev, nil) {
				heard++
			}
		}
	}
	cancel()
	w.wait()
	if heard != n || batches > n/batchSize+1 {
		t.Errorf("%d events in %d batches", heard, batches)
	}
	if got := l.lines(tui.Style{}, 80, 3, false); len(got) != 3 || !strings.Contains(got[2], "event 10000") {
		t.Errorf("%q", got)
	}
	l.key("pgup", 3)
	l.add(agency.Event{ID: n + 1, Severity: agency.SeverityWarning, Summary: "newer", Time: noon}, nil)
	if got := l.lines(tui.Style{}, 80, 3, false); strings.Contains(strings.Join(got, ""), "newer") {
		t.Error("a log that was scrolled away from its end follows")
	}
}

func TestWithoutColours(t *testing.T) {
	b := begin(t, runID, 80, 24)
	b.m.o.Style = tui.Style{}
	b.send(document(3))
	if strings.Contains(b.m.drawn, "\x1b") || !strings.Contains(b.m.drawn, "▸") {
		t.Errorf("%q", b.m.drawn)
	}
}

func TestHostThatEndsIsTold(t *testing.T) {
	b := begin(t, runID, 100, 24)
	b.m.link.live, b.m.link.open = true, &feed{}
	b.send(document(1))
	b.send(eventsMsg{feed: b.m.link.feed, ended: true, live: true, now: noon})
	b.want("the host ended; this is the record")
	feedBefore := b.m.link.feed
	b.send(tickMsg{noon.Add(retryAfter)})
	if b.m.link.feed != feedBefore+1 {
		t.Error("nobody tries again")
	}
}

func TestTranscriptFollows(t *testing.T) {
	b := begin(t, runID, 80, 20)
	b.send(document(1))
	b.keys("t")
	long := strings.Repeat("line\n", 100) + "the end\n"
	s := b.m.run.transcript.session
	b.send(transcriptMsg{session: s, text: long, now: noon})
	b.want("the end", "follows")
	b.keys("up")
	b.send(transcriptMsg{session: s, text: long + "more\n", now: noon})
	if strings.Contains(b.m.drawn, "more") {
		t.Error("a text that was scrolled follows")
	}
}

func BenchmarkFrame1000Contracts(b *testing.B) {
	t := begin(b, runID, 200, 50)
	t.send(document(1000))
	ev := someEvents(b.N)
	b.ResetTimer()
	t.m.link.open = &feed{}
	for i := range b.N {
		t.send(eventsMsg{feed: t.m.link.feed, events: ev[i : i+1], now: noon.Add(time.Duration(i) * time.Second)})
	}
}
