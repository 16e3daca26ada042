package mode

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
)

// ReplySignal wakes the branch of a run that waits for the answer to a
// question. It is sent in the transaction of each reply, so that no answer is
// lost and none is polled for.
func ReplySignal(question agency.MessageID) flow.Signal[flow.None] {
	return flow.Signal[flow.None]{Name: "reply/" + string(question)}
}

// inquiry is a question of a parked session on its way to an answer. In a team
// the manager answers by a short session of its own; where there is no manager,
// or it has no answer in time, a person. A person may also write to the agent at
// any time. The first answer on the board wins.
type inquiry struct {
	*attempts
	out  session.Outcome
	at   place
	open agency.GateID // that asks a person; empty: none does
	why  string        // the manager gave no answer
	met  *met          // by the manager's report
	stop string        // the run must end
	// options are what a person may answer where the question is whether a contract
	// is handed over: the first one agrees.
	options []string
	agrees  agency.MessageType // what a person's answer is then
}

// meetInbox waits for the answer to what a session has asked.
func (a *attempts) meetInbox(c flow.Ctx, out session.Outcome, at place) (*session.Answer, string, error) {
	q := &inquiry{attempts: a, out: out, at: at}
	if err := q.ask(c); err != nil || q.stop != "" {
		return nil, q.stop, err
	}
	return &session.Answer{ToolUse: out.ToolUse, Text: q.met.text(), Message: q.met.Reply}, "", nil
}

// ask brings the question to its answer, or to the reason why the run ends.
func (q *inquiry) ask(c flow.Ctx) error {
	if q.crew != nil && q.role != manager {
		return q.ofManager(c)
	}
	return q.ofPerson(c, nil)
}

func (q *inquiry) key(step string) string { return q.attempts.key(path("inbox", q.at.key, step)) }

// ofManager has the manager answer, until its time is over.
func (q *inquiry) ofManager(c flow.Ctx) error {
	before := q.crew.answering
	managed := flow.Go(c, q.key("manager"), func(c flow.Ctx) error {
		if before != nil {
			// One at a time: it is one manager. How the other ended is not its matter.
			_, _ = before.Get(c)
		}
		if q.met != nil {
			return nil
		}
		return q.manage(c)
	})
	q.crew.answering = &managed
	chosen, err := flow.Select(c, q.key("wait"), flow.OnSignal(ReplySignal(q.out.Awaits)), flow.OnFuture(managed), flow.OnTimer(session.AnswerWithin()))
	switch {
	case err != nil:
		return err
	case chosen == 0:
		return q.meet(c, "", "")
	case chosen == 2:
		q.why = "the project manager has not answered in time"
		return q.ofPerson(c, &managed)
	}
	if _, err := managed.Get(c); err != nil || q.stop != "" || q.met != nil {
		return err
	}
	return q.ofPerson(c, nil)
}

// ofPerson opens a gate with the question. A reply on the board is an answer
// meanwhile, also one of the manager, where that still works on it.
func (q *inquiry) ofPerson(c flow.Ctx, managed *flow.Future[flow.None]) error {
	if err := q.slot.Asks(c); err != nil {
		return err
	}
	g := agency.Gate{
		ID: gateID(q.in.Run, fmt.Sprintf("question-%s-%s", q.contract.ID, q.at.name)), RunID: q.in.Run, Kind: agency.GateQuestion,
		ContractID: q.contract.ID, Summary: firstLine(q.out.Question), Body: q.body(), Options: q.options,
	}
	q.open = g.ID
	if _, err := flow.Call(c, openGate, path("gate", string(g.ID)), g); err != nil {
		return err
	}
	for n := 1; ; n++ {
		cases := []flow.Case{flow.OnSignal(ReplySignal(q.out.Awaits)), flow.OnSignal(GateSignal(g.ID))}
		if managed != nil {
			cases = append(cases, flow.OnFuture(*managed))
		}
		chosen, err := flow.Select(c, q.key(fmt.Sprintf("person/%d", n)), cases...)
		switch {
		case err != nil:
			return err
		case chosen == 0:
			return q.meet(c, "", "")
		case chosen == 1:
			d, err := flow.Receive(c, GateSignal(g.ID), path("answer", string(g.ID)))
			if err != nil {
				return err
			}
			return q.decided(c, d)
		}
		if _, err := managed.Get(c); err != nil || q.stop != "" || q.met != nil {
			return err
		}
		managed = nil
	}
}

func (q *inquiry) body() string {
	if q.why == "" {
		return q.out.Question
	}
	return fmt.Sprintf("%s\n\n%s asks this about contract %s, and %s.", q.out.Question, q.agent(), q.contract.ID, q.why)
}

// decided records a person's answer at the gate.
func (q *inquiry) decided(c flow.Ctx, d agency.Decision) error {
	text := decided(d)
	if len(q.options) > 0 && d.Verb != agency.Reject {
		if text = d.Answer(q.options); text == q.options[0] {
			q.agrees = agency.MessageTaskAccepted
		}
	}
	return q.meet(c, agency.FromHuman, text)
}

// decided is what a person's decision at a question says.
func decided(d agency.Decision) string {
	if d.Verb != agency.Reject {
		return d.Answer(nil)
	}
	return "No answer was given: " + orElse(d.Note, "the person declined") + ". Go on with your own judgement and say in your evidence what you assumed."
}

// manage is the manager's session over the question. What it reports is the
// answer where it sent none.
func (q *inquiry) manage(c flow.Ctx) error {
	m := &attempts{in: q.in, contract: q.ofContract(), role: manager, how: workOn{many: true, answers: q.out.Awaits}, crew: q.crew, n: 1}
	switch _, err := flow.Call(c, createContract, path(m.contract.ID, "create"), m.contract); {
	case agency.KindOf(err) == agency.KindConflict: // the plan has one of this id
		q.why = fmt.Sprintf("the project manager could not be asked: the plan has a contract %s", m.contract.ID)
		return nil
	case err != nil:
		return err
	}
	if err := m.advance(c, "start", step{Started: &agency.Started{Agent: m.agent()}}); err != nil {
		return err
	}
	out, err := m.work(c)
	if err != nil {
		return err
	}
	switch out.Kind {
	case session.Stopped:
		q.stop = out.Reason
		return m.withdraw(c, out.Reason)
	case session.Reported:
		if err := q.meet(c, string(m.agent()), out.Report); err != nil {
			return err
		}
		if err := m.advance(c, "claim", step{ClaimMade: &agency.ClaimMade{}}); err != nil {
			return err
		}
		return m.accept(c)
	}
	q.why = "the project manager gave no answer: " + orElse(firstLine(out.Reason), string(out.Kind))
	return m.withdraw(c, q.why)
}

// ofContract is what the manager's session holds.
func (q *inquiry) ofContract() agency.Contract {
	doc, err := json.MarshalIndent(q.contract, "", "  ")
	if err != nil { // came from JSON
		doc = []byte(q.contract.ID)
	}
	var plan strings.Builder
	for _, p := range q.crew.plan {
		fmt.Fprintf(&plan, "- %s (%s): %s\n", p.ID, p.AssignedRole, p.Title)
	}
	c := planContract(q.in)
	c.ID, c.ParentID, c.RetryBudget = questionID(q.contract.ID, q.at.name), q.contract.ID, 1
	c.Title = firstLine("Question on " + string(q.contract.ID) + ": " + q.out.Question)
	c.AcceptanceCriteria = []agency.Criterion{{ID: "answer", Text: "the question is answered so that the agent can go on without asking again"}}
	if q.out.Handoff != nil {
		c.AcceptanceCriteria[0].Text = "it is decided whether the contract is handed over, with the reason"
	}
	c.Inputs = map[string]string{
		"question_id": string(q.out.Awaits), "question": q.out.Question, "asked_by": string(q.agent()), "contract": string(doc), "plan": plan.String(),
	}
	if h := q.out.Handoff; h != nil {
		c.Inputs["hand_over_to"] = string(h.Role)
	}
	return c
}

// questionID is the id of the contract of a question.
func questionID(of agency.ContractID, at string) agency.ContractID {
	name := string(of)
	if len(name) > 40 {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name)) // never fails
		name = fmt.Sprintf("%.30s-%08x", name, h.Sum32())
	}
	return agency.ContractID("ask-" + name + "-" + at)
}

// reply is an answer for its record. From and Text are of one that is not on
// the board; empty where it is. Gate, where set, asks the same.
type reply struct {
	Run      agency.RunID     `json:"run"`
	Question agency.MessageID `json:"question"`
	Asker    agency.AgentID   `json:"asker"`
	From     string           `json:"from,omitempty"`
	Text     string           `json:"text,omitempty"`
	Gate     agency.GateID    `json:"gate,omitempty"`
	// Type is provide_clarification where it is empty.
	Type agency.MessageType `json:"type,omitempty"`
}

// met is the answer that counts.
type met struct {
	Reply agency.MessageID `json:"reply,omitempty"`
	From  string           `json:"from"`
	Role  agency.RoleID    `json:"role,omitempty"`
	Text  string           `json:"text"`
	// Type tells an agreement to hand a contract over; empty in runs of earlier versions.
	Type agency.MessageType `json:"type,omitempty"`
}

// text is the answer as the result of the call that asked.
func (m *met) text() string {
	switch {
	case m.From == agency.FromHuman:
		return "A person answers:\n\n" + m.Text
	case m.Role == roster.ProjectManager:
		return "The project manager answers:\n\n" + m.Text
	case m.Role != "":
		return fmt.Sprintf("%s (%s) answers:\n\n%s", m.From, m.Role, m.Text)
	}
	return m.Text
}

var meetQuestion = flow.Activity[reply, met]{Name: "mode.answer"}

// meet records an answer, once for all.
func (q *inquiry) meet(c flow.Ctx, from, text string) error {
	if q.met != nil {
		return nil
	}
	// The step's own key: whoever comes second finds what the first has recorded.
	by := "reply"
	if from != "" {
		by = from
	}
	m, err := flow.Call(c, meetQuestion, q.key("answer/"+by), reply{
		Run: q.in.Run, Question: q.out.Awaits, Asker: q.agent(), From: from, Text: text, Gate: q.open, Type: q.agrees,
	})
	if err == nil && q.met == nil {
		q.met = &m
	}
	return err
}

// answer takes the first reply on the board, puts one there where there is
// none, and tells the others: the question is acted on, its gate is closed, and
// what a person said too late reaches the agent as a message.
func (s *Steps) answer(ctx context.Context, _ agency.StepKey, in reply) (out met, err error) {
	err = s.db.WriteFenced(ctx, s.fence, func(tx *store.Tx) error {
		var g agency.Gate
		if in.Gate != "" {
			if g, err = registry.Gate(tx, in.Gate); err != nil {
				return err
			}
		}
		own := in.Question + "/answer"
		first, ok, err := board.Answer(tx, in.Run, in.Question)
		if err != nil {
			return err
		}
		if !ok {
			if first, err = post(tx, in, own); err != nil {
				return err
			}
		}
		out = met{Reply: first.ID, From: first.From, Role: first.FromRole, Text: first.Body, Type: first.Type}
		if g.ID != "" && g.Open() {
			d := agency.Decision{Verb: agency.Approve, Note: first.Body, By: first.From}
			if g, err = registry.Decide(tx, g.ID, d); err != nil {
				return err
			}
		}
		if g.Decision.Verb != "" && g.Decision.By != first.From && first.ID != own {
			if err := late(tx, in, g.Decision); err != nil {
				return err
			}
		}
		return board.Meet(tx, in.Run, in.Question)
	})
	return out, err
}

// post puts an answer on the board. Where its sender or the agent has ended,
// the harness says it, or it is the result of the call alone.
func post(tx *store.Tx, in reply, id agency.MessageID) (agency.Message, error) {
	m := agency.Message{
		ID: id, RunID: in.Run, From: in.From, To: string(in.Asker), Type: cmp.Or(in.Type, agency.MessageProvideClarification),
		Subject: "answer", Body: in.Text, InReplyTo: in.Question,
	}
	if in.From == "" || strings.TrimSpace(in.Text) == "" {
		m.From, m.Body = agency.FromSystem, "No answer was given. Go on with your own judgement and say in your evidence what you assumed."
	}
	var err error
	for _, from := range []string{m.From, agency.FromSystem} {
		m.From = from
		switch err = board.Send(tx, m); agency.KindOf(err) {
		case agency.KindConflict, agency.KindNotFound:
			continue
		}
		if err != nil {
			return m, err
		}
		return board.Get(tx, in.Run, id)
	}
	m.ID, m.From = "", in.From
	return m, nil
}

// late hands the agent what a person answered after another had.
func late(tx *store.Tx, in reply, d agency.Decision) error {
	if d.Verb != agency.Approve || d.Note == "" {
		return nil
	}
	m := agency.Message{
		ID: in.Question + "/late", RunID: in.Run, From: agency.FromHuman, To: string(in.Asker), Type: agency.MessageNote, Body: d.Note, InReplyTo: in.Question,
	}
	err := board.Send(tx, m)
	if kind := agency.KindOf(err); kind == agency.KindConflict || kind == agency.KindNotFound {
		return nil // nobody is there to read it
	}
	return err
}
