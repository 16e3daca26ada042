package board

import (
	"cmp"
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/store"
)

// Thread is a message and what was said in answer to it, in the order in which
// it was held. Its id is that of the message that began it.
type Thread struct {
	ID    agency.MessageID `json:"id"`
	Posts []Post           `json:"messages"`
}

// Response is what has become of the response that a message requires.
type Response string

// The responses; a message that requires none has the empty one.
const (
	ResponseAwaited Response = "awaited"
	ResponseGiven   Response = "given"
	ResponseOverdue Response = "overdue" // none came in time, and the sender was told
	ResponseLate    Response = "late"    // it came after that
	ResponseNever   Response = "never"   // the message is a dead letter
)

// Threads are those of a run, in the order in which they began.
func Threads(q store.Querier, run agency.RunID) ([]Thread, error) {
	ps, err := Posts(q, run)
	var out []Thread
	at := map[agency.MessageID]int{}
	for _, p := range ps {
		root := cmp.Or(p.ThreadRoot, p.ID)
		i, known := at[root]
		if !known {
			i = len(out)
			at[root], out = i, append(out, Thread{ID: root})
		}
		out[i].Posts = append(out[i].Posts, p)
	}
	return out, err
}

// Response is what has become of the response to a post of this thread, and
// the message that gives it.
func (t Thread) Response(p Post) (r Response, by agency.MessageID) {
	if !p.RequiresResponse {
		return "", ""
	}
	late := false
	for _, o := range t.Posts {
		switch {
		case o.InReplyTo != p.ID:
		case o.ID == overdueNotice(p.ID):
			late = true
		case by == "" && o.From != p.From && (o.From != agency.FromSystem || o.Type != agency.MessageErrorOccurred):
			by = o.ID
			r = ResponseGiven
			if late {
				r = ResponseLate
			}
		}
	}
	switch {
	case r != "":
		return r, by
	case late:
		return ResponseOverdue, ""
	case p.Status == agency.MailFailed:
		return ResponseNever, ""
	}
	return ResponseAwaited, ""
}

// DeadLetters are the deliveries of the thread that will never be read.
func (t Thread) DeadLetters() int {
	n := 0
	for _, p := range t.Posts {
		for _, d := range p.Deliveries {
			if d.Status == agency.MailFailed {
				n++
			}
		}
	}
	return n
}

// A question is a message that its sender waits for: one that requires a
// response within a time. The first reply to it, in the order in which replies
// became durable, is its answer; later ones are ordinary mail.

// Answer is the first reply to a message; ok is false where there is none.
func Answer(q store.Querier, run agency.RunID, id agency.MessageID) (reply agency.Message, ok bool, err error) {
	return named(q, selectAnswer, run, string(id))
}

// Question is what an agent stands still for until it is answered; ok is false
// where it works, or waits for something else.
func Question(q store.Querier, run agency.RunID, agent agency.AgentID) (m agency.Message, ok bool, err error) {
	return named(q, selectQuestion, run, string(agent))
}

// named is the message that a query of a run names, if it names one.
func named(q store.Querier, query string, run agency.RunID, of string) (m agency.Message, ok bool, err error) {
	var found agency.MessageID
	err = q.QueryRow(query, string(run), of).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return m, false, nil
	}
	if err == nil {
		m, err = Get(q, run, found)
	}
	return m, err == nil, err
}

// Acknowledge marks a message as acted on, however far it has come and whoever has
// it: what it asked for is there. For one that is processed, or a dead letter,
// it is nothing. A message to everyone is met by each for itself.
func Acknowledge(tx *store.Tx, run agency.RunID, id agency.MessageID) error {
	hs, err := queryHeads(tx, 0, unsettled, noCopies, string(run), string(id))
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
