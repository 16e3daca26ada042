package tui

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"agency/internal/agency"
)

// Progress is a run as its events tell it: a fold, so that a watcher that
// comes late and reads the log from its start knows the same.
type Progress struct {
	Turns    int
	Tests    string // of the last run of tests of the work, its claim or a merge
	Cost     agency.Money
	Tokens   int64
	Unpriced bool
	State    agency.RunState
	Doing    string             // the last thing that the agent did
	Gates    int                // that wait
	Forecast agency.RunForecast // as last heard
	Share    float64            // of the run, as last heard
	Health   string             // of agents that do not just work
	Awaits   string             // the model that is waited for
	Calls    string             // the tool that an agent calls now
}

// Add takes one event in. Events of a newer version change nothing.
func (p *Progress) Add(ev agency.Event) {
	if d, err := agency.DecodeDetail(ev); err == nil {
		p.Take(ev, d)
	}
}

// Take is Add of an event whose details are decoded; none: it is of a newer version.
func (p *Progress) Take(ev agency.Event, d agency.Detail) {
	if d == nil {
		return
	}
	switch d := d.(type) {
	case *agency.TurnCompleted:
		p.Turns++
		p.paid(d.Run)
		p.Unpriced = p.Unpriced || d.Unpriced
		p.Doing = ""
	case *agency.Charged:
		p.paid(d.Run)
	case *agency.TestsRun:
		// Neither those of a trial nor of what the work began from.
		if ev.Severity.AtLeast(agency.SeverityInfo) && d.Stage != agency.StageBase {
			p.Tests = testsWord(*d)
		}
	case *agency.ToolCalled:
		p.Doing = Line(d.Tool)
	case *agency.Claimed:
		p.Doing = "verifying"
	case *agency.VerdictSubmitted:
		p.Doing = ""
	case *agency.ResourceWaited:
		p.Doing = "waits for " + Line(d.String())
	case *agency.ResourceTaken:
		p.Doing = ""
	case *agency.GatePending:
		p.Gates++
	case *agency.GateApproved, *agency.GateRejected:
		p.Gates = max(0, p.Gates-1)
	}
	if s := StateAfter(ev); s != "" {
		p.State = s
	}
}

// paid takes in what the run has spent, as somebody read it: it never becomes less.
func (p *Progress) paid(s agency.Spent) {
	p.Cost, p.Tokens = max(p.Cost, agency.USD(s.USD)), max(p.Tokens, s.Tokens)
}

// StateAfter is the state into which an event moved its run, or "".
func StateAfter(ev agency.Event) agency.RunState {
	switch ev.Type {
	case "run_succeeded":
		return agency.StateSucceeded
	case "run_failed":
		return agency.StateFailed
	case "run_cancelled":
		return agency.StateCancelled
	case "run_paused":
		return agency.StatePaused
	case "run_waiting":
		return agency.StateWaiting
	case "run_resumed", "run_started":
		return agency.StateRunning
	case "state_changed":
		if ev.ContractID != "" {
			return ""
		}
		if d, err := agency.DecodeDetail(ev); err == nil {
			if c, ok := d.(*agency.StateChanged); ok {
				return agency.RunState(c.To)
			}
		}
	}
	return ""
}

func testsWord(d agency.TestsRun) string {
	if d.Passed+d.Failed+d.Skipped == 0 {
		if d.ExitCode == 0 {
			return "tests pass"
		}
		return fmt.Sprintf("tests: exit code %d", d.ExitCode)
	}
	s := fmt.Sprintf("tests %d passed", d.Passed)
	if d.Failed > 0 {
		s += fmt.Sprintf(", %d failed", d.Failed)
	}
	if d.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped", d.Skipped)
	}
	return s
}

func (p *Progress) line(elapsed time.Duration) string {
	if p.State.Final() || p.State == "" {
		return ""
	}
	parts := []string{string(p.State)}
	if p.Gates > 0 { // first, for a narrow terminal cuts the end off
		parts = append(parts, fmt.Sprintf("%d waiting for you", p.Gates))
	}
	if p.Awaits != "" {
		parts = append(parts, p.Awaits)
	}
	if doing := cmp.Or(p.Doing, p.Calls); p.Gates == 0 && doing != "" {
		parts = append(parts, doing)
	}
	if p.Share > 0 {
		parts = append(parts, percent(p.Share))
	}
	if p.Turns > 0 {
		parts = append(parts, fmt.Sprintf("turn %d", p.Turns))
	}
	if p.Tests != "" {
		parts = append(parts, p.Tests)
	}
	parts = append(parts, p.spent())
	if elapsed >= time.Second {
		parts = append(parts, Elapsed(elapsed))
	}
	if p.Health != "" {
		parts = append(parts, p.Health)
	}
	return strings.Join(parts, " · ")
}

// spent is what the run cost, and what it is likely to come to in the same unit.
func (p *Progress) spent() string {
	f := p.Forecast
	switch {
	case f.Open == 0:
		return Cost(p.Cost, p.Tokens, p.Unpriced)
	case p.Cost == 0 && (p.Unpriced || f.Unpriced && f.Mid.USD == 0):
		return fmt.Sprintf("%s of about %s tokens, %s", agency.Count(p.Tokens), agency.Count(f.Mid.Tokens), p.Cost.Amount(true))
	}
	return p.Cost.Amount(p.Unpriced) + " of about " + agency.USD(f.Mid.USD).Amount(f.Unpriced)
}

// percent is a share as people read it: what is not all of it is never 100.
func percent(share float64) string {
	p := int(math.Round(share * 100))
	if share < 1 {
		p = min(p, 99)
	}
	return fmt.Sprintf("%d %%", p)
}

// Cost is an amount as people read it: money where it is known, else tokens.
func Cost(m agency.Money, tokens int64, unpriced bool) string {
	if unpriced && m == 0 {
		return agency.Count(tokens) + " tokens, " + m.Amount(unpriced)
	}
	return m.Amount(unpriced)
}

// Passed is the time from one moment to another by the seconds of the clock: what is shown of it
// once in each second leaves no number out and has none twice, however unevenly it is drawn.
func Passed(from, to time.Time) time.Duration {
	return to.Truncate(time.Second).Sub(from.Truncate(time.Second))
}

// NextSecond is how long it is until the clock's next second has begun.
func NextSecond(now time.Time) time.Duration {
	const begun = 10 * time.Millisecond // a timer and the clock may differ by less
	return now.Truncate(time.Second).Add(time.Second + begun).Sub(now)
}

// Elapsed is a duration in its two largest units.
func Elapsed(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
}
