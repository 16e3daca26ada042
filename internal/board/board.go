// Package board carries messages to agents: a person's word into a run. A
// message is pending once it is durable, delivered when the recipient's
// session took it, read when it stands in the recipient's context, and
// processed when the turn that showed it is settled; what can never be read
// ends as a dead letter with the reason (DESIGN 1.6).
//
// Shared state, leases for agents and messages between agents are not here
// yet. Each function works in the caller's transaction, so that the turn that
// shows a message marks it read in the same commit.
package board

import (
	"embed"
	"strings"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema.
func Migrations() store.Set { return store.Set{Name: "board", FS: migrations} }

// MaxBody is the largest body of a message in bytes.
const MaxBody = 1 << 20

// Send makes a message durable as pending. The same id with the same words
// again is nothing; with other words it is a conflict.
func Send(tx *store.Tx, m agency.Message) error {
	if err := check(m); err != nil {
		return err
	}
	res, err := tx.Exec(`INSERT INTO messages (run_id, id, sender, recipient, type, subject, body, status, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?) ON CONFLICT (run_id, id) DO NOTHING`,
		string(m.RunID), string(m.ID), m.From, m.To, m.Type, m.Subject, m.Body, tx.Now.UnixNano())
	if err != nil {
		return err
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return same(tx, m)
	}
	ev := agency.NewEvent(m.RunID, agency.SeverityInfo, m.From+" to "+m.To+": "+firstLine(m.Body),
		agency.MessageSent{Message: m.ID, From: m.From, To: m.To})
	_, err = event.Append(tx, ev)
	return err
}

func same(tx *store.Tx, m agency.Message) error {
	var to, body string
	if err := tx.QueryRow(`SELECT recipient, body FROM messages WHERE run_id = ? AND id = ?`, string(m.RunID), string(m.ID)).Scan(&to, &body); err != nil {
		return err
	}
	if to != m.To || body != m.Body {
		return agency.Errorf(agency.KindConflict, "message %s was sent already with other words", m.ID)
	}
	return nil
}

func check(m agency.Message) error {
	switch {
	case m.ID == "" || len(m.ID) > 128:
		return agency.Errorf(agency.KindInvalid, "message id %q: want 1 to 128 bytes", m.ID)
	case strings.TrimSpace(m.Body) == "":
		return agency.Errorf(agency.KindInvalid, "message %s: the text is empty", m.ID)
	case len(m.Body) > MaxBody:
		return agency.Errorf(agency.KindInvalid, "message %s: the text has %d bytes, the most is %d", m.ID, len(m.Body), MaxBody)
	case !utf8.ValidString(m.Body):
		return agency.Errorf(agency.KindInvalid, "message %s: the text is not UTF-8", m.ID)
	case m.To == "":
		return agency.Errorf(agency.KindInvalid, "message %s: names no recipient", m.ID)
	}
	return nil
}

// Deliver hands an agent everything that waits for it, oldest first: what is
// pending, and what an earlier session took but never showed.
func Deliver(tx *store.Tx, run agency.RunID, to agency.AgentID) ([]agency.Message, error) {
	ms, err := read(tx, `WHERE run_id = ? AND recipient = ? AND status IN ('pending', 'delivered') ORDER BY seq`, string(run), string(to))
	if err != nil {
		return nil, err
	}
	for i := range ms {
		ms[i].Status = agency.MailDelivered
	}
	return ms, mark(tx, run, ids(ms), agency.MailDelivered, "", `status = 'pending'`)
}

// Waits tells whether anything waits for an agent.
func Waits(q store.Querier, run agency.RunID, to agency.AgentID) (bool, error) {
	var n int
	err := q.QueryRow(`SELECT EXISTS (SELECT 1 FROM messages WHERE run_id = ? AND recipient = ? AND status IN ('pending', 'delivered'))`,
		string(run), string(to)).Scan(&n)
	return n != 0, err
}

// MarkRead belongs into the commit that puts the messages into the recipient's
// context.
func MarkRead(tx *store.Tx, run agency.RunID, which []agency.MessageID) error {
	return mark(tx, run, which, agency.MailRead, "", `status IN ('pending', 'delivered')`)
}

// MarkProcessed belongs into the commit that settles the turn that showed the
// messages.
func MarkProcessed(tx *store.Tx, run agency.RunID, which []agency.MessageID) error {
	if err := mark(tx, run, which, agency.MailProcessed, "", `status = 'read'`); err != nil {
		return err
	}
	for _, id := range which {
		ev := agency.NewEvent(run, agency.SeverityInfo, "message acted on",
			agency.MessageProcessed{Message: id, Status: string(agency.MailProcessed)})
		if _, err := event.Append(tx, ev); err != nil {
			return err
		}
	}
	return nil
}

// Bury makes dead letters of all that still waits for an agent that will never
// read again, and returns them so that the senders can be told.
func Bury(tx *store.Tx, run agency.RunID, to agency.AgentID, reason string) ([]agency.Message, error) {
	ms, err := read(tx, `WHERE run_id = ? AND recipient = ? AND status IN ('pending', 'delivered') ORDER BY seq`, string(run), string(to))
	if err != nil {
		return nil, err
	}
	for i := range ms {
		ms[i].Status, ms[i].Reason = agency.MailFailed, reason
		ev := agency.NewEvent(run, agency.SeverityWarning, "message to "+ms[i].To+" was not read: "+reason,
			agency.MessageProcessed{Message: ms[i].ID, Status: string(agency.MailFailed)})
		if _, err := event.Append(tx, ev); err != nil {
			return nil, err
		}
	}
	return ms, mark(tx, run, ids(ms), agency.MailFailed, reason, `status IN ('pending', 'delivered')`)
}

// Messages reads all messages of a run, oldest first.
func Messages(q store.Querier, run agency.RunID) ([]agency.Message, error) {
	return read(q, `WHERE run_id = ? ORDER BY seq`, string(run))
}

// Forget removes a run's messages.
func Forget(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(`DELETE FROM messages WHERE run_id = ?`, string(run))
	return err
}

func mark(tx *store.Tx, run agency.RunID, which []agency.MessageID, to agency.MessageStatus, reason, from string) error {
	for _, id := range which {
		if _, err := tx.Exec(`UPDATE messages SET status = ?, reason = ? WHERE run_id = ? AND id = ? AND `+from,
			string(to), reason, string(run), string(id)); err != nil {
			return err
		}
	}
	return nil
}

func read(q store.Querier, where string, args ...any) ([]agency.Message, error) {
	rows, err := q.Query(`SELECT run_id, id, sender, recipient, type, subject, body, status, reason, created_at FROM messages `+where, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err below is the one that counts
	var out []agency.Message
	for rows.Next() {
		var m agency.Message
		var nanos int64
		if err := rows.Scan(&m.RunID, &m.ID, &m.From, &m.To, &m.Type, &m.Subject, &m.Body, &m.Status, &m.Reason, &nanos); err != nil {
			return nil, err
		}
		m.CreatedAt = time.Unix(0, nanos).UTC()
		out = append(out, m)
	}
	return out, rows.Err()
}

func ids(ms []agency.Message) []agency.MessageID {
	out := make([]agency.MessageID, len(ms))
	for i, m := range ms {
		out[i] = m.ID
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(line) > 80 {
		line = string([]rune(line)[:79]) + "…"
	}
	return line
}
