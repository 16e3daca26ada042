package app

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// ask is what the application asks before it acts: yes or no, or a line.
type ask struct {
	yes   string // the question to which y says yes
	line  bool   // a line is typed
	input input
	act   action // what an answer does
	usd   bool   // the line is a sum in dollars, or empty
	must  string // what is said where the line is empty; "": it may be
}

func (a ask) active() bool { return a.yes != "" || a.line }

// askLine has a line typed.
func askLine(m *Model, prompt, must string, act action) {
	m.ask = ask{line: true, input: input{prompt: prompt}, act: act, must: must}
}

// answerKey takes a key in while something is asked.
func answerKey(m *Model, k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	if key == "esc" || key == "ctrl+g" {
		m.ask = ask{}
		m.say(tui.Dim, "nothing was done")
		return nil
	}
	if !m.ask.line {
		if key == "y" || key == "Y" {
			act := m.ask.act
			m.ask = ask{}
			return perform(m, act)
		}
		if key == "n" || key == "N" || key == "q" {
			m.ask = ask{}
			m.say(tui.Dim, "nothing was done")
		}
		return nil
	}
	if key != "enter" {
		m.ask.input.key(k)
		return nil
	}
	return typed(m)
}

// typed takes the line in that was typed.
func typed(m *Model) tea.Cmd {
	text, act := m.ask.input.text(), m.ask.act
	if text == "" && m.ask.must != "" {
		m.say(tui.Yellow, m.ask.must)
		return nil
	}
	switch {
	case m.ask.usd && text != "":
		usd, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
		if err != nil || !(usd > 0 && usd <= agency.MostUSD) {
			m.say(tui.Yellow, fmt.Sprintf("want a number of US dollars, more than 0 and at most %d", agency.MostUSD))
			return nil
		}
		act.answer.BudgetUSD = usd
	case act.kind == actAnswer:
		act.answer.Note = text
	case act.kind == actSay:
		act.to, act.text = addressee(text)
		if act.text == "" {
			m.say(tui.Yellow, "say what "+act.to+" is to read")
			return nil
		}
	case act.kind == actStart:
		act.text = text
	}
	m.ask = ask{}
	return perform(m, act)
}

// addressee parts "@AGENT text"; without @ it is for whoever leads the run.
func addressee(text string) (to, rest string) {
	if !strings.HasPrefix(text, "@") {
		return "", text
	}
	to, rest, _ = strings.Cut(text[1:], " ")
	return to, strings.TrimSpace(rest)
}

// perform does what was asked for; an answer to a gate once.
func perform(m *Model, a action) tea.Cmd {
	switch a.kind {
	case actAnswer:
		if m.run.answers[a.answer.Gate] != "" {
			m.say(tui.Yellow, "this gate is answered already")
			return nil
		}
		m.run.answering(a.answer.Gate, a.answer.Verb)
		m.lay()
		m.say(tui.Dim, "the answer is on its way")
	case actStart:
		m.say(tui.Dim, "the run is started")
	case actSay:
		m.say(tui.Dim, "it is said")
	case actChange:
		m.say(tui.Dim, string(a.change)+" is asked for")
	}
	if a.kind == actStart || a.change == Resume {
		return tea.Sequence(m.hold(), m.work.act(a))
	}
	return m.work.act(a)
}

// askGate asks for the answer to the gate that is shown.
func askGate(m *Model, verb agency.Verb) {
	g, ok := m.run.shownGate()
	switch {
	case !ok:
		m.say(tui.Yellow, "no gate waits")
		return
	case m.run.decision(g).Verb != "":
		m.say(tui.Yellow, "this gate was "+decisionText(g.Kind, m.run.decision(g)))
		return
	case m.run.answers[g.ID] != "":
		m.say(tui.Yellow, "this gate is answered already")
		return
	case !m.run.answerable(g):
		m.say(tui.Yellow, "the run "+m.run.state().Has()+" already")
		return
	}
	act := action{kind: actAnswer, run: m.run.id, answer: api.AnswerRequest{Gate: g.ID, Verb: verb}}
	if verb == agency.Reject {
		must := ""
		if g.Kind == agency.GateMerge || g.Kind == agency.GatePlan {
			must = "it goes back to be done again: say why"
		}
		prompt := "reject the " + string(g.Kind) + " gate: " + rejecting(g) + "; why"
		if g.Kind == agency.GateQuestion {
			prompt = rejecting(g) + "; why, or empty"
		}
		askLine(m, prompt, must, act)
		return
	}
	switch {
	case g.Kind == agency.GateQuestion:
		must := "a question needs an answer"
		askLine(m, "your answer", must, act)
		if len(g.Options) > 0 {
			m.ask.input.prompt = "your answer, or an option's number"
		}
	case takesHint(g):
		askLine(m, "approve the escalation gate: "+approving(g)+"; your hint, or empty", "", act)
	case takesSum(g):
		askLine(m, "new limit in US dollars"+atLeast(g)+"; empty sets "+tui.PlainLimit(g), "", act)
		m.ask.usd = true
	default:
		m.ask = ask{yes: fmt.Sprintf("approve the %s gate: %s?", g.Kind, approving(g)), act: act}
	}
}

// takesHint tells whether an approval of a gate gives an agent a hint.
func takesHint(g agency.Gate) bool {
	return g.Kind == agency.GateEscalation && (g.Approving == "" || strings.Contains(g.Approving, "--note"))
}

// takesSum tells whether an approval of a gate sets a limit in dollars.
func takesSum(g agency.Gate) bool {
	return g.Kind == agency.GateBudget && g.Approving == "" && (g.Grant == nil || g.Grant.Limit == "usd")
}

// atLeast is the smallest limit that helps, where that is known.
func atLeast(g agency.Gate) string {
	if g.Grant == nil || g.Grant.EnoughUSD == 0 {
		return ""
	}
	return ", at least " + agency.USD(g.Grant.EnoughUSD).String()
}

// approving is what an approval does.
func approving(g agency.Gate) string {
	if takesSum(g) {
		return "set a new limit" + atLeast(g) + "; without a sum " + tui.PlainLimit(g)
	}
	what, _, _ := strings.Cut(meaning(g, "agency approve"), "; with --note") // which is a command's
	return cmp.Or(what, "go on")
}

// rejecting is what a reject does.
func rejecting(g agency.Gate) string { return cmp.Or(meaning(g, "agency reject"), "not like this") }

// meaning is what an answer does, in the words of the commands that give it.
func meaning(g agency.Gate, command string) string {
	for _, a := range tui.Answers(g) {
		if strings.HasPrefix(a.Command, command) {
			return a.What
		}
	}
	return ""
}
