package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/brief"
	"agency/internal/decision"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/text"
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
	// maxMail is how much of one message of a person a compaction repeats, in bytes.
	maxMail = 16 << 10
)

// Mailbox is a session's mail: what waits for its agent, and what it sends.
type Mailbox struct {
	*Member
	// Board is the one of this process. Without it mail is looked for before each
	// request, and is sent without limits.
	Board Mail
	// RespondWithin is in what time a question to another agent is to be answered
	// where its sender names no time; 0: whenever.
	RespondWithin time.Duration
}

// recipient is the session as a reader of mail: the agent's own and its role's.
func (b *Mailbox) recipient() board.Recipient {
	return board.Recipient{Run: b.Spec.Run, Agent: b.Spec.Agent, Role: b.Spec.Role, Session: b.Spec.ID()}
}

// News is mail as a request shows it.
type News struct {
	Text  string // empty: nothing waits
	IDs   []agency.MessageID
	Whole []string // ids of the messages that are shown whole
}

// Take takes what waits for the agent into a request, as read: what fits so many
// bytes, the head of the inbox first, one message at most a quarter of it. The
// rest waits for the next turn, and is counted. look has it look whatever memory knows:
// what this same commit has sent is not in it yet.
func (b *Mailbox) Take(tx *store.Tx, room int, look bool) (n News, err error) {
	if b.Board != nil && !look && !b.Board.Waiting(b.recipient()) { // costs nothing
		return News{}, nil
	}
	var ms []agency.Message
	for used := 0; used < room && len(ms) < maxClaim; {
		next, err := board.ClaimAll(tx, b.recipient(), min(claimBatch, maxClaim-len(ms)))
		if err != nil {
			return News{}, err
		}
		if len(next) == 0 {
			break
		}
		for _, m := range next {
			fit := fitMessage(m, room/4)
			if len(fit.Body) == len(m.Body) && len(fit.Payload) == len(m.Payload) {
				n.Whole = append(n.Whole, string(m.ID))
			}
			n.IDs = append(n.IDs, m.ID)
			used += len(fit.Body) + len(fit.Payload)
			ms = append(ms, fit)
		}
	}
	if len(ms) == 0 {
		return News{}, nil
	}
	if n.Text, err = brief.Messages(ms, b.more(len(ms))); err != nil {
		return News{}, err
	}
	return n, board.MarkRead(tx, b.recipient(), n.IDs...)
}

// Processed marks messages that a settled turn has shown.
func (b *Mailbox) Processed(tx *store.Tx, which []agency.MessageID) error {
	return board.MarkProcessed(tx, b.recipient(), which...)
}

// Binding are the messages that the agent has read and that hold on, each with
// its share of so many bytes.
func (b *Mailbox) Binding(q store.Querier, room int) ([]agency.Message, error) {
	out, err := board.ReadBy(q, b.Spec.Run, b.Spec.Agent)
	if err != nil {
		return nil, err
	}
	if out, err = decision.StillHolding(q, b.Spec.Run, out); err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(m agency.Message) bool { return !brief.Binds(m) })
	most := min(maxMail, room/max(1, len(out)/4))
	for i := range out {
		out[i] = fitMessage(out[i], most)
	}
	return out, nil
}

// more is how many messages wait beside those that a request shows, as far as
// this process knows; its counts are those before the transaction.
func (b *Mailbox) more(shown int) int {
	if b.Board == nil {
		return 0
	}
	all := b.Board.Pending(b.Spec.Run, b.Spec.Agent, "") + b.Board.Pending(b.Spec.Run, "", b.Spec.Role)
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

// letters sends what a call of a tool wants to be sent.
type letters struct {
	*Mailbox
	turn, idx int // of the call
}

// Send makes a message durable; the error says why it is not.
func (l letters) Send(ctx context.Context, m agency.Message) (tool.Sent, error) {
	asks := m.Type == agency.MessageRequestClarification || m.Type == agency.MessageRequestInput
	if asks && m.RespondWithin == 0 {
		m.RespondWithin = l.RespondWithin
	}
	m.RequiresResponse = asks || m.RespondWithin > 0
	return l.post(ctx, m)
}

// Unheard is how many messages of people wait for the agent.
func (l letters) Unheard(ctx context.Context) (n int, err error) {
	if l.Board != nil && !l.Board.Waiting(l.recipient()) { // costs nothing
		return 0, nil
	}
	err = l.DB.Read(ctx, func(q *store.Snapshot) error {
		n, err = board.Unheard(q, l.Spec.Run, l.Spec.Agent)
		return err
	})
	return n, err
}

func (l letters) send(tx *store.Tx, m agency.Message) error {
	if l.Board == nil {
		return board.Send(tx, m)
	}
	return l.Board.SendTx(tx, m)
}

// post addresses a message and has it sent; one that answers another goes to
// its sender where it names nobody. What the model cannot mend is transient: the
// call runs again.
func (l letters) post(ctx context.Context, m agency.Message) (tool.Sent, error) {
	m.ID, m.RunID, m.From, m.ContractID = l.messageID(string(l.Spec.Agent), l.turn, l.idx), l.Spec.Run, string(l.Spec.Agent), l.Spec.Contract
	out := tool.Sent{ID: m.ID, Within: m.RespondWithin}
	err := l.Write(ctx, func(tx *store.Tx) error {
		full := m
		live, err := board.Live(tx, l.Spec.Run)
		if err != nil {
			return err
		}
		to := m.To
		if to == "" {
			if to, err = writer(tx, l.Spec.Run, m.InReplyTo); err != nil {
				return err
			}
		}
		if out.Listeners, err = address(&full, to, l.Spec.Agent, live); err != nil {
			return err
		}
		return l.send(tx, full)
	})
	switch agency.KindOf(err) {
	case agency.KindInvalid, agency.KindNotFound, agency.KindConflict, agency.KindDenied:
		return out, err
	}
	if err != nil {
		err = agency.Errorf(agency.KindTransient, "message of %s: %w", l.Spec.Agent, err)
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
	_, noRole := roster.Find(agency.RoleID(to))
	reach := func(a board.Agent) bool { return string(a.ID) == to }
	switch {
	case to == agency.Everyone:
		reach = func(board.Agent) bool { return true }
	case slices.ContainsFunc(live, reach):
	case noRole == nil:
		m.To, m.ToRole = "", agency.RoleID(to)
		reach = func(a board.Agent) bool { return a.Role == m.ToRole }
	default:
		return nil, agency.Errorf(agency.KindNotFound, "there is no agent and no role %q; agents at work: %s", text.Head(to, 64), names(live, from))
	}
	for _, a := range live {
		if a.ID != from && reach(a) {
			listeners = append(listeners, a.ID)
		}
	}
	return listeners, nil
}

// names lists who else of a run is at work, with their roles.
func names(live []board.Agent, but agency.AgentID) string {
	var out []string
	for _, a := range live {
		if a.ID != but {
			out = append(out, string(a.ID)+" ("+string(a.Role)+")")
		}
	}
	if len(out) == 0 {
		return "none but you"
	}
	return strings.Join(out, ", ")
}
