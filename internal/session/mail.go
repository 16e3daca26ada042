package session

import (
	"context"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/brief"
	"agency/internal/store"
	"agency/internal/tool"
)

// Mail is the board of this process.
type Mail interface {
	// Waiting tells from memory whether a claim would find something.
	Waiting(who board.Recipient) bool
	// Pending is how many messages wait in an agent's own inbox, or in a role's
	// where agent is "".
	Pending(run agency.RunID, agent agency.AgentID, role agency.RoleID) int
	// SendTx sends within the limits of the configuration.
	SendTx(tx *store.Tx, m agency.Message) error
}

const (
	// maxClaim is how many messages one request shows at the most, claimBatch how
	// many are taken at a time until the room for them is used.
	maxClaim   = 100
	claimBatch = 8
)

// recipient is the conversation as a reader of mail: the agent's own and its
// role's.
func (c *conversation) recipient() board.Recipient {
	return board.Recipient{Run: c.spec.Run, Agent: c.spec.Agent, Role: c.spec.Role, Session: c.id}
}

// waiting tells whether there may be mail. With a board in this process an
// empty inbox costs nothing.
func (c *conversation) waiting() bool {
	return c.r.o.Mail == nil || c.r.o.Mail.Waiting(c.recipient())
}

// mailRoom is how many bytes of mail one request shows: an eighth of the
// window, so that a full inbox pushes out nothing else. One message has at most
// a quarter of it.
func (c *conversation) mailRoom() int { return int(c.window()) * 3 / 8 }

// mail takes what waits for the agent into the request, as read: what fits,
// the head of the inbox first. The rest waits for the next turn, and is
// counted.
func (w *draft) mail() error {
	c := w.c
	if w.end != nil || !c.waiting() {
		return nil
	}
	room := c.mailRoom()
	var ms []agency.Message
	for used := 0; used < room && len(ms) < maxClaim; {
		next, err := board.ClaimAll(w.tx, c.recipient(), min(claimBatch, maxClaim-len(ms)))
		if err != nil {
			return err
		}
		if len(next) == 0 {
			break
		}
		for _, m := range next {
			m = fitMessage(m, room/4)
			used += len(m.Body) + len(m.Payload)
			ms = append(ms, m)
		}
	}
	if len(ms) == 0 {
		return nil
	}
	text, err := brief.Messages(ms, c.more(len(ms)))
	if err != nil {
		return err
	}
	w.news = text
	which := make([]agency.MessageID, len(ms))
	for i, m := range ms {
		which[i] = m.ID
	}
	w.st.Mail = append(slices.Clone(w.st.Mail), which...)
	return board.MarkRead(w.tx, c.recipient(), which...)
}

// more is how many messages wait beside those that a request shows, as far as
// this process knows; its counts are those before the transaction.
func (c *conversation) more(shown int) int {
	if c.r.o.Mail == nil {
		return 0
	}
	all := c.r.o.Mail.Pending(c.spec.Run, c.spec.Agent, "") + c.r.o.Mail.Pending(c.spec.Run, "", c.spec.Role)
	return max(0, all-shown)
}

// fitMessage keeps the head and the tail of what is too long for its share.
func fitMessage(m agency.Message, most int) agency.Message {
	m.Body = tool.Cap(m.Body, most)
	if len(m.Payload) > most {
		m.Payload = []byte(tool.Cap(string(m.Payload), most))
	}
	return m
}

// letters sends what a call of a tool wants to be sent. The call's place is
// the message's id, so that a call which runs again sends nothing twice.
type letters struct {
	c   *conversation
	idx int
}

// Send makes a message durable; the error says why it is not.
func (l letters) Send(ctx context.Context, m tool.Letter) (tool.Sent, error) {
	asks := m.Type == agency.MessageRequestClarification || m.Type == agency.MessageRequestInput
	if asks && m.Within == 0 {
		m.Within = l.c.setup.RespondWithin
	}
	sent, err := l.post(ctx, m.To, m.InReplyTo, func(tx *store.Tx, full agency.Message) error {
		full.Type, full.Subject, full.Body, full.Payload = m.Type, m.Subject, m.Body, m.Payload
		full.Priority, full.RequiresResponse, full.RespondWithin = m.Priority, asks || m.Within > 0, m.Within
		return l.send(tx, full)
	})
	sent.Within = m.Within
	return sent, err
}

func (l letters) send(tx *store.Tx, m agency.Message) error {
	if l.c.r.o.Mail == nil {
		return board.Send(tx, m)
	}
	return l.c.r.o.Mail.SendTx(tx, m)
}

// post addresses a message and has it sent; one that answers another goes to
// its sender where to names nobody. What the model cannot mend is transient: the
// call runs again.
func (l letters) post(ctx context.Context, to string, answers agency.MessageID, send func(*store.Tx, agency.Message) error) (tool.Sent, error) {
	c := l.c
	out := tool.Sent{ID: agency.MessageID(fmt.Sprintf("%s/%s/%d%s/%d/%d", c.spec.Agent, c.spec.Contract, c.spec.Attempt, c.within(), c.turn.n, l.idx+1))}
	err := c.write(ctx, func(tx *store.Tx) error {
		full := agency.Message{ID: out.ID, RunID: c.spec.Run, From: string(c.spec.Agent), ContractID: c.spec.Contract, InReplyTo: answers}
		live, err := board.Live(tx, c.spec.Run)
		if err != nil {
			return err
		}
		if to == "" {
			if to, err = writer(tx, c.spec.Run, answers); err != nil {
				return err
			}
		}
		if out.Listeners, err = address(&full, to, c.spec.Agent, live); err != nil {
			return err
		}
		return send(tx, full)
	})
	switch agency.KindOf(err) {
	case agency.KindInvalid, agency.KindNotFound, agency.KindConflict, agency.KindDenied:
		return out, err
	}
	if err != nil {
		err = agency.Errorf(agency.KindTransient, "message of %s: %w", c.spec.Agent, err)
	}
	return out, err
}

// writer is the agent that wrote a message.
func writer(q store.Querier, run agency.RunID, id agency.MessageID) (string, error) {
	m, err := board.Get(q, run, id)
	if err == nil && m.FromRole == "" {
		return "", agency.Errorf(agency.KindInvalid, "message %s is of a person or of the harness: nobody would read an answer to it; name an agent in \"to\"", id)
	}
	return m.From, err
}

// address says to whom a message goes: everyone, an agent, or whoever of a
// role comes first. listeners are the live agents that it may reach.
func address(m *agency.Message, to string, from agency.AgentID, live []board.Agent) (listeners []agency.AgentID, err error) {
	m.To = to
	reach := func(a board.Agent) bool { return string(a.ID) == to }
	switch {
	case to == agency.Everyone:
		reach = func(board.Agent) bool { return true }
	case slices.ContainsFunc(live, reach):
	case isRole(agency.RoleID(to)):
		m.To, m.ToRole = "", agency.RoleID(to)
		reach = func(a board.Agent) bool { return a.Role == m.ToRole }
	default:
		return nil, agency.Errorf(agency.KindNotFound, "there is no agent and no role %q; agents at work: %s", clip(to, 64), names(live, from))
	}
	for _, a := range live {
		if a.ID != from && reach(a) {
			listeners = append(listeners, a.ID)
		}
	}
	return listeners, nil
}
