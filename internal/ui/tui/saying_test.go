package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/text"
)

// A provider that says nothing, or is to be asked again, is told within seconds, by the clock
// of who looks on, until it answers.
func TestAwaited(t *testing.T) {
	at := func(seconds int) time.Time {
		return time.Date(2026, 3, 1, 12, 0, seconds, 0, time.UTC)
	}
	retried := func(seconds int, cause string, wait float64) (agency.Event, agency.Detail) {
		d := &agency.Retried{Session: "s", Attempt: 1, Cause: cause, WaitSeconds: wait}
		ev := agency.NewEvent("r", agency.SeverityWarning, "", *d)
		ev.Time = at(seconds)
		return ev, d
	}
	asked := func(seconds int) api.Delta {
		return api.Delta{Session: "s", Turn: 1, Model: "anthropic/big", Begins: true, Asked: at(seconds)}
	}
	var a Awaited
	want := func(seconds int, want string) {
		t.Helper()
		if got := a.Line(at(seconds)); got != want {
			t.Errorf("after %d s %q, want %q", seconds, got, want)
		}
	}
	a.Hear(at(0), asked(0))
	want(2, "")
	want(4, "waiting for anthropic: no answer for 4 s")
	a.Take(retried(5, "rate_limited", 42))
	a.Hear(at(5), asked(4), api.Delta{Session: "s", Turn: 1, Done: true}) // late, of the try before
	want(6, "waiting for anthropic: rate limited, next try in 41 s, try 2")
	want(48, "waiting for anthropic: rate limited, try 2")
	a.Hear(at(48), asked(47))
	want(48, "")
	a.Hear(at(49), api.Delta{Session: "s", Turn: 1, Kind: api.DeltaText, Text: "x"})
	want(53, "")
	want(60, "waiting for anthropic: nothing more for 11 s")
	a.Hear(at(61), asked(60), api.Delta{Session: "t", Model: "gemini/fast", Begins: true, Asked: at(60)})
	want(65, "waiting for anthropic: no answer for 5 s (and 1 more)")
	again, d := retried(65, "overloaded", 10)
	d.(*agency.Retried).Of, d.(*agency.Retried).Provider = 6, "gemini"
	a.Take(again, d)
	want(66, "waiting for gemini: overloaded, next try in 9 s, 2 of 6 (and 1 more)")
	again, d = retried(66, "server", 10)
	a.Take(again, d)
	want(67, "waiting for gemini: the server answers with an error, next try in 9 s, try 2 (and 1 more)")
	paused := agency.NewEvent("r", agency.SeverityInfo, "", agency.RunPaused{})
	a.Take(paused, nil)
	want(90, "")
	said := api.Delta{Session: "u", Turn: 2, Kind: api.DeltaText, Text: "y"}
	a.Hear(at(90), said)
	over := agency.NewEvent("r", agency.SeverityInfo, "", agency.TurnCompleted{Session: "u", Turn: 2, Model: "gemini/fast"})
	a.Take(over, &agency.TurnCompleted{Session: "u", Turn: 2, Model: "gemini/fast"})
	a.Hear(at(91), said) // late
	want(110, "")
}

// Quiet are gates, failures and the end, and one line of progress.
func TestQuiet(t *testing.T) {
	var out strings.Builder
	l := NewLog(&out, LogOptions{Style: Style{Live: true, Width: 80}, Quiet: true, Zone: time.UTC})
	for _, ev := range []agency.Event{
		agency.NewEvent("r", agency.SeverityInfo, "it began", agency.RunStarted{}),
		agency.NewEvent("r", agency.SeverityInfo, "a call", agency.ToolCalled{}),
		agency.NewEvent("r", agency.SeverityWarning, "a red test", agency.TestsRun{}),
		agency.NewEvent("r", agency.SeverityError, "it broke", agency.Failed{}),
		agency.NewEvent("r", agency.SeverityWarning, "a gate", agency.GatePending{}),
		agency.NewEvent("r", agency.SeverityInfo, "an end", agency.RunSucceeded{}),
	} {
		_ = l.Event(ev)
	}
	_ = l.Say(api.Delta{Session: "s", Turn: 1, Begins: true, Kind: api.DeltaText, Text: "some words"})
	for text, want := range map[string]bool{"it began": false, "a call": false, "a red": false, "some words": false, "it broke": true, "a gate": true, "an end": true} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("%q: shown %v, want %v", text, !want, want)
		}
	}
}

// What runs now stands where a narrow terminal does not cut it off, also what no agent does.
func TestProgressSaysWhatRuns(t *testing.T) {
	var p Progress
	for _, step := range []struct {
		d    agency.Detail
		want string
	}{
		{&agency.RunStarted{}, "running"},
		{&agency.ToolCalled{Tool: "run_tests"}, "running · run_tests"},
		{&agency.Claimed{}, "running · verifying"},
		{&agency.VerdictSubmitted{}, "running · tests"},
	} {
		if _, over := step.d.(*agency.VerdictSubmitted); over {
			p.Tests = "tests 3 passed"
		}
		p.Take(agency.NewEvent("r", agency.SeverityInfo, "", step.d), step.d)
		if got := p.line(0); !strings.HasPrefix(got, step.want) {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
}

// inked is a terminal's text without its colours.
func inked(lines []string) string {
	left, out := strings.Join(lines, "\n"), ""
	for left != "" {
		plain, rest, _ := strings.Cut(left, "\x1b[")
		out += plain
		_, left, _ = strings.Cut(rest, "m")
	}
	return out
}

// What still comes is painted as it will be: no mark of Markdown is seen at any moment, no line that
// is complete changes any more, and nothing of it steers the terminal.
func TestWhatStreamsIsPainted(t *testing.T) {
	const said = "# The plan\n\nI **fix** the `Add` function, *at last*, and **_all_ `of`** it\x1b[2J, as the [docs](http://example.com/docs) say.\n\n" +
		"```go\nfunc Add(a, b int) int { return a * b }\n```\n> ## A quote\n- one **bold thing**\n- *.go and snake_case, 2 * 3\n"
	st := Style{Color: true, Width: 60}
	whole := rendered(st, said, "  ")
	for i := range len(said) {
		var s Saying
		s.Add(api.Delta{Session: "s", Turn: 1, Kind: api.DeltaText, Text: said[:i+1], Begins: true})
		seen := s.Seen(st)
		text := inked(seen)
		for _, mark := range []string{"**", "```", "# ", "`", "](", "_all", "\x1b"} {
			if strings.Contains(text, mark) {
				t.Fatalf("%q is seen of %q in\n%s", mark, said[:i+1], text)
			}
		}
		if said[i] != '\n' {
			seen = seen[:max(0, len(seen)-1)] // goes on
		}
		for _, l := range seen {
			if !slices.Contains(whole, l) && !strings.Contains(said[strings.LastIndexByte(said[:i], '\n')+1:i+1], "docs") {
				t.Fatalf("%q is none of the lines that it will be, after %q", l, said[:i+1])
			}
		}
		if len(seen) > mostSeen {
			t.Fatalf("%d lines", len(seen))
		}
	}
	if got := (Saying{}).Seen(st); len(got) != 0 {
		t.Errorf("nobody says %q", got)
	}
}

// Code whose beginning is no longer kept is code.
func TestLongCodeStreamsAsCode(t *testing.T) {
	st := Style{Color: true, Width: 60}
	var s Saying
	s.Add(api.Delta{Session: "s", Turn: 1, Kind: api.DeltaText, Text: "See:\n```go\n", Begins: true})
	for range 3000 {
		s.Add(api.Delta{Session: "s", Turn: 1, Kind: api.DeltaText, Text: "a := **b\n"})
	}
	for _, l := range s.Seen(st) {
		if l != "    "+st.paint(cyan, "a := **b") {
			t.Fatalf("%q", l)
		}
	}
	s.Add(api.Delta{Session: "s", Turn: 1, Kind: api.DeltaText, Text: "```\nThat **is** it"})
	if got := s.Seen(st); got[len(got)-1] != "  That \x1b[1mis\x1b[0m it" {
		t.Errorf("%q", got)
	}
}

// The one line that there is for an agent among others has its words and no marks.
func TestOneLineOfWhatIsSaid(t *testing.T) {
	for said, want := range map[string]string{
		"# A `head` of **it**\n": "A head of it", "Look **at": "Look at", "It is:\n```go\n": "It is:", "x\n```\ncode\n": "code", "*.go": "*.go",
	} {
		var s Saying
		s.Add(api.Delta{Session: "s", Turn: 1, Kind: api.DeltaText, Text: said, Begins: true})
		if got := s.Line("s", 40); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// A claim stands in the log in its agent's own words, painted where there are colours.
func TestClaimIsPainted(t *testing.T) {
	ev := agency.NewEvent("r", agency.SeverityInfo, "claims to be complete: `Add` is **done, and "+text.Ellipsis, agency.Claimed{})
	if got := EventLine(Style{Color: true, Width: 80}, time.UTC, ev); !strings.HasSuffix(got, "claims to be complete: \x1b[36mAdd\x1b[0m is \x1b[1mdone, and …\x1b[0m") {
		t.Errorf("%q", got)
	}
	if got := EventLine(Style{}, time.UTC, ev); !strings.Contains(got, "`Add` is **done") {
		t.Errorf("without colours %q", got)
	}
}

// A call that was refused or failed is one line on a terminal, however much is said of it; one that
// would end the work is told as well.
func TestRefusedCallIsOneLine(t *testing.T) {
	why := "edit_file calc.go: old_text does not occur in the file; " + strings.Repeat("the nearest place is at line 3: ", 6)
	for _, d := range []agency.Detail{agency.ToolRefused{Tool: "edit_file"}, agency.ToolCalled{Tool: "edit_file", Error: "x"}} {
		for _, width := range []int{80, 120} {
			got := EventLine(Style{Width: width}, time.UTC, agency.NewEvent("r", agency.SeverityWarning, why, d))
			if strings.Contains(got, "\n") || columns(got) >= width || !strings.Contains(got, "calc.go: old_text does not occur in") {
				t.Errorf("%d columns: %q", width, got)
			}
		}
	}
	for failed, hidden := range map[string]bool{"": true, "error: there are no proofs": false} {
		d := &agency.ToolCalled{Tool: "signal_complete", Error: failed}
		if Routine(agency.NewEvent("r", agency.SeverityInfo, "", *d), d) != hidden {
			t.Errorf("%q: hidden: %v", failed, !hidden)
		}
	}
}

// What is counted down leaves no second out and never goes back, however unevenly it is drawn.
func TestCountsEachSecond(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 987_000_000, time.UTC)
	d := &agency.Retried{Session: "s", Attempt: 1, Of: 6, Cause: "overloaded", WaitSeconds: 41.49}
	ev := agency.NewEvent("r", agency.SeverityWarning, "", *d)
	ev.Time = began
	var a Awaited
	a.Take(ev, d)
	left, now := 42, began
	for tick := range 38 {
		now = now.Add(NextSecond(now)).Add(time.Duration(tick*37%400) * time.Millisecond) // drawn late
		left--
		if want, got := fmt.Sprintf("next try in %d s, 2 of 6", left), a.Line(now); !strings.Contains(got, want) {
			t.Fatalf("tick %d at %s: %q, want %q", tick, now.Format("05.000"), got, want)
		}
	}
}
