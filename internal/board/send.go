package board

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

//go:embed sql/facts.sql
var factsSQL string

// Send makes a message durable and wakes who waits for it. See SendTx.
func (b *Board) Send(ctx context.Context, m agency.Message) error {
	return b.db.Write(ctx, func(tx *store.Tx) error { return b.SendTx(tx, m) })
}

// SendTx puts a message into its recipient's inbox; into that of each live
// agent but the sender for agency.Everyone. The sender chooses the id: the
// same message again is nothing, other words under the same id are
// KindConflict. A recipient that waits in Receive gets the message as soon as
// the transaction is durable.
//
// Errors: KindInvalid for what is malformed, KindNotFound for an unknown
// sender, recipient, role, payload or message that is replied to, KindDenied
// where the sender's role may not write there, KindConflict for a recipient
// that has ended and for a full inbox. Nothing is written then.
func (b *Board) SendTx(tx *store.Tx, m agency.Message) error { return send(tx, b, m) }

// Send is SendTx for the harness itself, without the limits of a
// configuration: no inbox is too full for it and no role out of reach. A
// receiver that waits is woken to look for the message.
func Send(tx *store.Tx, m agency.Message) error { return send(tx, nil, m) }

// Reply is Send to the sender of a message, in its thread: a role's claimant
// or any recipient may answer. To, ToRole, InReplyTo and ContractID are set
// from the message that id names.
func (b *Board) Reply(ctx context.Context, id agency.MessageID, m agency.Message) error {
	return b.db.Write(ctx, func(tx *store.Tx) error { return b.ReplyTx(tx, id, m) })
}

// ReplyTx is Reply in a transaction. A reply to a person or to the harness is
// KindInvalid: they have no inbox.
func (b *Board) ReplyTx(tx *store.Tx, id agency.MessageID, m agency.Message) error {
	to, err := Get(tx, m.RunID, id)
	if err != nil {
		return err
	}
	m.To, m.ToRole, m.InReplyTo = to.From, "", id
	m.ContractID = cmp.Or(m.ContractID, to.ContractID)
	return b.SendTx(tx, m)
}

// send does the work of SendTx. Without a board there is no limit and nobody
// to hand the message to: that is how the board itself writes.
func send(tx *store.Tx, b *Board, m agency.Message) error {
	if err := check(m); err != nil {
		return err
	}
	m = redact(tx, m)
	f, err := look(tx, m)
	if err != nil {
		return err
	}
	if f.known {
		return same(tx, m)
	}
	if err := f.allow(tx, b, &m); err != nil {
		return err
	}
	if err := keepPayload(tx, &m); err != nil {
		return err
	}
	return put(tx, b, m)
}

// facts are what the board knows about a message's parties.
type facts struct {
	known    bool // there is a message of this id already
	from, to party
	root     sql.NullString // of the thread that is replied to
}

type party struct {
	role  sql.NullString // not valid: never joined
	ended sql.NullBool
}

func look(q store.Querier, m agency.Message) (f facts, err error) {
	err = q.QueryRow(factsSQL, string(m.RunID), string(m.ID), m.From, m.To, string(m.InReplyTo)).
		Scan(&f.known, &f.from.role, &f.from.ended, &f.to.role, &f.to.ended, &f.root)
	return f, err
}

// allow checks a message against the board, and completes it with what the
// board knows.
func (f facts) allow(tx *store.Tx, b *Board, m *agency.Message) error {
	m.ThreadRoot = m.ID
	if m.InReplyTo != "" {
		if !f.root.Valid {
			return agency.Errorf(agency.KindNotFound, "message %s: it replies to %q, which is no message of run %s", m.ID, clip(string(m.InReplyTo)), m.RunID).
				WithMend("agency inspect %s --messages", m.RunID)
		}
		m.ThreadRoot = agency.MessageID(f.root.String)
	}
	if err := f.sender(m); err != nil {
		return err
	}
	role := m.ToRole
	if m.To != "" && m.To != agency.Everyone {
		if err := f.recipient(*m); err != nil {
			return err
		}
		role = agency.RoleID(f.to.role.String)
	}
	if b == nil {
		return nil
	}
	return b.permit(tx, *m, role)
}

func (f facts) sender(m *agency.Message) error {
	switch {
	case m.From == agency.FromHuman || m.From == agency.FromSystem:
		m.FromRole = ""
		return nil
	case !f.from.role.Valid:
		return agency.Errorf(agency.KindNotFound, "message %s: run %s has no agent %q to send it", m.ID, m.RunID, clip(m.From))
	case f.from.ended.Bool:
		return agency.Errorf(agency.KindConflict, "message %s: its sender %s has ended", m.ID, m.From)
	}
	m.FromRole = agency.RoleID(f.from.role.String)
	return nil
}

func (f facts) recipient(m agency.Message) error {
	switch {
	case !f.to.role.Valid:
		return agency.Errorf(agency.KindNotFound, "message %s: run %s has no agent %q", m.ID, m.RunID, clip(m.To)).
			WithMend("agency inspect %s lists the agents of the run", m.RunID)
	case f.to.ended.Bool:
		return agency.Errorf(agency.KindConflict, "message %s: agent %s has ended and reads no more mail", m.ID, m.To).
			WithMend("write to its role or to the project manager")
	}
	return nil
}

// permit applies the limits of the configuration and the reach of roles. To
// everyone may write who may write to anyone.
func (b *Board) permit(tx *store.Tx, m agency.Message, to agency.RoleID) error {
	if m.ToRole != "" && b.o.Role != nil && !b.o.Role(m.ToRole) {
		return agency.Errorf(agency.KindNotFound, "message %s: there is no role %q", m.ID, clip(string(m.ToRole)))
	}
	if m.FromRole != "" && to != "" && b.o.MaySend != nil && !b.o.MaySend(m.FromRole, to) {
		return agency.Errorf(agency.KindDenied, "message %s: a %s may not write to a %s", m.ID, m.FromRole, to).
			WithMend("write to the project manager")
	}
	if m.To == agency.Everyone {
		return nil // a full inbox of one must not silence the others
	}
	if n := b.boxes.waiting(keyOf(m.RunID, boxOf(m))); n >= b.limits(m.RunID).MaxQueue {
		return agency.Errorf(agency.KindConflict, "message %s: the inbox of %s is full: %d messages wait there", m.ID, cmp.Or(m.To, string(m.ToRole)), n).
			WithMend("send it again when some have been read, or raise board.max_queue_size")
	}
	return nil
}

// put writes a message that has passed, with its deliveries and its event.
func put(tx *store.Tx, b *Board, m agency.Message) error {
	now, err := timed(tx, m.TTL > 0 || m.RespondWithin > 0)
	if err != nil {
		return err
	}
	due := after(now, m.RespondWithin)
	if now > 0 {
		wakeKeep(tx)
	}
	res, err := tx.Exec(`INSERT INTO board_message (run_id, id, sender, sender_role, recipient, role, type, subject, body, payload,
payload_hash, contract_id, in_reply_to, root, priority, ttl, wants, within, due, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(m.RunID), string(m.ID), m.From, string(m.FromRole), m.To, string(m.ToRole), string(m.Type), m.Subject, m.Body,
		string(m.Payload), string(m.PayloadHash), string(m.ContractID), string(m.InReplyTo), string(m.ThreadRoot),
		m.Priority, int64(m.TTL), m.RequiresResponse, int64(m.RespondWithin), due, store.Micros(tx.Now))
	if err != nil {
		return err
	}
	seq, err := res.LastInsertId()
	if err != nil {
		return err
	}
	if m.InReplyTo != "" {
		if err := answered(tx, m); err != nil {
			return err
		}
	}
	if err := sent(tx, m); err != nil {
		return err
	}
	return deliver(tx, b, m, letter{seq: seq, expires: after(now, m.TTL)})
}

// letter is what the deliveries of one message have in common.
type letter struct {
	seq     int64
	expires int64
}

// deliver puts a message into each inbox that it is for.
func deliver(tx *store.Tx, b *Board, m agency.Message, l letter) error {
	if m.To != agency.Everyone {
		return l.into(tx, b, m, boxOf(m), agency.AgentID(m.To))
	}
	live, err := Live(tx, m.RunID)
	if err != nil {
		return err
	}
	for _, a := range live {
		if string(a.ID) == m.From {
			continue
		}
		if err := l.into(tx, b, m, agentBox(a.ID), a.ID); err != nil {
			return err
		}
	}
	return nil
}

// into makes one delivery: for a receiver that waits here as delivered to it,
// which it is told after the commit, else as pending.
func (l letter) into(tx *store.Tx, b *Board, m agency.Message, box string, to agency.AgentID) error {
	key, status := keyOf(m.RunID, box), agency.MailPending
	var session agency.SessionID
	var at int64
	var r *receiver
	if b != nil {
		if r = b.boxes.promise(tx, key, m); r != nil {
			to, session, status, at = r.who.Agent, r.who.Session, agency.MailDelivered, store.Micros(tx.Now)
		}
	}
	if _, err := tx.Exec(`INSERT INTO board_delivery (message, run_id, box, type, priority, expires, status, agent, session, delivered_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, l.seq, string(m.RunID), box, string(m.Type), m.Priority, l.expires,
		string(status), string(to), string(session), at); err != nil {
		return err
	}
	if r == nil {
		publish(tx, change{key: key, typ: m.Type, pending: 1})
		return nil
	}
	publish(tx, change{key: keyOf(m.RunID, agentBox(to)), session: session, taken: 1})
	return taken(tx, m, r.who)
}

// same refuses other words under an id that is taken.
func same(tx *store.Tx, m agency.Message) error {
	have, err := one(tx, m.RunID, m.ID)
	if err != nil {
		return err
	}
	if len(m.Payload) > inline {
		m.PayloadHash, m.Payload = store.HashOf(m.Payload), nil
	}
	if have.From == m.From && have.To == m.To && have.ToRole == m.ToRole && have.Type == m.Type &&
		have.Subject == m.Subject && have.Body == m.Body && string(have.Payload) == string(m.Payload) && have.PayloadHash == m.PayloadHash &&
		have.ContractID == m.ContractID && have.InReplyTo == m.InReplyTo && have.Priority == m.Priority &&
		have.TTL == m.TTL && have.RequiresResponse == m.RequiresResponse && have.RespondWithin == m.RespondWithin {
		return nil
	}
	return agency.Errorf(agency.KindConflict, "message %s was sent already with other words", m.ID).WithMend("choose another id")
}

// redact gives a message as it is stored.
func redact(tx *store.Tx, m agency.Message) agency.Message {
	m.Subject, m.Body = string(tx.Redact([]byte(m.Subject))), string(tx.Redact([]byte(m.Body)))
	if len(m.Payload) > 0 {
		m.Payload = json.RawMessage(tx.Redact(m.Payload))
	}
	m.Status, m.Reason, m.CreatedAt, m.ReadAt, m.ProcessedAt = agency.MailPending, "", tx.Now, time.Time{}, time.Time{}
	return m
}

func sent(tx *store.Tx, m agency.Message) error {
	to := cmp.Or(m.To, string(m.ToRole))
	ev := agency.NewEvent(m.RunID, agency.SeverityInfo, m.From+" to "+to+": "+firstLine(cmp.Or(m.Subject, m.Body)),
		agency.MessageSent{Message: m.ID, From: m.From, To: to, Type: m.Type})
	ev.Role, ev.ContractID, ev.RelatedMessage = m.FromRole, m.ContractID, m.ID
	if m.FromRole != "" {
		ev.AgentID = agency.AgentID(m.From)
	}
	_, err := event.Append(tx, ev)
	return err
}

// timed reads the awake clock where it is needed.
func timed(tx *store.Tx, needed bool) (time.Duration, error) {
	if !needed {
		return 0, nil
	}
	return clock(tx)
}

// after is the time at which a span that begins now is over; 0 for no span.
func after(now, span time.Duration) int64 {
	if span == 0 {
		return 0
	}
	return int64(now + span)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(line) > 80 {
		line = string([]rune(line)[:79]) + "…"
	}
	return line
}

// one reads a message as it was sent.
func one(q store.Querier, run agency.RunID, id agency.MessageID) (agency.Message, error) {
	m, err := scanMessage(q.QueryRow(`SELECT `+messageColumns+` FROM board_message m WHERE m.run_id = ? AND m.id = ?`, string(run), string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return m, agency.Errorf(agency.KindNotFound, "run %s has no message %q", run, clip(string(id))).WithMend("agency inspect %s --messages", run)
	}
	return m, err
}
