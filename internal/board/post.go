package board

import (
	"cmp"
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/text"
)

// post writes messages: each as a row, those of one shape in one statement, with
// the events that tell of them. An id that is taken is an error of the constraint; nothing
// is written then.
func post(tx *store.Tx, b *Board, ps []*outgoing) error {
	var by [shapes][]*outgoing
	for _, p := range ps {
		if b != nil && p.To != agency.Everyone {
			b.boxes.comes(tx, keyOf(p.RunID, boxOf(p.Message)))
		}
		by[p.shape()] = append(by[p.shape()], p)
	}
	for s, same := range by {
		for len(same) > 0 {
			n := ofOneRun(same)
			if err := shape(s).insert(tx, same[:n]); err != nil {
				return err
			}
			same = same[n:]
		}
	}
	evs := make([]agency.Event, 0, len(ps))
	for _, p := range ps {
		evs = append(evs, sent(&p.Message))
	}
	if err := event.AppendAll(tx, evs); err != nil {
		return err
	}
	for _, p := range ps {
		if err := p.arrive(tx, b); err != nil {
			return err
		}
	}
	return nil
}

// arrive tells what has become of a message that is written; one to everyone
// is delivered now.
func (p *outgoing) arrive(tx *store.Tx, b *Board) error {
	if p.To == agency.Everyone {
		if err := p.copies(tx, b); err != nil {
			return err
		}
	} else {
		publish(tx, change{key: keyOf(p.RunID, boxOf(p.Message)), pending: 1})
	}
	if p.InReplyTo == "" {
		return nil
	}
	return answered(tx, b, p.Message)
}

// copies puts a message to everyone into the inbox of each live agent but its
// sender.
func (p *outgoing) copies(tx *store.Tx, b *Board) error {
	var seq int64
	if err := tx.QueryRow(selectSeq, string(p.RunID), string(p.ID)).Scan(&seq); err != nil {
		return err
	}
	live, err := Live(tx, p.RunID)
	if err != nil {
		return err
	}
	for _, a := range live {
		if string(a.ID) == p.From {
			continue
		}
		if err := p.copy(tx, b, seq, a.ID); err != nil {
			return err
		}
	}
	return nil
}

// CatchUp puts into an agent's inbox what people have said to everyone before it joined, and
// what it has not read of that since; n is how many messages there are of it. What agents say
// to everyone is for those who are there.
func CatchUp(tx *store.Tx, run agency.RunID, id agency.AgentID) (n int, err error) {
	type before struct {
		seq int64
		outgoing
	}
	all, err := store.All(tx, func(row store.Scanner) (m before, err error) {
		err = row.Scan(&m.seq, &m.RunID, &m.Type, &m.Priority)
		return m, err
	}, selectSaidBefore, string(run), string(id))
	for _, m := range all {
		if _, err := tx.Exec(dropCopy, m.seq, string(id)); err != nil {
			return n, err
		}
		if err := m.copy(tx, nil, m.seq, id); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

func (p *outgoing) copy(tx *store.Tx, b *Board, seq int64, to agency.AgentID) error {
	key := keyOf(p.RunID, agentBox(to))
	if b != nil {
		b.boxes.comes(tx, key)
	}
	_, err := tx.Exec(insertCopy, seq, string(to), string(p.RunID), string(p.Type), p.Priority, p.expires)
	if err == nil {
		publish(tx, change{key: key, pending: 1})
	}
	return err
}

// shape says which groups of columns an insert of messages needs: those that every
// message has, those of one that is not pending, the optional ones.
type shape int

const (
	copied shape = 1 << iota // to everyone
	marked                   // for a role, with a subject, of a contract or with a priority
	rich
	shapes
)

// maxRows bounds the rows of one statement.
const maxRows = 16

func (p *outgoing) shape() (s shape) {
	if p.To == agency.Everyone {
		s |= copied
	}
	if p.ToRole != "" || p.Subject != "" || p.ContractID != "" || p.Priority != 0 {
		s |= marked
	}
	if len(p.Payload) > 0 || p.PayloadHash != "" || p.InReplyTo != "" || p.ThreadRoot != p.ID || p.TTL != 0 || p.RequiresResponse || p.due != 0 {
		s |= rich
	}
	return s
}

// ofOneRun is how many outgoing messages, from the first on, one statement writes.
func ofOneRun(ps []*outgoing) (n int) {
	for n < min(len(ps), maxRows) && ps[n].RunID == ps[0].RunID {
		n++
	}
	return n
}

func (s shape) insert(tx *store.Tx, ps []*outgoing) error {
	args := make([]any, 0, 2+23*len(ps))
	args = append(args, string(ps[0].RunID), store.Micros(tx.Now))
	for _, p := range ps {
		args = append(args, string(p.ID), p.From, string(p.FromRole), p.To, string(p.Type), p.Body)
		if s&marked != 0 {
			args = append(args, string(p.ToRole), p.Subject, string(p.ContractID), p.Priority)
		}
		if s&rich != 0 {
			root := p.ThreadRoot
			if root == p.ID {
				root = ""
			}
			args = append(args, string(p.Payload), string(p.PayloadHash), string(p.InReplyTo), string(root),
				int64(p.TTL), p.RequiresResponse, int64(p.RespondWithin), p.due, p.expires)
		}
	}
	_, err := tx.Exec(statements[s][len(ps)], args...)
	return err
}

// longest is how many runes of a text an event shows.
const longest = 80

func sent(m *agency.Message) agency.Event {
	to := cmp.Or(m.To, string(m.ToRole))
	ev := agency.NewEvent(m.RunID, agency.SeverityInfo, m.From+" to "+to+": "+text.FirstLine(cmp.Or(m.Subject, m.Body), longest),
		agency.MessageSent{Message: m.ID, From: m.From, To: to, Type: m.Type})
	ev.Role, ev.ContractID, ev.RelatedMessage = m.FromRole, m.ContractID, m.ID
	if m.FromRole != "" {
		ev.AgentID = agency.AgentID(m.From)
	}
	return ev
}

// one reads a message as it was sent.
func one(q store.Querier, run agency.RunID, id agency.MessageID) (agency.Message, error) {
	m, err := scanMessage(q.QueryRow(selectMessage, string(run), string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return m, agency.Errorf(agency.KindNotFound, "run %s has no message %q", run, text.Head(string(id), 64)).WithMend("agency inspect %s --messages", run)
	}
	return m, err
}
