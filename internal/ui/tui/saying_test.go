package tui

import (
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
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
