// Package ask has the person who follows a run in a terminal answer its gates where they are
// shown, by single keys below the live log.
package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/prompt"
	"agency/internal/ui/tui"
)

// Keys is who reads a terminal (prompt.Keys).
type Keys interface {
	Key() (byte, error)
	Line(out io.Writer, question string, most int) (string, error)
	Aside(do func() error) error
	Interrupt() bool
}

// Run is the run that is followed.
type Run interface {
	// Answer answers a gate and says what came of it.
	Answer(ctx context.Context, r api.AnswerRequest) (string, error)
	// Diff is the whole change, for people.
	Diff(ctx context.Context) (string, error)
	// Gate is a gate with all that is known beside it, for people: the whole of it, or folded
	// where it is long.
	Gate(ctx context.Context, g agency.Gate, whole bool) (string, error)
	// Leave ends the following; the run goes on waiting.
	Leave()
}

// Asker asks about the gates of one run. Its fields stay as they are once Listen is called.
type Asker struct {
	Keys   Keys
	Run    Run
	Log    *tui.Log
	Out    io.Writer // below the log, while that is held
	Editor prompt.Editor
	Pager  prompt.Pager

	mu    sync.Mutex
	gates []agency.Gate // that wait
	asked agency.GateID // about which a line is typed
}

// Ask shows a gate and asks about it, once those before it are answered: what is asked about
// is what was shown last.
func (a *Asker) Ask(ctx context.Context, g agency.Gate) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.gates, func(o agency.Gate) bool { return o.ID == g.ID }) {
		return nil
	}
	a.gates = append(a.gates, g)
	return a.stand(ctx, len(a.gates) == 1)
}

// Answered ends the asking about a gate, by whomever it was answered.
func (a *Asker) Answered(ctx context.Context, id agency.GateID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := len(a.gates) > 0 && a.gates[0].ID == id
	a.gates = slices.DeleteFunc(a.gates, func(g agency.Gate) bool { return g.ID == id })
	if a.asked == id {
		a.Keys.Interrupt() // what is typed would answer nothing any more
	}
	return a.stand(ctx, first)
}

// Interrupt has the line that is typed left; false: none is.
func (a *Asker) Interrupt() bool { return a.Keys.Interrupt() }

// stand shows what is asked below the log, first the gate itself where another was asked about.
func (a *Asker) stand(ctx context.Context, anew bool) error {
	if len(a.gates) == 0 {
		return a.Log.Ask("")
	}
	if anew {
		text, err := a.Run.Gate(ctx, a.gates[0], false)
		if err == nil {
			err = a.Log.Print(text + "\n")
		}
		if err != nil {
			return err
		}
	}
	text := asks(a.gates[0])
	if n := len(a.gates) - 1; n > 0 {
		text += fmt.Sprintf(" (%d more after it)", n)
	}
	return a.Log.Ask(text)
}

// asks are the keys that a gate takes.
func asks(g agency.Gate) string {
	keys := tui.AnswerKeys(g.Kind)
	switch n := min(len(g.Options), 9); {
	case g.Kind == agency.GateQuestion && n > 0:
		keys = append([]string{fmt.Sprintf("1-%d choose", n)}, keys...)
	case g.Kind == agency.GateMerge:
		keys = append(keys, "d diff")
	}
	return strings.ToUpper(string(g.Kind)) + " GATE: " + strings.Join(append(keys, "v view", "l later"), " · ")
}

// Listen takes keys until they are read no more.
func (a *Asker) Listen(ctx context.Context) {
	for ctx.Err() == nil {
		key, err := a.Keys.Key()
		if err != nil {
			return
		}
		g, ok := a.first()
		if !ok {
			continue
		}
		said, err := a.press(ctx, g, key)
		switch {
		case errors.Is(err, prompt.ErrClosed):
			return
		case err != nil:
			said = tui.Line(err.Error())
			if mend := agency.MendOf(err); mend != "" && !strings.Contains(said, mend) {
				said += "; mend: " + tui.Line(mend)
			}
		}
		if said != "" {
			_ = a.Log.Note(said) // a terminal that is gone is noticed by the next event
		}
	}
}

func (a *Asker) first() (agency.Gate, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.gates) == 0 {
		return agency.Gate{}, false
	}
	return a.gates[0], true
}

// press does what a key means at a gate, and gives what is said of it.
func (a *Asker) press(ctx context.Context, g agency.Gate, key byte) (said string, err error) {
	switch key {
	case 'a', 'y':
		return a.approve(ctx, g)
	case 'r', 'n':
		return a.reject(ctx, g)
	case 'd':
		return "", a.show(ctx, func() (string, error) { return a.Run.Diff(ctx) })
	case 'v', '?':
		return "", a.show(ctx, func() (string, error) { return a.Run.Gate(ctx, g, true) })
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if n := int(key - '1'); g.Kind == agency.GateQuestion && n < len(g.Options) {
			text, err := a.line(g, fmt.Sprintf("answer %q? [y/N] ", tui.Line(g.Options[n])))
			if err != nil || !yes(text) {
				return "", err
			}
			return a.Run.Answer(ctx, api.AnswerRequest{Gate: g.ID, Verb: agency.Approve, Note: g.Options[n]})
		}
	case 'l': // not q: who left the pager, or found it gone, types that
		a.Run.Leave()
	}
	return "", nil
}

// show has a long text read, while the log is held.
func (a *Asker) show(ctx context.Context, text func() (string, error)) error {
	s, err := text()
	if err != nil {
		return err
	}
	if strings.TrimSpace(s) == "" {
		s = "nothing yet\n"
	}
	defer a.Log.Hold()()
	err = a.Keys.Aside(func() error { return a.Pager.Show(ctx, s) })
	if errors.Is(err, prompt.ErrNoPager) {
		_, err = io.WriteString(a.Out, s)
	}
	return err
}

// line has a line typed about a gate, while the log is held.
func (a *Asker) line(g agency.Gate, question string) (string, error) {
	a.mu.Lock()
	a.asked = g.ID
	a.mu.Unlock()
	defer a.Log.Hold()()
	text, err := a.Keys.Line(a.Out, question, agency.MaxGoal)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = ""
	return text, err
}

// words has a text typed, in a line or in the person's editor; empty: not now.
func (a *Asker) words(ctx context.Context, g agency.Gate, question, hint string) (string, error) {
	text, err := a.line(g, question+" (e: in your editor; empty: not now) ")
	if err != nil || text != "e" {
		return text, err
	}
	defer a.Log.Hold()()
	err = a.Keys.Aside(func() (err error) {
		text, err = a.Editor.Text(ctx, hint)
		return err
	})
	return text, err
}

// approve asks for what an approval wants, and gives it.
func (a *Asker) approve(ctx context.Context, g agency.Gate) (string, error) {
	r := api.AnswerRequest{Gate: g.ID, Verb: agency.Approve}
	var err error
	switch {
	case g.Kind == agency.GateQuestion:
		how := "your answer"
		if len(g.Options) > 0 {
			how += ", or an option's number"
		}
		if r.Note, err = a.words(ctx, g, how, "Say above this line: "+tui.Line(g.Summary)); err != nil || r.Note == "" {
			return "", err
		}
	case g.Kind == agency.GateBudget && g.Approving == "" && (g.Grant == nil || g.Grant.Limit == "usd"):
		text, err := a.line(g, "the new limit in USD (empty: "+tui.PlainLimit(g)+"; n: not now): ")
		if err != nil || text == "n" {
			return "", err
		}
		if r.BudgetUSD, err = dollars(text); err != nil {
			return "", err
		}
	case g.Kind == agency.GateEscalation && g.Approving == "":
		if r.Note, err = a.line(g, "a hint for the next attempt (n: not now): "); err != nil || r.Note == "n" {
			return "", err
		}
	default:
		if yes, err := a.sure(g, agency.Approve); !yes {
			return "", err
		}
	}
	return a.Run.Answer(ctx, r)
}

// sure asks whether an answer is meant.
func (a *Asker) sure(g agency.Gate, verb agency.Verb) (bool, error) {
	text, err := a.line(g, meaning(g, verb)+"? [y/N] ")
	return err == nil && yes(text), err
}

func yes(text string) bool { return text == "y" || text == "Y" || text == "yes" }

// meaning is what an answer to a gate does.
func meaning(g agency.Gate, verb agency.Verb) string {
	for _, c := range tui.Answers(g) {
		if strings.HasPrefix(c.Command, "agency "+string(verb)) {
			return c.What
		}
	}
	return string(verb)
}

func dollars(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	if err != nil || math.IsNaN(v) || v <= 0 || v > agency.MostUSD {
		return 0, agency.Errorf(agency.KindInvalid, "%q is no limit: want a number of US dollars, more than 0 and at most %d", text, agency.MostUSD)
	}
	return v, nil
}

// reject asks why where somebody acts on it, and rejects.
func (a *Asker) reject(ctx context.Context, g agency.Gate) (string, error) {
	r := api.AnswerRequest{Gate: g.ID, Verb: agency.Reject}
	if !tui.WantsReason(g) {
		if yes, err := a.sure(g, agency.Reject); !yes {
			return "", err
		}
		return a.Run.Answer(ctx, r)
	}
	var err error
	r.Note, err = a.words(ctx, g, "why not?", "Say above this line why not: whoever works on it next is told.")
	if agency.KindOf(err) == agency.KindInvalid { // also where the editor was left by :cq
		err = fmt.Errorf("not rejected: %w", err)
	}
	if err != nil || r.Note == "" {
		return "", err
	}
	return a.Run.Answer(ctx, r)
}
