package tui

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/api"
)

func TestCleanTakesWhatMovesATerminal(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain täxt\n\tok", "plain täxt\n\tok"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"a\x1b[2J\x1b[Hb", "ab"},
		{"\x1b]0;title\x07x", "x"},
		{"\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1b]0;no end\nnext", "\nnext"},
		{"\x1bPq#0\x1b\\y", "y"},
		{"\x1b(Bz", "z"},
		{"\x1bcreset", "reset"},
		{"a\rb\bc\x07", "a bc"},
		{"x\r\ny", "x\ny"},
		{"\u009b31mcsi", "31mcsi"}, // one character, the eight-bit form
		{"safe\u202eevil", `safe\u202eevil`},
		{"a\u200bb\u2066c\U000e0041", `a\u200bb\u2066c\udb40\udc41`},
		{"bad\xffutf", "bad\ufffdutf"},
		{"\x1b", ""},
		{"\x1b[", ""},
		{"\x1b[1;\nx", "\nx"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mx\x1b]0;t\x07")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if strings.ContainsAny(got, "\x1b\r\x07\x08") || !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if Clean(got) != got {
			t.Errorf("Clean is not idempotent on %q", s)
		}
	})
}

func event(id int64, role agency.RoleID, sev agency.Severity, text string, d agency.Detail) agency.Event {
	ev := agency.NewEvent("fix-it-abcd2345", sev, text, d)
	ev.ID, ev.Role = id, role
	ev.Time = time.Date(2026, 3, 1, 22, 4, int(id), 0, time.UTC)
	return ev
}

func someEvents() []agency.Event {
	merged := event(6, "", agency.SeverityInfo, "merged into main", agency.Merged{Branch: "main"})
	tier := event(7, "t4_implementer", agency.SeverityInfo, "done", agency.Completed{})
	tier.Tier, tier.ContractID = "t4", "parser"
	return []agency.Event{
		event(1, "", agency.SeverityInfo, "fix it", agency.RunStarted{Goal: "fix it"}),
		event(2, "generalist", agency.SeverityDebug, "turn 1", agency.TurnCompleted{Turn: 1, In: 100, Out: 20, CostUSD: 0.25, Run: agency.Spent{USD: 0.25, Tokens: 120}}),
		event(3, "generalist", agency.SeverityInfo, "go test\n\x1b[31m./...", agency.TestsRun{Passed: 3, Failed: 1}),
		event(4, "", agency.SeverityWarning, "ready to merge", agency.GatePending{Gate: "g", Kind: agency.GateMerge}),
		event(5, "", agency.SeverityInfo, "approved", agency.GateApproved{Gate: "g", Kind: agency.GateMerge}),
		merged, tier,
	}
}

// The plain log is a promise: one line an event, no escape sequence, columns
// in place.
func TestPlainLog(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(&out, LogOptions{})
	for _, ev := range someEvents() {
		if err := l.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	want := `[fix-it-abcd2345] 22:04:01  state           run_started        fix it
[fix-it-abcd2345] 22:04:03  generalist      tests_run          go test ./...
[fix-it-abcd2345] 22:04:04  gate            gate_pending       ready to merge
[fix-it-abcd2345] 22:04:05  gate            gate_approved      approved
[fix-it-abcd2345] 22:04:06  git             merged             merged into main
[fix-it-abcd2345] 22:04:07  T4 implementer  completed          parser: done
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestVerboseLogShowsAll(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(&out, LogOptions{Verbose: true})
	for _, ev := range someEvents() {
		_ = l.Event(ev)
	}
	if n := strings.Count(out.String(), "\n"); n != len(someEvents()) {
		t.Errorf("%d lines of %d events", n, len(someEvents()))
	}
}

func TestProgressLineIsRedrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	start := time.Date(2026, 3, 1, 22, 4, 0, 0, time.UTC)
	l := NewLog(&out, LogOptions{Style: Style{Live: true, Width: 100}, Start: start, Now: func() time.Time { return start.Add(75 * time.Second) }})
	for _, ev := range someEvents()[:4] {
		_ = l.Event(ev)
	}
	const want = "running · 1 waiting for you · turn 1 · tests 3 passed, 1 failed · $0.25 · 1 min 15 s"
	if got := out.String(); !strings.HasSuffix(got, want) {
		t.Errorf("ends %q", got[max(0, len(got)-120):])
	}
	l.Stands(api.CostDoc{Forecast: agency.RunForecast{Open: 2, Mid: agency.Spent{USD: 1.5, Tokens: 90_000}}, Progress: 0.42})
	_ = l.Tick()
	if got := out.String(); !strings.Contains(got, "· $0.25 of about $1.50 ·") || !strings.Contains(got, "· 42 % · turn 1 ·") {
		t.Errorf("with a forecast it ends %q", got[max(0, len(got)-120):])
	}
	l.Stands(api.CostDoc{Forecast: agency.RunForecast{Mid: agency.Spent{USD: 0.25}}}) // nothing is open
	_ = l.Tick()
	if got := out.String(); !strings.HasSuffix(got, want) {
		t.Errorf("without one it ends %q", got[max(0, len(got)-120):])
	}
	if strings.Count(out.String(), "running ·") != strings.Count(out.String(), "\r\x1b[K")+1 {
		t.Errorf("a progress line was left standing: %q", out.String())
	}
	// What is spent is seen before a turn ends: what broke off, and an answer whose calls run.
	_ = l.Event(agency.NewEvent("r", agency.SeverityDebug, "", agency.Charged{USD: 0.5, Run: agency.Spent{USD: 0.75}}))
	if got := out.String(); !strings.Contains(got[max(0, len(got)-90):], "· $0.75 ·") {
		t.Errorf("with what broke off it ends %q", got[max(0, len(got)-120):])
	}
	l.Stands(api.CostDoc{Total: api.Spend{CostUSD: 0.8}})
	_ = l.Tick()
	if got := out.String(); !strings.Contains(got[max(0, len(got)-90):], "· $0.80 ·") {
		t.Errorf("with an answer whose turn is open it ends %q", got[max(0, len(got)-120):])
	}
	_ = l.Stop()
	_ = l.Tick()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Error("the progress line stands after Stop")
	}
	if n := utf8.RuneCountInString(l.o.Style.paint("", cut(want, 20))); n != 20 {
		t.Errorf("cut to %d", n)
	}
}

// What happened before a log began is not shown and counts.
func TestProgressCountsWhatWasBefore(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(&out, LogOptions{Style: Style{Live: true, Width: 100}})
	for _, ev := range someEvents()[:3] {
		l.Seen(ev)
	}
	if out.Len() > 0 {
		t.Errorf("shown: %q", out.String())
	}
	_ = l.Event(someEvents()[3])
	if got := out.String(); !strings.Contains(got, "turn 1 · tests 3 passed, 1 failed · $0.25") {
		t.Errorf("ends %q", got)
	}
}

// A terminal that became narrower has broken the progress line into rows: all
// of them are taken away, and the next one fits.
func TestProgressLineFollowsTheWidth(t *testing.T) {
	var out bytes.Buffer
	width := 100
	start := time.Date(2026, 3, 1, 22, 4, 0, 0, time.UTC)
	l := NewLog(&out, LogOptions{
		Style: Style{Live: true, Width: 100}, Width: func() int { return width }, Start: start, Now: func() time.Time { return start.Add(75 * time.Second) },
	})
	for _, ev := range someEvents()[:4] {
		_ = l.Event(ev)
	}
	_ = l.Tick()
	for _, step := range []struct {
		width int
		want  string
	}{
		{40, "\r\x1b[2A\x1b[Jrunning · 1 waiting for you · turn 1 ·…"},
		{20, "\r\x1b[1A\x1b[Jrunning · 1 waitin…"},
		{120, "\r\x1b[Krunning · 1 waiting for you · turn 1 · tests 3 passed, 1 failed · $0.25 · 1 min 15 s"},
		{83, "\r\x1b[1A\x1b[Jrunning · 1 waiting for you · turn 1 · tests 3 passed, 1 failed · $0.25 · 1 min 1…"},
	} {
		out.Reset()
		width = step.width
		_ = l.Tick()
		if got := out.String(); got != step.want {
			t.Errorf("%d columns: got %q, want %q", width, got, step.want)
		}
	}
}

// No line of the log is broken by the terminal, whatever script it is in.
func TestLogLinesFitTheTerminal(t *testing.T) {
	for _, width := range []int{30, 40, 50, 64, 80, 100, 120} {
		var out bytes.Buffer
		l := NewLog(&out, LogOptions{Style: Style{Live: true, Width: width}})
		for _, text := range []string{"設定ファイルを読み込むときに期間を解析してテストを追加する、秒だけの値も", "🚀🚀🚀 ship ✅ it 👩‍💻 now ❤️ and then some more of it 🎉🎉🎉🎉🎉🎉🎉🎉", strings.Repeat("é", 200), strings.Repeat("e\u0301", 100)} {
			_ = l.Event(event(1, "generalist", agency.SeverityInfo, text, agency.RunStarted{Goal: text}))
		}
		_ = l.Stop()
		for line := range strings.Lines(out.String()) {
			_, line, _ = strings.Cut("\r\x1b[K"+line, "\r\x1b[K") // the progress line before it is gone
			line = line[strings.LastIndex(line, "\x1b[K")+1:]
			line = strings.TrimRight(strings.TrimPrefix(line, "[K"), "\n")
			if n := columns(line); n > width-1 && width >= 40 {
				t.Errorf("width %d: %d columns in %q", width, n, line)
			}
		}
	}
}

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "期間": 4, "한글": 4, "🚀": 2, "ｆ": 2, "·…": 2, "⚡": 2, "\u200b": 0} {
		if got := columns(s); got != want {
			t.Errorf("%q: %d columns, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		s     string
		width int
		want  string
	}{{"abcdef", 4, "abc…"}, {"期間期間", 5, "期間…"}, {"期間期間", 6, "期間…"}, {"期間", 4, "期間"}, {"abc", 1, "…"}, {"abc", 0, "abc"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"}} {
		if got := cut(c.s, c.width); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.s, c.width, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	st := Style{Live: true, Width: 25}
	for in, want := range map[string]string{
		"short":                               "  short",
		"words that are more than a line":     "  words that are more\n  than a line",
		"- an item of a list that goes on":    "  - an item of a list\n    that goes on",
		"code `go test ./... -run X` stays":   "  code\n  `go test ./... -run X`\n  stays",
		"a\n\nb":                              "  a\n\n  b",
		"verylongwordwithoutanyspaceinit end": "  verylongwordwithoutanyspaceinit\n  end",
		"> somebody's words that go on":       "  > somebody's words\n  > that go on",
	} {
		if got := Wrap(st, "  ", in); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if long := strings.Repeat("x ", 100); Wrap(Style{}, "", long) != long {
		t.Error("broken without a terminal")
	}
}

func TestGateNamesTheCommandsThatAnswerIt(t *testing.T) {
	for _, kind := range []agency.GateKind{
		agency.GatePlan, agency.GateInspection, agency.GateMerge, agency.GateBudget, agency.GateQuestion, agency.GateDependencies,
		agency.GateDanger, agency.GateEscalation, agency.GateWeakened, agency.GateFault,
	} {
		g := agency.Gate{ID: "run-1.g-1", RunID: "run-1", Kind: kind, Summary: "s\x1b[2J", Body: "b\x1b[2J", Options: []string{"one", "two"}}
		out := Gate(Style{}, g, "\n  anomalies  none\n")
		for _, want := range []string{"anomalies  none", "agency approve run-1.g-1", "agency reject run-1.g-1", "2. two"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", kind, want, out)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("%s: an escape sequence in %q", kind, out)
		}
		g.Approving, g.Rejecting = "so it comes", "so it does not"
		if out := Gate(Style{}, g, ""); kind == agency.GateDanger && (!strings.Contains(out, g.Approving) || !strings.Contains(out, g.Rejecting)) {
			t.Errorf("%s: what an answer means is not said in\n%s", kind, out)
		}
	}
}

// One agent alone is not worth a table; conflicts are shown with their outcome.
func TestInspectShowsATeam(t *testing.T) {
	one := api.AgentDoc{ID: "scaffolder-a", Status: "waiting", Turns: 3, Files: 2, Missed: 1, Activity: "claimed\x1b[2J"}
	doc := api.InspectDoc{Agents: []api.AgentDoc{one}}
	if out := Inspect(Style{}, doc); strings.Contains(out, "scaffolder-a") {
		t.Errorf("a lone agent in\n%s", out)
	}
	doc.Agents = append(doc.Agents, api.AgentDoc{ID: "scaffolder-b", Status: "completed"})
	doc.Conflicts = []api.ConflictDoc{
		{Resource: "x.go", Status: "resolved", Agents: []agency.AgentID{"scaffolder-a", "scaffolder-b"}, How: "landed on top", ProofKind: "commit", Proof: "0123456789abcdef"},
		{Resource: "y.go", Status: "escalated", Agents: []agency.AgentID{"scaffolder-a"}, EscalatedTo: "run-1.reviews-a-1"},
	}
	got := strings.Fields(strings.ReplaceAll(Inspect(Style{}, doc), "\n", " \n "))
	out := strings.Join(got, " ")
	for _, want := range []string{"scaffolder-a waiting 3 2 1 claimed", "scaffolder-b completed 0 0 0 -", "x.go resolved scaffolder-a, scaffolder-b landed on top (commit 0123456789)", "y.go escalated scaffolder-a with run-1.reviews-a-1"} {
		if !strings.Contains(out, want) || strings.Contains(out, "\x1b") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestNoColourWithoutStyle(t *testing.T) {
	doc := api.InspectDoc{
		RunDoc:    api.RunDoc{ID: "run-1", State: agency.StateFailed, Goal: "g\n\x1b[31mx"},
		Contracts: []api.ContractDoc{{Contract: agency.Contract{ID: "main", Title: "t"}, Criteria: []agency.Proof{{Proof: agency.ProofVerified}}}},
		Receipts:  []api.ReceiptDoc{{Command: "go test"}},
		Landings:  []api.LandingDoc{{Commit: "0123456789abcdef"}},
	}
	for name, out := range map[string]string{
		"inspect":  Inspect(Style{}, doc),
		"runs":     Runs(Style{}, []api.RunDoc{doc.RunDoc}, time.Now(), false),
		"cost":     Costs(Style{}, api.CostDoc{ByModel: map[string]api.Spend{"m\x1b[1m": {}}}),
		"diff":     Diff(Style{}, "+a\x1b[1m\n"),
		"messages": Messages(Style{}, []api.MessageDoc{{Message: agency.Message{Body: "\x1b[1mx"}}}, nil),
	} {
		if strings.Contains(out, "\x1b") {
			t.Errorf("%s: %q", name, out)
		}
	}
	if !strings.Contains(Inspect(Style{Color: true}, doc), "\x1b[31mfailed") {
		t.Error("no colour with a style")
	}
}

func TestCostInWords(t *testing.T) {
	tests := []struct {
		m        agency.Money
		tokens   int64
		unpriced bool
		want     string
	}{
		{agency.USD(1.5), 10, false, "$1.50"},
		{agency.USD(0.0123), 10, false, "$0.0123"},
		{0, 12345, true, "12 k tokens, unpriced"},
		{agency.USD(2), 10, true, "$2.00 + unpriced"},
	}
	for _, tt := range tests {
		if got := Cost(tt.m, tt.tokens, tt.unpriced); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// Where no price is known nothing is said of a limit of money, which holds none of it, and money
// and tokens are in one unit.
func TestUnpriced(t *testing.T) {
	d := api.InspectDoc{RunDoc: api.RunDoc{ID: "say-k3f9d2ab", Number: 7, Tokens: 4415, Unpriced: true}}
	c := api.CostDoc{Forecast: agency.RunForecast{Open: 1, Unpriced: true, Mid: agency.Spent{Tokens: 26000}}}
	c.Limits.USD, c.Limits.Tokens = 20, 5_000_000
	if got, want := SoFar(Style{}, d, c), "  run   say-k3f9d2ab (agency-7)\n  cost  4415 tokens, unpriced so far, likely 26 k tokens, unpriced in the end, never more than 5.0 M tokens unasked\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p := Progress{Tokens: 4415, Unpriced: true, Forecast: c.Forecast}
	if got, want := p.spent(), "4415 of about 26 k tokens, unpriced"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Cost, p.Forecast.Mid.USD = agency.USD(1), 3
	if got, want := p.spent(), "$1.00 + unpriced of about $3.00 + unpriced"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a contract that plans is for is no claim that nobody has proved.
func TestInspectSaysWhatPlanningIsFor(t *testing.T) {
	c := api.ContractDoc{Contract: agency.Contract{ID: "plan"}, Criteria: []agency.Proof{{Criterion: agency.Criterion{Text: "it can be checked"}, Proof: agency.ProofAsserted}}}
	for leads, want := range map[bool]string{true: "  aim       it can be checked\n", false: "  asserted  it can be checked\n"} {
		c.Leads = leads
		if got := Inspect(Style{}, api.InspectDoc{Contracts: []api.ContractDoc{c}}); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestMessagesStandInTheirThreads(t *testing.T) {
	message := func(id, from, to, root string) api.MessageDoc {
		m := api.MessageDoc{Message: agency.Message{
			ID: agency.MessageID(id), From: from, To: to, Type: agency.MessageNote, Body: "text " + id,
			ThreadRoot: agency.MessageID(root), Status: agency.MailPending,
		}}
		if root != id {
			m.InReplyTo = agency.MessageID(root)
		}
		return m
	}
	all := message("2", "ann", agency.Everyone, "2")
	all.Deliveries = []api.DeliveryDoc{{Agent: "bob", Status: agency.MailRead}, {Agent: "cid", Status: agency.MailFailed, Reason: "it ended"}}
	all.Sum = "processed by 3 of 4, failed for 1"
	role := message("3", "ann", "", "3")
	role.ToRole = "reviewer"
	out := Messages(Style{}, []api.MessageDoc{message("1", "ann", "bob", "1"), all, role, message("4", "bob", "ann", "1")}, nil)
	last := -1
	for _, want := range []string{"text 1", "└ text 4", "everyone", "processed by 3 of 4, failed for 1", "bob", "cid", "it ended", "any reviewer"} {
		at := strings.Index(out[last+1:], want)
		if at < 0 {
			t.Fatalf("want %q, in this order:\n%s", want, out)
		}
		last += at + 1
	}
}

// On a terminal the log shows how things went, and why, in whole sentences, and
// leaves out what the progress line says; a program's log has everything.
func TestLogOnATerminalTellsWhatMatters(t *testing.T) {
	refused := event(3, "", agency.SeverityWarning, "claim refused: new test fails: example.com/shop/money.TestFormatNegative", agency.VerdictSubmitted{})
	refused.ContractID = "money"
	evs := []agency.Event{
		event(1, "scaffolder", agency.SeverityInfo, "turn 1: 100 tokens in", agency.TurnCompleted{Turn: 1}),
		event(2, "scaffolder", agency.SeverityInfo, "signal_complete", agency.ToolCalled{Tool: "signal_complete"}),
		event(2, "", agency.SeverityInfo, "claim: `go vet ./...`: exit code 0", agency.LintRun{}),
		event(2, "", agency.SeverityInfo, "claim: `go vet ./...`: exit code 1", agency.LintRun{ExitCode: 1}),
		event(2, "scaffolder", agency.SeverityInfo, "write_file a-folder/with-a-long-name/and-a-file-that-is-cut.go", agency.ToolCalled{Tool: "write_file"}),
		refused,
	}
	var out, all bytes.Buffer
	l, p := NewLog(&out, LogOptions{Style: Style{Width: 80}}), NewLog(&all, LogOptions{})
	for _, ev := range evs {
		_, _ = l.Event(ev), p.Event(ev)
	}
	_ = l.Stop()
	var lines []string
	for line := range strings.Lines(out.String()) {
		line = line[strings.LastIndex(line, "\x1b[K")+1:]
		if line = strings.TrimPrefix(line, "[K"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	want := `22:04:02  lint_run           claim: ` + "`go vet ./...`" + `: exit code 1
22:04:02  tool_called        write_file a-folder/with-a-long-name/and-a-file-t…
22:04:03  verdict_submitted  money: claim refused: new test fails:
                             example.com/shop/money.TestFormatNegative
`
	if got := strings.Join(lines, ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := strings.Count(all.String(), "\n"); n != len(evs) {
		t.Errorf("%d lines of %d events", n, len(evs))
	}
}

// A text that is laid out keeps its layout, its tables are aligned, and no line
// is broken within a word.
func TestFit(t *testing.T) {
	in := "  session alpha/attempt-1  scaffolder  2 turns  claimed\n| contract | cost |\n|---|---|\n| a | $1.00 |\n| longer | $2.00 |\n\nend"
	want := "  session alpha/attempt-1\n  scaffolder  2 turns\n  claimed\ncontract  cost\na         $1.00\nlonger    $2.00\n\nend"
	if got := Fit(Style{Width: 28}, in); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Fit(Style{}, in); got != in {
		t.Errorf("changed without a terminal:\n%s", got)
	}
	red := Style{Color: true, Width: 28}.paint(red, "twenty-six columns of red.")
	if got := Fit(Style{Width: 28}, red); got != red {
		t.Errorf("colours take columns: %q", got)
	}
}

// What an agent wrote is never cut: a table that does not fit is broken between the words of its
// cells, and where words are too long for that its rows are text. What is no table stays as it is.
func TestTablesLoseNothing(t *testing.T) {
	long := "| file | what it holds and why |\n|:--|---|\n| a.go | the parser of durations, which `go test -run Durations` proves as long as nobody edits the table |\n| b.go | short | more than the head has |\n"
	path := "| file | line |\n|---|---|\n| " + strings.Repeat("folder/", 9) + "first.go | " + strings.Repeat("folder/", 9) + "second.go |\n"
	output := "| a line of output | with bars | that is no table |\n| and | more | bars | than above |\n"
	for _, st := range []Style{{Width: 80}, {Width: 80, Color: true}, {Width: 40}} {
		for _, in := range []string{long, path, output} {
			for how, got := range map[string]string{"Fit": Fit(st, in), "rendered": strings.Join(rendered(st, in, "  "), "\n")} {
				bare := strings.NewReplacer("\x1b[0m", "", "\x1b[2m", "", "\x1b[36m", "").Replace(got)
				for word := range strings.FieldsSeq(strings.NewReplacer("|", "", "-", "", ":", "", "`", "").Replace(in)) {
					if !strings.Contains(strings.NewReplacer("-", "", ":", "", "`", "").Replace(bare), word) {
						t.Errorf("%s %v: no %q in\n%s", how, st, word, bare)
					}
				}
				for line := range strings.Lines(got) {
					if line = strings.TrimRight(line, "\n"); in != path && columns(line) >= st.Width {
						t.Errorf("%s %v: %d columns: %s", how, st, columns(line), line)
					}
				}
			}
		}
	}
	if got := Fit(Style{Width: 80}, path); !strings.HasPrefix(got, "| file | line |\n| folder/") {
		t.Errorf("rows of long words are no text:\n%s", got)
	}
	if got := Fit(Style{Width: 100}, output); got != output {
		t.Errorf("lines with bars became\n%s", got)
	}
	want := "file  what it holds\na.go  the parser of\n      durations\n"
	if got := Fit(Style{Width: 26}, "| file | what it holds |\n|---|---|\n| a.go | the parser of durations |\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := wrapLine("mend: `agency reject a-run --reason TEXT` then", 20), "mend: `agency reject\na-run --reason TEXT`\nthen"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// On a narrow terminal what an answer means stands below its command.
func TestAnswersFitTheTerminal(t *testing.T) {
	g := agency.Gate{ID: "a-run-with-a-long-name-abcd2345.merge-1", RunID: "a-run-with-a-long-name-abcd2345", Kind: agency.GateMerge, Summary: "ready", Body: "Fine."}
	for width, want := range map[int]string{
		0:  "  agency approve a-run-with-a-long-name-abcd2345.merge-1               merge it\n",
		60: "  agency approve a-run-with-a-long-name-abcd2345.merge-1\n      merge it\n",
	} {
		if got := Gate(Style{Width: width}, g, ""); !strings.Contains(got, want) {
			t.Errorf("width %d:\n%s", width, got)
		}
	}
	g.Approving = strings.Repeat("approved-as-it-is ", 5) + "at last"
	for line := range strings.Lines(Gate(Style{Width: 60}, g, "")) {
		if line = strings.TrimSpace(line); columns(line) >= 60 || strings.HasPrefix(line, "as-it-is") {
			t.Errorf("%d columns: %s", columns(line), line)
		}
	}
	if got := GateText(Style{}, g); strings.Contains(got, "approve") {
		t.Errorf("names a command:\n%s", got)
	}
}

// What came of a check is never cut: its command is, and what does not fit then is broken.
func TestCountsAreWhole(t *testing.T) {
	for contract, want := range map[agency.ContractID]string{
		"":                     "passed 8987, failed 0, skipped 12",
		"a-contract-of-a-plan": "passed 8987, failed 0, skipped 12",
	} {
		ev := agency.NewEvent("say-k3f9d2ab", agency.SeverityInfo, "base: `go test -json -count=1 ./...`: passed 8987, failed 0, skipped 12", agency.TestsRun{})
		ev.ContractID = contract
		got := EventLine(Style{Width: 80}, time.UTC, ev)
		if !strings.Contains(Line(got), want) || !strings.Contains(got, "`go") {
			t.Errorf("no %q in\n%s", want, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if columns(line) >= 80 {
				t.Errorf("%d columns: %s", columns(line), line)
			}
		}
	}
}

// What a run is about stays to be seen in the list of runs.
func TestRunsOnANarrowTerminal(t *testing.T) {
	n := int64(1 << 20)
	runs := []api.RunDoc{{ID: "say-alpha-and-beta-nz75sl6l", State: agency.StateWaiting, Mode: agency.ModeMultiAgent, Goal: "Say alpha and beta", DiskBytes: &n}}
	for width, want := range map[int][]string{80: {"GOAL", "Say alpha and beta", "AGE"}, 0: {"DISK", "MODE", "Say alpha and beta"}} {
		got := Runs(Style{Width: width}, runs, time.Now(), false)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("width %d: no %q in\n%s", width, w, got)
			}
		}
		if width > 0 && (strings.Contains(got, "DISK") || columns(got) > 2*width) {
			t.Errorf("width %d:\n%s", width, got)
		}
	}
}

// Of the runs of many repositories a number means nothing without its repository.
func TestRunsOfManyOnANarrowTerminal(t *testing.T) {
	run := api.RunDoc{
		ID: "write-notes-about-the-zf72hqbx", Number: 1, State: agency.StateInterrupted, Mode: agency.ModeMultiAgent, Repo: "/src/a-shop-with-a-long-name",
		Goal: "Write notes about the shop", Tokens: 57_000, Unpriced: true, CreatedAt: time.Unix(0, 0),
	}
	short := run
	short.ID, short.State, short.Repo = "say-nz75sl6l", agency.StateFailed, "/src/shop"
	for _, c := range []struct {
		run    api.RunDoc
		width  int
		has    []string
		hasNot []string
	}{
		{run, 80, []string{"REPOSITORY", "a-shop-with-a-long-name"}, []string{"MODE", "DONE", "COST", "AGE", "57 k", "$"}},
		{short, 80, []string{"REPOSITORY", "shop", "GOAL", "Write notes about", "AGE"}, []string{"MODE"}},
		{short, 0, []string{"REPOSITORY", "GOAL", "MODE", "COST", "57 k tokens, unpriced"}, nil},
	} {
		got, _, _ := strings.Cut(Runs(Style{Width: c.width}, []api.RunDoc{c.run}, time.Unix(60, 0), true), "interrupted:")
		for _, w := range c.has {
			if !strings.Contains(got, w) {
				t.Errorf("width %d: no %q in\n%s", c.width, w, got)
			}
		}
		for _, w := range c.hasNot {
			if strings.Contains(got, w) {
				t.Errorf("width %d: %q in\n%s", c.width, w, got)
			}
		}
	}
}

// Tokens are said once, whether a price is known or not.
func TestInspectSaysTokensOnce(t *testing.T) {
	for _, agent := range []string{"", "repository-guide"} {
		got := Inspect(Style{}, api.InspectDoc{RunDoc: api.RunDoc{Agent: agent, Tokens: 57_000, Unpriced: true}})
		if n := strings.Count(got, "57 k tokens"); n != 1 {
			t.Errorf("agent %q: %d times in\n%s", agent, n, got)
		}
		if got := Inspect(Style{}, api.InspectDoc{RunDoc: api.RunDoc{Agent: agent, Tokens: 57_000, CostUSD: 0.5}}); !strings.Contains(got, "  cost    $0.50, 57 k tokens\n") {
			t.Errorf("agent %q: got\n%s", agent, got)
		}
	}
}

// Gates that wait are told apart by what they ask, and their commands can be copied.
func TestWaitsOnANarrowTerminal(t *testing.T) {
	gate := func(id, summary string) Waiting {
		return Waiting{Run: "r", Gate: api.GateDoc{ID: agency.GateID(id), Kind: agency.GateMerge, Summary: summary, CreatedAt: time.Unix(0, 0)}}
	}
	all := []Waiting{
		gate("write-notes-about-the-zf72hqbx.merge-1", "ready to land: notes about the shop and all that belongs to it"),
		gate("write-notes-about-the-ab72hqbx.merge-1", "ready to land: notes about the money"),
	}
	got := Waits(Style{Width: 80}, all, agency.Reject, time.Unix(300, 0))
	for _, w := range all {
		if !strings.Contains(Line(got), w.Gate.Summary) || !strings.Contains(got, "\n    agency reject "+string(w.Gate.ID)+" --reason TEXT\n") {
			t.Errorf("no %q in\n%s", w.Gate.Summary, got)
		}
	}
	all[0].Gate.Kind = agency.GateQuestion // which an approval without words does not answer
	if got := Waits(Style{}, all, agency.Approve, time.Unix(300, 0)); !strings.Contains(got, ".merge-1 --note TEXT") {
		t.Errorf("no answer in:\n%s", got)
	}
	if wide := Waits(Style{Width: 200}, all, agency.Reject, time.Unix(300, 0)); !strings.HasPrefix(wide, "GATE ") {
		t.Errorf("no table on a wide terminal:\n%s", wide)
	}
}

// What was said stays to be seen where ids leave no room for it.
func TestMessagesOnANarrowTerminal(t *testing.T) {
	m := agency.Message{ID: "edits/say-alpha-and-beta-nz75sl6l/alpha/attempt-1/turn-1/scaffolder-beta", From: "system", To: "scaffolder-beta", Type: "note", Status: agency.MailFailed, Subject: "Also changed"}
	doc := api.MessageDoc{Message: m, Deliveries: []api.DeliveryDoc{{Agent: "scaffolder-beta", Status: agency.MailFailed, Reason: "the recipient has ended"}}}
	got := Messages(Style{Width: 80}, []api.MessageDoc{doc}, nil)
	for _, want := range []string{"scaffolder-beta", "Also changed", "DEAD LETTER", "the recipient has"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if n := columns(strings.TrimRight(line, "\n")); n > 79 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if wide := Messages(Style{}, []api.MessageDoc{doc}, nil); !strings.Contains(wide, string(m.ID)) {
		t.Errorf("no id in\n%s", wide)
	}
}

// TestProgressTests shows what the work has come to: neither what it began from nor
// trials take the place of a claim's or a merge's counts.
func TestProgressTests(t *testing.T) {
	var p Progress
	for i, step := range []struct {
		sev  agency.Severity
		run  agency.TestsRun
		want string
	}{
		{agency.SeverityWarning, agency.TestsRun{Failed: 1, Stage: "base"}, ""},
		{agency.SeverityInfo, agency.TestsRun{Passed: 1, Stage: "work"}, "tests 1 passed"},
		{agency.SeverityInfo, agency.TestsRun{Passed: 2, Stage: "claim"}, "tests 2 passed"},
		{agency.SeverityWarning, agency.TestsRun{Failed: 1, Stage: "base"}, "tests 2 passed"},
		{agency.SeverityDebug, agency.TestsRun{Failed: 1, Stage: "without"}, "tests 2 passed"},
		{agency.SeverityWarning, agency.TestsRun{Passed: 2, Failed: 1, Stage: "target"}, "tests 2 passed, 1 failed"},
	} {
		if p.Add(event(int64(i+1), "generalist", step.sev, "tests", step.run)); p.Tests != step.want {
			t.Errorf("after %+v: %q, want %q", step.run, p.Tests, step.want)
		}
	}
}

// An agent of a file stands in the log by its name, whatever its post's id adds to it.
func TestLogNamesAgents(t *testing.T) {
	var out strings.Builder
	l := NewLog(&out, LogOptions{})
	post := agency.PostID("/panel/member-1", "api-analyst")
	ev := agency.NewEvent("panel-1", agency.SeverityInfo, "api-analyst begins"+agency.Post{Reached: agency.ReachedMember, Team: "panel"}.Part()+" with a/b", agency.Log{})
	ev.ContractID, ev.AgentID, ev.Role = post, agency.AgentID(post), agency.RoleAgent
	if err := l.Event(ev); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "  api-analyst     log                api-analyst begins as member of panel with a/b\n") {
		t.Errorf("it says %q", got)
	}
}

// On a terminal a step of a tiered run has the code of its design, and of the many
// implementers only what went wrong is shown, unless every event is; what programs read
// has the event's type.
func TestStepsOfTieredRuns(t *testing.T) {
	event := func(role agency.RoleID, d agency.Detail) agency.Event {
		ev := agency.NewEvent("run-abcd2345", agency.SeverityInfo, "said", d)
		ev.Role, ev.Time = role, time.Date(2026, 3, 1, 22, 4, 0, 0, time.UTC)
		return ev
	}
	events := []agency.Event{
		event(agency.RoleVisionary, agency.PlanSubmitted{}), event(agency.RoleImplementer, agency.Spawned{}),
		event(agency.RoleImplementer, agency.Failed{}), event(agency.RoleGeneralist, agency.Spawned{}),
	}
	for _, tt := range []struct {
		width   int
		verbose bool
		want    string
	}{
		{0, false, "plan_submitted spawned failed spawned"},
		{100, false, "PLAN_DONE FAIL spawned"},
		{100, true, "PLAN_DONE START FAIL spawned"},
	} {
		var out bytes.Buffer
		l := NewLog(&out, LogOptions{Style: Style{Width: tt.width}, Verbose: tt.verbose})
		for _, ev := range events {
			_ = l.Event(ev)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			f := strings.Fields(line)
			got = append(got, f[len(f)-2])
			if strings.Index(line, "said") != strings.Index(out.String(), "said") {
				t.Errorf("the columns are not aligned:\n%s", out.String())
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%d columns, verbose %v: %s, want %s", tt.width, tt.verbose, g, tt.want)
		}
	}
}

// What is wrong with a run stands beside its gate, and what it cost.
func TestBesideAGate(t *testing.T) {
	d := api.InspectDoc{RunDoc: api.RunDoc{CostUSD: 0.5}}
	if got := Anomalies(Style{}, d, nil, agency.Gate{}); got != "  anomalies  none\n" {
		t.Errorf("%q", got)
	}
	d.Sessions = []api.SessionDoc{{Role: "scaffolder", Health: "looping", HealthReason: "the same call"}}
	d.Interventions = []agency.Intervention{{Action: "nudged", Agent: "a", Cause: "stagnation"}}
	got := SoFar(Style{}, d, api.CostDoc{Forecast: agency.RunForecast{Open: 1, Mid: agency.Spent{USD: 1}, High: agency.Spent{USD: 2}}}) + Anomalies(Style{}, d, nil, agency.Gate{})
	for _, want := range []string{"$0.50 so far, likely $1.00 in the end, by past work up to $2.00", "looping     scaffolder: the same call", "overseer    nudged a: stagnation"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A question is asked once, before its options.
func TestQuestionIsAskedOnce(t *testing.T) {
	g := agency.Gate{ID: "r.q", RunID: "r", Kind: agency.GateQuestion, Summary: "Which greeting?", Body: "Which greeting?\n", Options: []string{"hello", "hi"}}
	if got, want := GateText(Style{}, g), "\nQUESTION GATE  Which greeting?\n\n  1. hello\n  2. hi\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	g.Body = "Which greeting? The old one was rude."
	if got := GateText(Style{}, g); strings.Index(got, "rude") > strings.Index(got, "1. hello") || !strings.Contains(got, "rude") {
		t.Errorf("got %q", got)
	}
}
