package board

import (
	"cmp"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

const reasonExpired = "its time to live is over"

// Bury makes dead letters of what only an agent could have read and has not,
// and returns them; their senders are told. What it has claimed of its role's
// mail waits for the others.
func Bury(tx *store.Tx, run agency.RunID, id agency.AgentID, reason string) ([]agency.Message, error) {
	hs, err := queryHeads(tx, 0, unreadBy, unreadCopies, string(run), string(id))
	if err != nil {
		return nil, err
	}
	var out []agency.Message
	for _, h := range hs {
		if h.ToRole != "" {
			if err := h.back(tx); err != nil {
				return nil, err
			}
			continue
		}
		if err := h.bury(tx, reason, true); err != nil {
			return nil, err
		}
		h.Status, h.Reason = agency.MailFailed, reason
		out = append(out, h.Message)
	}
	return out, nil
}

// BuryRun makes dead letters of all mail of a run that was not read: the run
// has ended, nobody is told and nothing is overdue any more.
func BuryRun(tx *store.Tx, run agency.RunID, reason string) error {
	hs, err := queryHeads(tx, 0, unread, unread, string(run))
	if err != nil {
		return err
	}
	for _, h := range hs {
		if err := h.bury(tx, reason, false); err != nil {
			return err
		}
	}
	_, err = tx.Exec(clearAllDeadlines, string(run))
	return err
}

// bury makes a delivery a dead letter, and tells the sender where there is one
// that lives.
func (h head) bury(tx *store.Tx, reason string, tell bool) error {
	if err := h.update(tx, setFailed, reason); err != nil {
		return err
	}
	switch h.status {
	case agency.MailPending:
		publish(tx, change{key: keyOf(h.RunID, h.box()), pending: -1})
	case agency.MailDelivered:
		publish(tx, change{key: keyOf(h.RunID, agentBox(h.agent)), session: h.session, taken: -1})
	}
	to := cmp.Or(string(h.agent), string(h.ToRole))
	if err := h.tell(tx, agency.SeverityWarning, "message of "+h.From+" to "+to+" was not read: "+reason, agency.MailFailed); err != nil {
		return err
	}
	if !tell {
		return nil
	}
	return notice(tx, h.Message, fmt.Sprintf("%s/%s/failed", h.ID, to),
		"your message was not read", fmt.Sprintf("Your message %s to %s was not read: %s.", h.ID, to, reason))
}

// notice tells the sender of a message what has become of it. There is none
// about a notice, and none to a sender that has ended or has no inbox.
func notice(tx *store.Tx, m agency.Message, id, subject, body string) error {
	if m.FromRole == "" {
		return nil
	}
	to, err := AgentOf(tx, m.RunID, agency.AgentID(m.From))
	if err != nil || to.Status.Ended() {
		return err
	}
	n := agency.Message{
		ID: agency.MessageID(id), RunID: m.RunID, From: agency.FromSystem, To: m.From, Type: agency.MessageErrorOccurred,
		Subject: subject, Body: body, ContractID: m.ContractID, InReplyTo: m.ID, ThreadRoot: cmp.Or(m.ThreadRoot, m.ID), CreatedAt: tx.Now,
	}
	return post(tx, nil, []*outgoing{{Message: n}})
}

// answered notes that a message has a response. A word of the sender itself, or
// of the harness about it, is none.
func answered(tx *store.Tx, b *Board, m agency.Message) error {
	if m.From == agency.FromSystem {
		return nil
	}
	_, err := tx.Exec(clearDeadline,
		string(m.RunID), string(m.InReplyTo), m.From)
	if err != nil || b == nil || b.o.Answered == nil {
		return err
	}
	// A late answer wakes the run that waits for it, too.
	var waits bool
	err = tx.QueryRow(isAwaited,
		string(m.RunID), string(m.InReplyTo), m.From).Scan(&waits)
	if err != nil || !waits {
		return err
	}
	return b.o.Answered(tx, m)
}

// Sweep makes dead letters of mail whose time to live is over, and tells the
// senders of messages whose response is overdue: at most most of each. It
// returns how many there were.
func Sweep(tx *store.Tx, most int) (n int, err error) {
	now, err := clock(tx)
	if err != nil {
		return 0, err
	}
	hs, err := queryHeads(tx, most, expired, expired, int64(now))
	if err != nil {
		return 0, err
	}
	for _, h := range hs {
		if err := h.bury(tx, reasonExpired, true); err != nil {
			return 0, err
		}
	}
	late, err := overdue(tx, now, most)
	return len(hs) + late, err
}

func overdue(tx *store.Tx, now time.Duration, most int) (int, error) {
	type key struct {
		run agency.RunID
		id  agency.MessageID
	}
	late, err := store.All(tx, func(row store.Scanner) (k key, err error) { err = row.Scan(&k.run, &k.id); return k, err }, takeOverdue, int64(now), most)
	if err != nil {
		return 0, err
	}
	for _, k := range late {
		m, err := one(tx, k.run, k.id)
		if err != nil {
			return 0, err
		}
		if err := tellOverdue(tx, m); err != nil {
			return 0, err
		}
	}
	return len(late), nil
}

func tellOverdue(tx *store.Tx, m agency.Message) error {
	to := cmp.Or(m.To, string(m.ToRole))
	text := fmt.Sprintf("no response of %s to message %s within %s", to, m.ID, m.RespondWithin)
	ev := agency.NewEvent(m.RunID, agency.SeverityWarning, text, agency.MessageProcessed{Message: m.ID, Status: "overdue"})
	ev.ContractID, ev.RelatedMessage = m.ContractID, m.ID
	if _, err := event.Append(tx, ev); err != nil {
		return err
	}
	return notice(tx, m, string(overdueNotice(m.ID)), "no response in time", "There is "+text+".")
}

// overdueNotice is the message by which a sender hears that a response is
// overdue.
func overdueNotice(id agency.MessageID) agency.MessageID { return id + "/overdue" }
