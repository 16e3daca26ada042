package contractrun

import (
	"cmp"
	"fmt"

	"agency/internal/agency"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/report"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/text"
)

// ReplySignal wakes the branch of a run that waits for the answer to a
// question. Each reply sends it through the outbox, so that no answer is lost and none is
// polled for.
func ReplySignal(question agency.MessageID) flow.Signal[flow.None] {
	return flow.Signal[flow.None]{Name: "reply/" + string(question)}
}

// question is a question of a parked session on its way to an answer. In a team
// its lead answers by a short session of its own; where nobody leads,
// or it has no answer in time, a person. A person may also write to the agent at
// any time. The first answer on the board wins.
type question struct {
	*state
	out    session.Outcome
	at     waitPoint
	open   agency.GateID   // that asks a person; empty: none does
	why    string          // the lead gave no answer
	answer *effects.Answer // by the lead's report
	stop   string          // the run must end
	// options are what a person may answer where the question is whether a contract
	// is handed over.
	options []string
	agrees  agency.MessageType // what a person's answer is then
}

// waitForReply waits for the answer to what a session has asked.
func (a *waiting) waitForReply(c flow.Ctx, out session.Outcome, at waitPoint) (*session.Answer, string, error) {
	q := &question{state: a.state, out: out, at: at}
	if err := q.ask(c); err != nil || q.stop != "" {
		return nil, q.stop, err
	}
	return &session.Answer{ToolUse: out.ToolUse, Text: q.answer.ToolResult(), Message: q.answer.Reply}, "", nil
}

// ask brings the question to its answer, or to the reason why the run ends.
func (q *question) ask(c flow.Ctx) error {
	if q.how.Shared.managed && !roster.Leads(q.role) {
		return q.askLead(c)
	}
	return q.askPerson(c)
}

func (q *question) key(step string) string { return q.Key(Path("inbox", q.at.key, step)) }

// askLead has the lead answer, until its time is over.
func (q *question) askLead(c flow.Ctx) error {
	lead := q.how.Shared.Lead
	asked := q.how.Shared.askLead(c, q.key("manager"), func(c flow.Ctx) error {
		if q.answer != nil {
			return nil
		}
		return q.leadAnswers(c)
	})
	chosen, err := flow.Select(c, q.key("wait"), flow.OnSignal(ReplySignal(q.out.Awaits)), flow.OnFuture(asked), flow.OnTimer(session.AnswerWithin(lead.Role)))
	switch {
	case err != nil:
		return err
	case chosen == 0:
		return q.recordAnswer(c, "", "")
	case chosen == 2:
		q.why = "the " + lead.name() + " has not answered in time"
		return q.askPerson(c, asked)
	}
	if _, err := asked.Get(c); err != nil || q.stop != "" || q.answer != nil {
		return err
	}
	return q.askPerson(c)
}

// askPerson opens a gate with the question. A reply on the board is an answer
// meanwhile, also one of the lead, where that is still at work on it.
func (q *question) askPerson(c flow.Ctx, still ...flow.Future[flow.None]) error {
	if err := q.how.Slot.Asks(c); err != nil {
		return err
	}
	g := agency.Gate{
		ID: GateID(q.in.Run, fmt.Sprintf("question-%s-%s", q.Contract.ID, q.at.name)), RunID: q.in.Run, Kind: agency.GateQuestion,
		ContractID: q.Contract.ID, Summary: text.FirstLine(q.out.Question, 100), Body: q.body(), Options: q.options,
	}
	q.open = g.ID
	if _, err := flow.Call(c, effects.OpenGate, Path("gate", string(g.ID)), g); err != nil {
		return err
	}
	for n := 1; ; n++ {
		cases := []flow.Case{flow.OnSignal(ReplySignal(q.out.Awaits)), flow.OnSignal(GateSignal(g.ID))}
		for _, lead := range still {
			cases = append(cases, flow.OnFuture(lead))
		}
		chosen, err := flow.Select(c, q.key(fmt.Sprintf("person/%d", n)), cases...)
		switch {
		case err != nil:
			return err
		case chosen == 0:
			return q.recordAnswer(c, "", "")
		case chosen == 1:
			d, err := flow.Receive(c, GateSignal(g.ID), Path("answer", string(g.ID)))
			if err != nil {
				return err
			}
			return q.takeDecision(c, d)
		}
		if _, err := still[0].Get(c); err != nil || q.stop != "" || q.answer != nil {
			return err
		}
		still = nil
	}
}

func (q *question) body() string {
	asked := report.Quote(q.out.Question)
	if q.why == "" {
		return asked
	}
	return fmt.Sprintf("%s\n\n%s asks this about contract %s, and %s.", asked, q.Agent(), q.Contract.ID, q.why)
}

// takeDecision records a person's answer at the gate.
func (q *question) takeDecision(c flow.Ctx, d agency.Decision) error {
	if d.Verb != agency.Reject && d.Choice(q.options) == handingOver {
		q.agrees = agency.MessageTaskAccepted
	}
	return q.recordAnswer(c, agency.FromHuman, decisionText(d, q.options))
}

// decisionText is what a person's decision at a question says.
func decisionText(d agency.Decision, options []string) string {
	if d.Verb != agency.Reject {
		return d.Answer(options)
	}
	return "No answer was given: " + cmp.Or(d.Note, "the person declined") + ". Go on with your own judgement and say in your evidence what you assumed."
}

// recordAnswer records an answer, once for all.
func (q *question) recordAnswer(c flow.Ctx, from, text string) error {
	if q.answer != nil {
		return nil
	}
	// The step's own key: whoever comes second finds what the first has recorded.
	by := "reply"
	if from != "" {
		by = from
	}
	m, err := flow.Call(c, effects.AnswerQuestion, q.key("answer/"+by), effects.ProposedAnswer{
		Run: q.in.Run, Question: q.out.Awaits, Asker: q.Agent(), From: from, Text: text, Gate: q.open, Type: q.agrees,
	})
	if err == nil && q.answer == nil {
		q.answer = &m
	}
	return err
}

// What a person may answer where a contract may be handed over: the choices, and
// the words of the second.
const (
	handingOver = 0
	keeping     = "keep it where it is"
)

// waitForHandoff has the lead decide. Without an answer to who asked, the
// contract has changed hands.
func (a *waiting) waitForHandoff(c flow.Ctx, out session.Outcome, at waitPoint) (*session.Answer, string, error) {
	if err := a.how.Slot.Leave(c, false); err != nil {
		return nil, "", err
	}
	q := &question{state: a.state, out: out, at: at, options: []string{"hand it over to a " + string(out.Handoff.Role), keeping}}
	if err := q.ask(c); err != nil || q.stop != "" {
		return nil, q.stop, err
	}
	if err := a.how.Slot.Return(c); err != nil {
		return nil, "", err
	}
	if q.answer.Type != agency.MessageTaskAccepted {
		text := "error: the contract was not handed over, it is yours. " + q.answer.ToolResult()
		return &session.Answer{ToolUse: out.ToolUse, Message: q.answer.Reply, Text: text}, "", nil
	}
	key, from := q.key("hand-over"), a.Agent()
	a.hands++
	a.role = out.Handoff.Role
	_, err := flow.Call(c, effects.HandOver, key, effects.Handover{
		Run: a.in.Run, N: a.hands, Words: handoffWords(out.Handoff.Reason, a.how.Shared.Lead, q.answer), Reply: q.answer.Reply,
		Pack: agency.HandoffPackage{
			From: from, To: a.Agent(), ToRole: a.role, Contract: a.Contract.ID, NextContract: a.Contract.ID,
			Base: a.base, Tree: out.Tree, FilesModified: out.Handoff.Files, DependenciesUsed: a.Contract.DependsOn,
		},
	})
	return nil, "", err
}

func handoffWords(reason string, by Lead, agreed *effects.Answer) string {
	who := "The " + by.name()
	if agreed.From == agency.FromHuman {
		who = "A person"
	}
	return reason + "\n\n" + who + " agreed: " + agreed.Text
}
