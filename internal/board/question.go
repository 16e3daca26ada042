package board

import (
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/store"
)

// A question is a message that its sender waits for: one that requires a
// response within a time. The first reply to it, in the order in which replies
// became durable, is its answer; later ones are ordinary mail.

// Answer is the first reply to a message; ok is false where there is none.
func Answer(q store.Querier, run agency.RunID, id agency.MessageID) (reply agency.Message, ok bool, err error) {
	var found agency.MessageID
	err = q.QueryRow(selectAnswer, string(run), string(id)).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return reply, false, nil
	}
	if err != nil {
		return reply, false, err
	}
	reply, err = Get(q, run, found)
	return reply, err == nil, err
}

// Question is what an agent stands still for until it is answered; ok is false
// where it works, or waits for something else.
func Question(q store.Querier, run agency.RunID, agent agency.AgentID) (m agency.Message, ok bool, err error) {
	var found agency.MessageID
	err = q.QueryRow(selectQuestion,
		string(run), string(agent)).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	m, err = Get(q, run, found)
	return m, err == nil, err
}

// Meet marks a message as acted on, however far it has come and whoever has
// it: what it asked for is there. For one that is processed, or a dead letter,
// it is nothing. A message to everyone is met by each for itself.
func Meet(tx *store.Tx, run agency.RunID, id agency.MessageID) error {
	hs, err := lying(tx, 0, unsettled, noCopies, string(run), string(id))
	if err != nil || len(hs) == 0 {
		return err
	}
	h := hs[0]
	switch h.status {
	case agency.MailPending:
		publish(tx, change{key: keyOf(h.RunID, h.box()), pending: -1})
	case agency.MailDelivered:
		publish(tx, change{key: keyOf(h.RunID, agentBox(h.agent)), session: h.session, taken: -1})
	}
	if err := h.update(tx, setNotDue); err != nil {
		return err
	}
	if err := h.update(tx, setProcessed, store.Micros(tx.Now)); err != nil {
		return err
	}
	return h.tell(tx, agency.SeverityInfo, "message acted on", agency.MailProcessed)
}

// Take is Claim of one message by its id. KindConflict for one that does not
// wait for this recipient any more, KindNotFound for one that was never for it.
func Take(tx *store.Tx, who Recipient, id agency.MessageID) (m agency.Message, err error) {
	err = each(tx, who, []agency.MessageID{id}, func(h head) error {
		if h.status != agency.MailPending && (h.status != agency.MailDelivered || h.session == who.Session) {
			return h.illegal(agency.MailDelivered)
		}
		if err := h.take(tx, who); err != nil {
			return err
		}
		m = h.Message
		return nil
	})
	return m, err
}
