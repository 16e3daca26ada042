package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/tool"
)

// maxQuestions is how many questions an attempt may ask: each costs a session
// of the one who answers, or a person's time.
const maxQuestions = 3

// within names a conversation among those of its attempt: empty for the one
// that begins it.
func (c *conversation) within() string {
	_, tail, _ := strings.Cut(string(c.id), fmt.Sprintf("/attempt-%d", c.spec.Attempt))
	return tail
}

// askPrefix begins the ids of the questions of a contract, and of one attempt.
func (c *conversation) askPrefix() string { return "ask/" + string(c.spec.Contract) + "/" }

// askID is the id of the question that a call asks, so that a call which runs
// again asks the same.
func (c *conversation) askID(idx int) agency.MessageID {
	return agency.MessageID(fmt.Sprintf("%s%d%s/%d/%d", c.askPrefix(), c.spec.Attempt, c.within(), c.turn.n, idx+1))
}

// questions is the record of what was asked, read from the board.
type questions struct{ c *conversation }

// Asked finds the same question of any attempt with its answer, and counts
// those of this one.
func (q questions) Asked(ctx context.Context, question string) (tool.Asked, error) {
	out := tool.Asked{Most: maxQuestions, Left: maxQuestions}
	question = string(q.c.r.o.DB.Redact([]byte(question))) // as it is stored
	err := q.c.r.o.DB.Read(ctx, func(s *store.Snapshot) error {
		said, err := board.Conversation(s, q.c.spec.Run, q.c.spec.Contract)
		if err != nil {
			return err
		}
		this := fmt.Sprintf("%s%d/", q.c.askPrefix(), q.c.spec.Attempt)
		for _, m := range slices.Backward(said) {
			if m.InReplyTo != "" || m.Type != agency.MessageRequestClarification || !strings.HasPrefix(string(m.ID), q.c.askPrefix()) {
				continue
			}
			if strings.HasPrefix(string(m.ID), this) {
				out.Left--
			}
			if out.Answer != "" || !sameQuestion(m.Body, question) {
				continue
			}
			a, ok, err := board.Answer(s, q.c.spec.Run, m.ID)
			if err != nil {
				return err
			}
			if ok {
				out.Answer, out.By = a.Body, cmp.Or(string(a.FromRole), a.From)
			}
		}
		return nil
	})
	if err != nil {
		err = agency.Errorf(agency.KindTransient, "questions of %s: %w", q.c.spec.Agent, err)
	}
	return out, err
}

// sameQuestion compares words: a model that asks again lays them out anew.
func sameQuestion(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// ask sends the question that parks the session, in the commit that stores the
// result of its call.
func (w *draft) ask() error {
	c, o := w.c, *w.end
	if o.Kind != Parked || o.For != ForInbox {
		return nil
	}
	m := agency.Message{
		ID: o.Awaits, RunID: c.spec.Run, From: string(c.spec.Agent), ToRole: roster.ProjectManager, ContractID: c.spec.Contract,
		Type: agency.MessageRequestClarification, Subject: "question on " + string(c.spec.Contract), Body: o.Question,
		RequiresResponse: true, RespondWithin: AnswerWithin(),
	}
	if o.Change != nil {
		// The harness itself has it mended: nobody is late with an answer.
		m.Type, m.RespondWithin = agency.MessageRevisionRequested, 0
		m.Subject, m.Body = "bug shown by "+clip(o.Change.Test, 200), o.Change.Bug
	}
	if err := w.join(); err != nil {
		return err
	}
	if h := o.Handoff; h != nil {
		var err error
		if m, err = handoffRequest(m, h.Role, h.Reason); err != nil {
			return err
		}
	}
	// A full inbox must not take the question away: the harness sends it. Nor is
	// the turn lost over an agent that somebody ended; its question is asked all
	// the same.
	if err := board.Send(w.tx, m); err != nil && !gone(err) {
		return err
	}
	return nil
}

// AnswerWithin is how long a question waits for the project manager before a
// person is asked: as long as a session of the manager may work.
func AnswerWithin() time.Duration {
	r, err := roster.Find(roster.ProjectManager)
	if err != nil { // a constant of the roster
		return 15 * time.Minute
	}
	return r.Limits.Timeout()
}

// reply marks the message as read whose words are the result that this commit
// stores.
func (w *draft) reply() error {
	id := w.c.replyID
	if id == "" {
		return nil
	}
	w.replied = true
	m, err := board.Take(w.tx, w.c.recipient(), id)
	switch agency.KindOf(err) {
	case agency.KindConflict, agency.KindNotFound:
		return nil // it was read meanwhile; what it says is in the result all the same
	}
	if err != nil {
		return err
	}
	w.st.Mail = append(slices.Clone(w.st.Mail), m.ID)
	return board.MarkRead(w.tx, w.c.recipient(), m.ID)
}
