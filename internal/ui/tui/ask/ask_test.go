package ask

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/prompt"
	"agency/internal/ui/tui"
)

// person presses keys and types lines, as a test says.
type person struct {
	keys, lines, left chan string
	asked             []string
}

func (p *person) Key() (byte, error) {
	k, ok := <-p.keys
	if !ok {
		return 0, prompt.ErrClosed
	}
	return k[0], nil
}

func (p *person) Line(_ io.Writer, question string, _ int) (string, error) {
	p.asked = append(p.asked, question)
	select {
	case l := <-p.lines:
		return l, nil
	case <-p.left:
		return "", prompt.ErrLeft
	}
}

func (p *person) Aside(do func() error) error { return do() }

func (p *person) Interrupt() bool {
	select {
	case p.left <- "":
		return true
	default:
		return false
	}
}

// run notes what it is answered.
type run struct{ answers []string }

func (r *run) Answer(_ context.Context, a api.AnswerRequest) (string, error) {
	r.answers = append(r.answers, fmt.Sprintf("%s %s %q %v", a.Verb, a.Gate, a.Note, a.BudgetUSD))
	return "", nil
}
func (r *run) Diff(context.Context) (string, error) { return "the diff\n", nil }
func (r *run) Gate(_ context.Context, g agency.Gate, _ bool) (string, error) {
	return "shown: " + string(g.ID), nil
}
func (r *run) Leave() { r.answers = append(r.answers, "left") }

// asking starts an asker whose terminal is what it gives.
func asking(t *testing.T) (*Asker, *person, *run, *bytes.Buffer, func()) {
	var screen bytes.Buffer
	p, r := &person{keys: make(chan string), lines: make(chan string), left: make(chan string)}, &run{}
	a := &Asker{
		Keys: p, Run: r, Out: &screen, Log: tui.NewLog(&screen, tui.LogOptions{Style: tui.Style{Live: true, Width: 100}}),
		Pager: prompt.Pager{Env: func(string) (string, bool) { return "cat >/dev/null", true }},
	}
	done := make(chan struct{})
	go func() { defer close(done); a.Listen(t.Context()) }()
	return a, p, r, &screen, func() { close(p.keys); <-done }
}

// What is asked about is what was shown last: a second gate is shown once the first is answered,
// and a line about one that somebody else answers is left.
func TestOneGateAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, p, r, screen, end := asking(t)
		for _, id := range []agency.GateID{"one", "two", "one"} {
			if err := a.Ask(t.Context(), agency.Gate{ID: id, Kind: agency.GateQuestion, Summary: "which?"}); err != nil {
				t.Fatal(err)
			}
		}
		if s := screen.String(); strings.Count(s, "shown: one") != 1 || strings.Contains(s, "shown: two") || !strings.Contains(s, "(1 more after it)") {
			t.Errorf("%q", s)
		}
		p.keys <- "a"
		p.lines <- "first"
		synctest.Wait()
		if err := a.Answered(t.Context(), "one"); err != nil || !strings.Contains(screen.String(), "shown: two") {
			t.Errorf("%q, %v", screen, err)
		}
		p.keys <- "a"
		synctest.Wait()
		if err := a.Answered(t.Context(), "two"); err != nil { // by somebody else, while a line is typed
			t.Error(err)
		}
		synctest.Wait()
		p.keys <- "a" // answers nothing: no gate waits
		end()
		if want := []string{`approve one "first" 0`}; !slices.Equal(r.answers, want) {
			t.Errorf("%q", r.answers)
		}
	})
}

// Each key does what it says, and what ends a run or lands work is asked again.
func TestKeys(t *testing.T) {
	merge, plain := agency.Gate{ID: "g", Kind: agency.GateMerge}, agency.Gate{ID: "g", Kind: agency.GateQuestion}
	options := plain
	options.Options = []string{"x", "y"}
	for _, tc := range []struct {
		gate agency.Gate
		key  string
		line []string
		want string
	}{
		{merge, "a", []string{"y"}, `approve g "" 0`},
		{merge, "a", []string{""}, ""},
		{merge, "a", []string{"n"}, ""},
		{merge, "r", []string{"too long"}, `reject g "too long" 0`},
		{merge, "r", []string{""}, ""},
		{merge, "q", nil, ""},
		{merge, "\r", nil, ""},
		{merge, "d", nil, ""},
		{merge, "l", nil, "left"},
		{options, "2", []string{"y"}, `approve g "y" 0`},
		{options, "2", []string{"n"}, ""},
		{options, "3", nil, ""},
		{plain, "1", nil, ""},
		{plain, "r", []string{"y"}, `reject g "" 0`},
		{agency.Gate{ID: "g", Kind: agency.GateBudget}, "a", []string{"2.5"}, `approve g "" 2.5`},
		{agency.Gate{ID: "g", Kind: agency.GateBudget}, "a", []string{""}, `approve g "" 0`},
		{agency.Gate{ID: "g", Kind: agency.GateBudget}, "a", []string{"n"}, ""},
		{agency.Gate{ID: "g", Kind: agency.GateBudget}, "a", []string{"-1"}, ""},
		{agency.Gate{ID: "g", Kind: agency.GateBudget}, "a", []string{"NaN"}, ""},
		{agency.Gate{ID: "g", Kind: agency.GateEscalation}, "a", []string{"try x"}, `approve g "try x" 0`},
		{agency.Gate{ID: "g", Kind: agency.GateEscalation}, "a", []string{"n"}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, p, r, screen, end := asking(t)
			if err := a.Ask(t.Context(), tc.gate); err != nil {
				t.Fatal(err)
			}
			if question := tc.gate.Kind == agency.GateQuestion; strings.Contains(screen.String(), "approve") == question || strings.Contains(screen.String(), "1-2 choose") != (len(tc.gate.Options) > 0) {
				t.Errorf("%q", screen)
			}
			p.keys <- tc.key
			for _, l := range tc.line {
				p.lines <- l
			}
			end()
			if got := strings.Join(r.answers, ", "); got != tc.want {
				t.Errorf("%s %q %q: %q, want %q\n%s", tc.gate.Kind, tc.key, tc.line, got, tc.want, screen)
			}
		})
	}
}
