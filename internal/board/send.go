package board

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
	"agency/internal/text"
)

// Send makes a message durable. See SendTx.
func (b *Board) Send(ctx context.Context, m agency.Message) error {
	return b.sends.Write(ctx, m)
}

// SendTx puts a message into its recipient's inbox; into that of each live
// agent but the sender for agency.Everyone. The sender chooses the id: the
// same message again is nothing, other words under the same id are
// KindConflict.
//
// Errors: KindInvalid for what is malformed, KindNotFound for an unknown
// sender, recipient, role, payload or message that is replied to, KindDenied
// where the sender's role may not write there, KindConflict for a recipient
// that has ended and for a full inbox. Nothing is written then.
func (b *Board) SendTx(tx *store.Tx, m agency.Message) error { return sendOne(tx, b, m) }

// Send is SendTx for the harness itself, without the limits of a
// configuration: no inbox is too full for it and no role out of reach.
func Send(tx *store.Tx, m agency.Message) error { return sendOne(tx, nil, m) }

func sendOne(tx *store.Tx, b *Board, m agency.Message) error {
	errs := make([]error, 1)
	ps, err := prepareAll(tx, b, []agency.Message{m}, errs)
	if err != nil || errs[0] != nil || len(ps) == 0 {
		return cmp.Or(err, errs[0])
	}
	err = post(tx, b, ps)
	if store.IsConstraint(err) { // the id is taken
		if known, e := repeated(tx, ps[0].Message); known {
			return e
		}
	}
	return err
}

// sendAll sends what many callers send at once.
func sendAll(tx *store.Tx, b *Board, ms []agency.Message, errs []error) error {
	if len(ms) == 1 {
		errs[0] = sendOne(tx, b, ms[0])
		return nil
	}
	ps, err := prepareAll(tx, b, ms, errs)
	if err != nil {
		return err
	}
	return post(tx, b, ps)
}

// outgoing is a message on its way into the tables, checked and completed.
type outgoing struct {
	agency.Message
	due, expires int64
}

// prepareAll checks messages against the rules and the board and completes them
// with what the board knows. What it refuses has its error in errs and is left out,
// and so is what was sent before. Without a board there is no limit: that is how
// the board itself writes.
func prepareAll(tx *store.Tx, b *Board, ms []agency.Message, errs []error) ([]*outgoing, error) {
	known := agentsKnown(tx)
	ps := make([]*outgoing, 0, len(ms))
	for i := range ms {
		p := &outgoing{Message: ms[i]}
		if errs[i] = p.prepare(tx, b, known); errs[i] == nil {
			ps = append(ps, p)
		} else if errors.Is(errs[i], errSentBefore) {
			errs[i] = nil
		}
	}
	return ps, nil
}

var errSentBefore = errors.New("the message was sent before")

func (p *outgoing) prepare(tx *store.Tx, b *Board, known agentCache) error {
	if err := check(p.Message); err != nil {
		return err
	}
	p.redact(tx)
	if err := p.allow(tx, b, known); err != nil {
		// Sent once, it stays sent, whatever has become of its parties since.
		if known, e := repeated(tx, p.Message); known {
			return cmp.Or(e, errSentBefore)
		}
		return err
	}
	if err := keepPayload(tx, &p.Message); err != nil {
		return err
	}
	return p.time(tx)
}

// time sets when the message and its response are overdue.
func (p *outgoing) time(tx *store.Tx) error {
	if p.TTL == 0 && p.RespondWithin == 0 {
		return nil
	}
	now, err := clock(tx)
	p.due, p.expires = after(now, p.RespondWithin), after(now, p.TTL)
	WakeMaintain(tx)
	return err
}

// after is the time at which a span that begins now is over; 0 for no span.
func after(now, span time.Duration) int64 {
	if span == 0 {
		return 0
	}
	return int64(now + span)
}

// allow checks a message against the board, and completes it with what the
// board knows.
func (p *outgoing) allow(tx *store.Tx, b *Board, known agentCache) error {
	m := &p.Message
	m.ThreadRoot = m.ID
	if m.InReplyTo != "" {
		to, err := one(tx, m.RunID, m.InReplyTo)
		switch {
		case agency.KindOf(err) == agency.KindNotFound:
			return agency.Errorf(agency.KindNotFound, "message %s: it replies to %q, which is no message of run %s", m.ID, text.Head(string(m.InReplyTo), 64), m.RunID).
				WithMend("agency inspect %s --messages", m.RunID)
		case err != nil:
			return err
		}
		m.ThreadRoot = to.ThreadRoot
	}
	from, err := known.party(tx, m.RunID, m.From)
	if err != nil {
		return err
	}
	if err := from.mayBeSender(m); err != nil {
		return err
	}
	role := m.ToRole
	if m.To != "" && m.To != agency.Everyone {
		to, err := known.party(tx, m.RunID, m.To)
		if err != nil {
			return err
		}
		if err := to.mayBeRecipient(m); err != nil {
			return err
		}
		role = to.role
	}
	if b == nil {
		return nil
	}
	return b.permit(m, role)
}

func (p party) mayBeSender(m *agency.Message) error {
	switch {
	case m.From == agency.FromHuman || m.From == agency.FromSystem:
		m.FromRole = ""
		return nil
	case p.role == "":
		return agency.Errorf(agency.KindNotFound, "message %s: run %s has no agent %q to send it", m.ID, m.RunID, text.Head(m.From, 64))
	case p.ended:
		return agency.Errorf(agency.KindConflict, "message %s: its sender %s has ended", m.ID, m.From)
	}
	m.FromRole = p.role
	return nil
}

func (p party) mayBeRecipient(m *agency.Message) error {
	switch {
	case p.role == "":
		return agency.Errorf(agency.KindNotFound, "message %s: run %s has no agent %q", m.ID, m.RunID, text.Head(m.To, 64)).
			WithMend("agency inspect %s lists the agents of the run", m.RunID)
	case p.ended:
		return agency.Errorf(agency.KindConflict, "message %s: agent %s has ended and reads no more mail", m.ID, m.To).
			WithMend("write to its role or to the project manager")
	}
	return nil
}

// permit applies the limits of the configuration and the reach of roles. To
// everyone may write who may write to anyone.
func (b *Board) permit(m *agency.Message, to agency.RoleID) error {
	if m.ToRole != "" && b.o.Role != nil && !b.o.Role(m.ToRole) {
		return agency.Errorf(agency.KindNotFound, "message %s: there is no role %q", m.ID, text.Head(string(m.ToRole), 64))
	}
	if m.FromRole != "" && to != "" && b.o.MaySend != nil && !b.o.MaySend(m.FromRole, to) {
		return agency.Errorf(agency.KindDenied, "message %s: a %s may not write to a %s", m.ID, m.FromRole, to).
			WithMend("write to the project manager")
	}
	if m.To == agency.Everyone {
		return nil // a full inbox of one must not silence the others
	}
	if n := b.boxes.waiting(keyOf(m.RunID, boxOf(*m))); n >= b.maxQueue(m.RunID) {
		return agency.Errorf(agency.KindConflict, "message %s: the inbox of %s is full: %d messages wait there; send it again when some have been read", m.ID, cmp.Or(m.To, string(m.ToRole)), n).
			WithMend("raise board.max_queue_size")
	}
	return nil
}

// repeated tells whether a message was sent before, and refuses other words
// under its id.
func repeated(tx *store.Tx, m agency.Message) (known bool, err error) {
	have, err := one(tx, m.RunID, m.ID)
	if err != nil {
		return agency.KindOf(err) != agency.KindNotFound, err
	}
	if len(m.Payload) > inline {
		m.PayloadHash, m.Payload = store.HashOf(m.Payload), nil
	}
	if have.From == m.From && have.To == m.To && have.ToRole == m.ToRole && have.Type == m.Type &&
		have.Subject == m.Subject && have.Body == m.Body && string(have.Payload) == string(m.Payload) && have.PayloadHash == m.PayloadHash &&
		have.ContractID == m.ContractID && have.InReplyTo == m.InReplyTo && have.Priority == m.Priority &&
		have.TTL == m.TTL && have.RequiresResponse == m.RequiresResponse && have.RespondWithin == m.RespondWithin {
		return true, nil
	}
	return true, agency.Errorf(agency.KindConflict, "message %s was sent already with other words", m.ID).WithMend("choose another id")
}

// redact makes a message what is stored of it.
func (p *outgoing) redact(tx *store.Tx) {
	m := &p.Message
	m.Subject, m.Body = string(tx.Redact([]byte(m.Subject))), string(tx.Redact([]byte(m.Body)))
	if len(m.Payload) > 0 {
		m.Payload = json.RawMessage(tx.Redact(m.Payload))
	}
	m.Status, m.Reason, m.CreatedAt, m.ReadAt, m.ProcessedAt = agency.MailPending, "", tx.Now, time.Time{}, time.Time{}
}

// agentCache is what is remembered of the agents, so that a sender costs no query
// for itself and its recipient. Whatever changes who an agent is forgets it. It
// belongs to the writer.
type agentCache map[Member]party

// party is a sender or a recipient; without a role it is nobody.
type party struct {
	role  agency.RoleID
	ended bool
}

// maxKnown bounds what is remembered.
const maxKnown = 20_000

// agentsKnown gives what is remembered.
func agentsKnown(tx *store.Tx) agentCache {
	type key struct{}
	c, ok := tx.Memory()[key{}].(agentCache)
	if !ok || len(c) >= maxKnown {
		c = agentCache{}
		tx.Memory()[key{}] = c
	}
	return c
}

func (c agentCache) party(tx *store.Tx, run agency.RunID, id string) (p party, err error) {
	if id == agency.FromHuman || id == agency.FromSystem {
		return p, nil
	}
	k := Member{run, agency.AgentID(id)}
	if p, ok := c[k]; ok {
		return p, nil
	}
	err = tx.QueryRow(selectParty, string(run), id).Scan(&p.role, &p.ended)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil // not remembered: anybody may ask for anything
	}
	if err == nil {
		c[k] = p
	}
	return p, err
}
