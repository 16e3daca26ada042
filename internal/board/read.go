package board

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// scanMessage reads the columns of messageColumns, and more behind them.
func scanMessage(row store.Scanner, more ...any) (agency.Message, error) {
	var m agency.Message
	var payload string
	var created int64
	err := row.Scan(append([]any{
		&m.RunID, &m.ID, &m.From, &m.FromRole, &m.To, &m.ToRole, &m.Type, &m.Subject, &m.Body, &payload,
		&m.PayloadHash, &m.ContractID, &m.InReplyTo, &m.ThreadRoot, &m.Priority, &m.TTL, &m.RequiresResponse, &m.RespondWithin, &created,
	}, more...)...)
	m.ThreadRoot = cmp.Or(m.ThreadRoot, m.ID)
	if payload != "" {
		m.Payload = json.RawMessage(payload)
	}
	m.Status, m.CreatedAt = agency.MailProcessed, store.Time(created)
	return m, err
}

// Delivery is how far a message has come with one recipient.
type Delivery struct {
	Message     agency.MessageID     `json:"message_id"`
	Agent       agency.AgentID       `json:"agent_id,omitempty"` // "" for a role's message that nobody has claimed
	Role        agency.RoleID        `json:"role,omitempty"`     // where it was sent to a role
	Session     agency.SessionID     `json:"session_id,omitempty"`
	Status      agency.MessageStatus `json:"status"`
	Reason      string               `json:"reason,omitempty"` // of a dead letter
	DeliveredAt time.Time            `json:"delivered_at,omitzero"`
	ReadAt      time.Time            `json:"read_at,omitzero"`
	ProcessedAt time.Time            `json:"processed_at,omitzero"`
}

// Post is a message with its deliveries.
type Post struct {
	agency.Message
	Deliveries []Delivery `json:"deliveries,omitempty"`
}

// read gives the messages that match, each with its deliveries, in the order
// in which they were sent.
func read(q store.Querier, query string, args ...any) ([]Post, error) {
	var out []Post
	err := store.Each(q, func(row store.Scanner) error {
		var d Delivery
		var at, readAt, processedAt int64
		m, err := scanMessage(row, &d.Agent, &d.Session, &d.Status, &d.Reason, &at, &readAt, &processedAt)
		if err != nil {
			return err
		}
		if n := len(out); n == 0 || out[n-1].ID != m.ID {
			out = append(out, Post{Message: m})
		}
		if d.Status == "" { // a broadcast that nobody was there to get
			return nil
		}
		d.Message, d.Role = m.ID, m.ToRole
		d.DeliveredAt, d.ReadAt, d.ProcessedAt = moment(at), moment(readAt), moment(processedAt)
		out[len(out)-1].Deliveries = append(out[len(out)-1].Deliveries, d)
		return nil
	}, query, args...)
	for i := range out {
		out[i].sum()
	}
	return out, err
}

// sum sets how far the whole message is: as far as its least advanced delivery that has not
// failed, and failed where all have.
func (p *Post) sum() {
	statuses := make([]agency.MessageStatus, len(p.Deliveries))
	for i, d := range p.Deliveries {
		statuses[i] = d.Status
		if i == 0 || order(d.Status) < order(p.Status) {
			p.Status, p.Reason, p.ReadAt, p.ProcessedAt = d.Status, d.Reason, d.ReadAt, d.ProcessedAt
		}
	}
	p.Sum = agency.SumOf(statuses)
	if p.ToRole != "" && len(p.Deliveries) == 1 && p.Deliveries[0].Agent != "" {
		p.To = string(p.Deliveries[0].Agent)
	}
}

func order(s agency.MessageStatus) int {
	return slices.Index([]agency.MessageStatus{
		agency.MailPending, agency.MailDelivered, agency.MailRead, agency.MailProcessed, agency.MailFailed,
	}, s)
}

func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return store.Time(micros)
}

func messages(q store.Querier, query string, args ...any) ([]agency.Message, error) {
	ps, err := read(q, query, args...)
	out := make([]agency.Message, len(ps))
	for i, p := range ps {
		out[i] = p.Message
	}
	return out, err
}

// Messages are all messages of a run in the order in which they were sent.
func Messages(q store.Querier, run agency.RunID) ([]agency.Message, error) {
	return messages(q, selectAllPosts, string(run))
}

// Posts are all messages of a run with their deliveries, in the order in which
// they were sent.
func Posts(q store.Querier, run agency.RunID) ([]Post, error) {
	return read(q, selectAllPosts, string(run))
}

// ReadBy are the messages that an agent has been shown, in the order in which
// they were sent.
func ReadBy(q store.Querier, run agency.RunID, id agency.AgentID) ([]agency.Message, error) {
	return messages(q, selectReadBy, string(run), string(id))
}

// Unheard is how many messages of people wait for an agent, which has not been shown them.
func Unheard(q store.Querier, run agency.RunID, id agency.AgentID) (n int, err error) {
	err = q.QueryRow(countUnheard, string(run), string(id)).Scan(&n)
	return n, err
}

// Get reads one message; KindNotFound where the run has none of this id.
func Get(q store.Querier, run agency.RunID, id agency.MessageID) (agency.Message, error) {
	ms, err := messages(q, selectPost, string(run), string(id))
	if err == nil && len(ms) == 0 {
		_, err = one(q, run, id)
	}
	if err != nil {
		return agency.Message{}, err
	}
	return ms[0], nil
}

// Conversation is what was said about a contract, in order.
func Conversation(q store.Querier, run agency.RunID, contract agency.ContractID) ([]agency.Message, error) {
	return messages(q, selectConversation, string(run), string(contract))
}

// Deliveries are those of one message, in the order in which they were made.
func Deliveries(q store.Querier, run agency.RunID, id agency.MessageID) ([]Delivery, error) {
	if _, err := one(q, run, id); err != nil {
		return nil, err
	}
	ps, err := read(q, selectPost, string(run), string(id))
	if err != nil {
		return nil, err
	}
	return ps[0].Deliveries, nil
}
