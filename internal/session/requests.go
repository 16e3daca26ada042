package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"
)

// maxChanges is how many changes of what it tests a contract may ask for: each
// is a contract of its own.
const maxChanges = 2

// maxHandoffs is how often a contract may change hands.
const maxHandoffs = 2

// askedBefore counts what the contract has asked for, by kind.
func (m *Member) askedBefore(s *store.Snapshot, kind string) (n int, err error) {
	said, err := board.Conversation(s, m.Spec.Run, m.Spec.Contract)
	for _, o := range said {
		if o.InReplyTo == "" && strings.HasPrefix(string(o.ID), m.prefix(kind)) {
			n++
		}
	}
	return n, err
}

// MayAsk counts the changes that the contract has asked for, and looks for a
// contract whose code it could be.
func (m *Member) MayAsk(ctx context.Context) error {
	n, deps := 0, 0
	err := m.DB.Read(ctx, func(s *store.Snapshot) error {
		contract, err := registry.Contract(s, m.Spec.Run, m.Spec.Contract)
		if err != nil {
			return err
		}
		deps = len(contract.DependsOn)
		n, err = m.askedBefore(s, asksChange)
		return err
	})
	switch {
	case err != nil:
		return agency.Errorf(agency.KindTransient, "changes of %s: %w", m.Spec.Agent, err)
	case deps == 0:
		return agency.Errorf(agency.KindDenied, "no implementation: your contract depends on none whose code it tests; say in your closing words what is wrong, or end by signal_blocked")
	case n >= maxChanges:
		return agency.Errorf(agency.KindDenied, "too many changes: this contract has asked for all %d; end by signal_blocked with the failing tests", maxChanges)
	}
	return nil
}

// MayHandOver refuses more than a few handoffs of a contract, by those that the
// board knows of.
func (m *Member) MayHandOver(ctx context.Context, to agency.RoleID) error {
	n := 0
	err := m.DB.Read(ctx, func(s *store.Snapshot) (err error) {
		n, err = m.askedBefore(s, asksHandoff)
		return err
	})
	switch {
	case err != nil:
		return agency.Errorf(agency.KindTransient, "handoffs of %s: %w", m.Spec.Agent, err)
	case to == m.Spec.Role:
		return agency.Errorf(agency.KindDenied, "you are a %s yourself: this is your work", to)
	case n >= maxHandoffs:
		return agency.Errorf(agency.KindDenied, "too many handoffs: this contract has asked for all %d; do what is left, or end by signal_blocked", maxHandoffs)
	}
	return nil
}

// maxQuestions is how many questions an attempt may ask: each costs a session
// of the one who answers, or a person's time.
const maxQuestions = 3

// Asked finds the same question of any attempt with its answer, and counts
// those of this one.
func (m *Member) Asked(ctx context.Context, question string) (tool.Asked, error) {
	out := tool.Asked{Most: maxQuestions, Left: maxQuestions}
	question = string(m.DB.Redact([]byte(question))) // as it is stored
	err := m.DB.Read(ctx, func(s *store.Snapshot) error {
		said, err := board.Conversation(s, m.Spec.Run, m.Spec.Contract)
		if err != nil {
			return err
		}
		this := fmt.Sprintf("%s%d/", m.prefix(asksQuestion), m.Spec.Attempt)
		for _, o := range slices.Backward(said) {
			if o.InReplyTo != "" || o.Type != agency.MessageRequestClarification || !strings.HasPrefix(string(o.ID), m.prefix(asksQuestion)) {
				continue
			}
			if strings.HasPrefix(string(o.ID), this) {
				out.Left--
			}
			if out.Answer != "" || !sameQuestion(o.Body, question) {
				continue
			}
			a, ok, err := board.Answer(s, m.Spec.Run, o.ID)
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
		err = agency.Errorf(agency.KindTransient, "questions of %s: %w", m.Spec.Agent, err)
	}
	return out, err
}

// sameQuestion compares words: a model that asks again lays them out anew.
func sameQuestion(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// Ask sends the question that parks a session, in the commit that stores the
// result of its call; another outcome asks nothing.
func (b *Mailbox) Ask(tx *store.Tx, o Outcome) error {
	if o.Kind != Parked || o.For != ForInbox {
		return nil
	}
	m := agency.Message{
		ID: o.Awaits, RunID: b.Spec.Run, From: string(b.Spec.Agent), ToRole: b.Spec.leader(), ContractID: b.Spec.Contract,
		Type: agency.MessageRequestClarification, Subject: "question on " + string(b.Spec.Contract), Body: o.Question,
		RequiresResponse: true, RespondWithin: AnswerWithin(b.Spec.leader()),
	}
	if o.Change != nil {
		// The harness itself has it mended: nobody is late with an answer.
		m.Type, m.RespondWithin = agency.MessageRevisionRequested, 0
		m.Subject, m.Body = "bug shown by "+text.Head(o.Change.Test, 200), o.Change.Bug
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
	if err := board.Send(tx, m); err != nil && !gone(err) {
		return err
	}
	return nil
}

// Replied marks a message as read whose words are the result of a call; ok says
// that the turn shows it.
func (b *Mailbox) Replied(tx *store.Tx, id agency.MessageID) (ok bool, err error) {
	_, err = board.Take(tx, b.recipient(), id)
	switch agency.KindOf(err) {
	case agency.KindConflict, agency.KindNotFound:
		return false, nil // it was read meanwhile; what it says is in the result all the same
	}
	if err != nil {
		return false, err
	}
	return true, board.MarkRead(tx, b.recipient(), id)
}

// handoffRequest is the message by which the manager is asked.
func handoffRequest(m agency.Message, to agency.RoleID, reason string) (agency.Message, error) {
	payload, err := json.Marshal(struct {
		Role agency.RoleID `json:"to_role"`
	}{to})
	m.Type, m.Subject, m.Body, m.Payload = agency.MessageRequestInput, "Request handoff to "+string(to), reason, payload
	m.RequiresResponse = true
	return m, err
}

// handoff asks the manager by a message that nobody waits for.
func (l letters) handoff(ctx context.Context, e tool.Handoff) (tool.Sent, error) {
	m, err := handoffRequest(agency.Message{To: string(l.Spec.leader()), RespondWithin: l.RespondWithin}, e.Role, e.Reason)
	if err != nil {
		return tool.Sent{}, err
	}
	return l.post(ctx, m)
}
