package board

import (
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/text"
)

// A delivery goes forward only: pending, delivered, read, processed, or from
// any of the first three to failed. The one way back is Return, of what nobody
// has seen.

// MarkRead belongs into the commit that puts messages into the recipient's
// context. For a message that is read or processed already it is nothing.
// KindConflict for one that the recipient has not claimed, that another
// session of it has, or that has become a dead letter: such a message must not
// be shown. KindNotFound for one that was never for this agent.
func MarkRead(tx *store.Tx, who Recipient, which ...agency.MessageID) error {
	rest := make([]agency.MessageID, 0, len(which))
	for _, id := range which {
		done, err := markRead(tx, who, id)
		if err != nil {
			return err
		}
		if !done {
			rest = append(rest, id)
		}
	}
	which = rest
	return each(tx, who, which, func(h head) error {
		switch h.status {
		case agency.MailRead, agency.MailProcessed:
			return nil
		case agency.MailDelivered:
			if h.session != who.Session {
				return agency.Errorf(agency.KindConflict, "message %s is with session %s, not with %s", h.ID, h.session, who.Session)
			}
		default:
			return h.illegal(agency.MailRead)
		}
		publish(tx, change{key: keyOf(who.Run, agentBox(who.Agent)), session: h.session, taken: -1})
		return h.update(tx, setRead, store.Micros(tx.Now))
	})
}

// markRead marks a message that is with the session and nobody else's, as most
// are.
func markRead(tx *store.Tx, who Recipient, id agency.MessageID) (done bool, err error) {
	res, err := tx.Exec(markReadBy,
		store.Micros(tx.Now), string(who.Run), string(id), string(who.Agent), string(who.Session))
	if err != nil {
		return false, err
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return false, nil
	}
	publish(tx, change{key: keyOf(who.Run, agentBox(who.Agent)), session: who.Session, taken: -1})
	return true, nil
}

// MarkProcessed belongs into the commit that settles the turn that showed the
// messages. For a message that is processed already it is nothing.
// KindConflict for one that was not read.
func MarkProcessed(tx *store.Tx, who Recipient, which ...agency.MessageID) error {
	return each(tx, who, which, func(h head) error {
		switch h.status {
		case agency.MailProcessed:
			return nil
		case agency.MailRead:
		default:
			return h.illegal(agency.MailProcessed)
		}
		if err := h.update(tx, setProcessed, store.Micros(tx.Now)); err != nil {
			return err
		}
		return h.tell(tx, agency.SeverityInfo, "message acted on", agency.MailProcessed)
	})
}

// each finds each message as it was sent to an agent.
func each(tx *store.Tx, who Recipient, which []agency.MessageID, fn func(head) error) error {
	for _, id := range which {
		h, err := scanHead(tx.QueryRow(selectHead,
			string(who.Run), string(id), string(who.Agent)))
		switch {
		case errors.Is(err, sql.ErrNoRows), err == nil && !h.isFor(who):
			return agency.Errorf(agency.KindNotFound, "agent %s of run %s was not sent a message %q", who.Agent, who.Run, text.Head(string(id), 64))
		case err != nil:
			return err
		}
		if err := fn(h); err != nil {
			return err
		}
	}
	return nil
}

// isFor tells whether a recipient has, or may have, what was sent.
func (h head) isFor(who Recipient) bool {
	return h.agent == who.Agent || h.agent == "" && h.ToRole != "" && h.ToRole == who.Role
}

func (h head) illegal(to agency.MessageStatus) error {
	return agency.Errorf(agency.KindConflict, "message %s is %s and cannot become %s", h.ID, h.status, to)
}

// back makes a message wait again.
func (h head) back(tx *store.Tx) error {
	set := setPending
	if !h.copy {
		set += backFromAgent
	}
	if err := h.update(tx, set); err != nil {
		return err
	}
	publish(tx, change{key: keyOf(h.RunID, agentBox(h.agent)), session: h.session, taken: -1})
	publish(tx, change{key: keyOf(h.RunID, h.box()), pending: 1})
	return nil
}

// ReturnAll makes everything of a run wait again, in its old place, that was
// handed over and not read: its sessions are gone with their host.
func ReturnAll(tx *store.Tx, run agency.RunID) error {
	hs, err := queryHeads(tx, 0, withSession, withSession, string(run))
	if err != nil {
		return err
	}
	for _, h := range hs {
		if err := h.back(tx); err != nil {
			return err
		}
	}
	return nil
}

// tell appends the event of a delivery's end.
func (h head) tell(tx *store.Tx, s agency.Severity, text string, status agency.MessageStatus) error {
	ev := agency.NewEvent(h.RunID, s, text, agency.MessageProcessed{Message: h.ID, Status: string(status)})
	ev.AgentID, ev.ContractID, ev.RelatedMessage = h.agent, h.ContractID, h.ID
	_, err := event.Append(tx, ev)
	return err
}
