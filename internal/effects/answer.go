package effects

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/store"
)

// ProposedAnswer is an answer for its record. From and Text are of one that is not on
// the board; empty where it is. Gate, where set, asks the same.
type ProposedAnswer struct {
	Run      agency.RunID     `json:"run"`
	Question agency.MessageID `json:"question"`
	Asker    agency.AgentID   `json:"asker"`
	From     string           `json:"from,omitempty"`
	Text     string           `json:"text,omitempty"`
	Gate     agency.GateID    `json:"gate,omitempty"`
	// Type is provide_clarification where it is empty.
	Type agency.MessageType `json:"type,omitempty"`
}

// Answer is the answer that counts.
type Answer struct {
	Reply agency.MessageID `json:"reply,omitempty"`
	From  string           `json:"from"`
	Role  agency.RoleID    `json:"role,omitempty"`
	Text  string           `json:"text"`
	// Type tells an agreement to hand a contract over.
	Type agency.MessageType `json:"type,omitempty"`
}

// ToolResult is the answer as the result of the call that asked.
func (m *Answer) ToolResult() string {
	switch {
	case m.From == agency.FromHuman:
		return "A person answers:\n\n" + m.Text
	case roster.Leads(m.Role):
		return "The " + roster.Name(m.Role) + " answers:\n\n" + m.Text
	case m.Role != "":
		return fmt.Sprintf("%s (%s) answers:\n\n%s", m.From, m.Role, m.Text)
	}
	return m.Text
}

// AnswerQuestion brings about the one answer to a question that counts.
var AnswerQuestion = flow.Activity[ProposedAnswer, Answer]{Name: "mode.answer"}

// answerQuestion takes the first reply on the board, puts one there where there is
// none, and tells the others: the question is acted on, its gate is closed, and
// what a person said too late reaches the agent as a message.
func (s *Activities) answerQuestion(ctx context.Context, _ agency.StepKey, in ProposedAnswer) (out Answer, err error) {
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
			if first, err = postAnswer(tx, in, own); err != nil {
				return err
			}
		}
		out = Answer{Reply: first.ID, From: first.From, Role: first.FromRole, Text: first.Body, Type: first.Type}
		if g.ID != "" && g.Open() {
			d := agency.Decision{Verb: agency.Approve, Note: first.Body, By: first.From}
			if g, err = registry.Decide(tx, g.ID, d); err != nil {
				return err
			}
		}
		if g.Decision.Verb != "" && g.Decision.By != first.From && first.ID != own {
			if err := forwardLateAnswer(tx, in, g.Decision); err != nil {
				return err
			}
		}
		return board.Acknowledge(tx, in.Run, in.Question)
	})
	return out, err
}

// postAnswer puts an answer on the board. Where its sender or the agent has ended,
// the harness says it, or it is the result of the call alone.
func postAnswer(tx *store.Tx, in ProposedAnswer, id agency.MessageID) (agency.Message, error) {
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

// forwardLateAnswer hands the agent what a person answered after another had.
func forwardLateAnswer(tx *store.Tx, in ProposedAnswer, d agency.Decision) error {
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
