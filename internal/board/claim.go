package board

import (
	"cmp"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/store"
)

// Recipient is who takes mail: an agent with its role, in one session. Mail of
// the role goes to whoever of it comes first. Session tells what this session
// has taken from what an earlier one had taken and not read.
type Recipient struct {
	Run     agency.RunID
	Agent   agency.AgentID
	Role    agency.RoleID // "": the agent's own mail only
	Session agency.SessionID
}

// Claim takes the next message for a recipient, of the given types where there
// are any, and marks it delivered; ok is false where nothing waits. First
// comes what an earlier session of the agent had taken and not read, then the
// highest priority, then the oldest. What is past its time to live becomes a
// dead letter instead.
func Claim(tx *store.Tx, who Recipient, types ...agency.MessageType) (m agency.Message, ok bool, err error) {
	ms, err := claim(tx, who, 1, types)
	if err != nil || len(ms) == 0 {
		return m, false, err
	}
	return ms[0], true, nil
}

// ClaimAll is Claim for up to most messages at once, in the same order.
func ClaimAll(tx *store.Tx, who Recipient, most int, types ...agency.MessageType) ([]agency.Message, error) {
	return claim(tx, who, most, types)
}

// maxStale is how many dead letters one claim makes; the sweep makes the rest.
const maxStale = 64

func claim(tx *store.Tx, who Recipient, most int, types []agency.MessageType) ([]agency.Message, error) {
	var out []agency.Message
	floor := int64(-1) // all that are stale are to be buried, at first
	for stale := 0; len(out) < most; {
		heads, err := heads(tx, who, most-len(out), types, floor)
		if err != nil {
			return nil, err
		}
		if len(heads) == 0 {
			break
		}
		for _, h := range heads {
			late, err := h.late(tx)
			if err != nil {
				return nil, err
			}
			if late {
				stale++
				if err := h.bury(tx, reasonExpired, true); err != nil {
					return nil, err
				}
				continue
			}
			if err := h.take(tx, who); err != nil {
				return nil, err
			}
			out = append(out, h.Message)
		}
		if stale >= maxStale {
			now, err := clock(tx)
			if err != nil {
				return nil, err
			}
			floor = int64(now)
		}
	}
	return out, nil
}

// head is how far a message has come with one recipient.
type head struct {
	agency.Message
	seq     int64 // of the message
	copy    bool  // of a message to everyone: the delivery has the state, not the message
	status  agency.MessageStatus
	agent   agency.AgentID // who has it, or alone may have it; "" for a role's that nobody has
	session agency.SessionID
	expires int64
}

const headColumns = `m.seq, d.agent IS NOT NULL, coalesce(d.status, m.status), coalesce(d.agent, m.agent), coalesce(d.session, m.session),
coalesce(d.expires, m.expires)`

func scanHead(row scanner) (h head, err error) {
	h.Message, err = scanMessage(row, &h.seq, &h.copy, &h.status, &h.agent, &h.session, &h.expires)
	if h.agent == "" && h.To != agency.Everyone {
		h.agent = agency.AgentID(h.To)
	}
	return h, err
}

// box is the inbox in which it waits, or waited.
func (h head) box() string {
	if h.copy {
		return agentBox(h.agent)
	}
	return boxOf(h.Message)
}

// update changes the state, where it stands.
func (h head) update(tx *store.Tx, set string, args ...any) error {
	args = append(args, h.seq)
	if !h.copy {
		_, err := tx.Exec(`UPDATE board_message SET `+set+` WHERE seq = ?`, args...)
		return err
	}
	_, err := tx.Exec(`UPDATE board_delivery SET `+set+` WHERE message = ? AND agent = ?`, append(args, string(h.agent))...)
	return err
}

// lying reads what matches, in messages and in the copies of those to
// everyone, which have the same columns for it: oldest first, at most most
// where it is not 0.
func lying(q store.Querier, most int, messages, copies string, args ...any) ([]head, error) {
	limit := ""
	if most > 0 {
		limit = " LIMIT " + strconv.Itoa(most)
	}
	return scanHeads(q.Query(`SELECT `+messageColumns+`, `+headColumns+` FROM (
SELECT seq, '' AS copy FROM board_message WHERE `+messages+` UNION ALL SELECT message, agent FROM board_delivery WHERE `+copies+`) h
JOIN board_message m ON m.seq = h.seq LEFT JOIN board_delivery d ON d.message = h.seq AND d.agent = h.copy ORDER BY h.seq, h.copy`+limit, args...))
}

func (h head) late(tx *store.Tx) (bool, error) {
	if h.expires == 0 {
		return false, nil
	}
	now, err := clock(tx)
	return h.expires <= int64(now), err
}

// heads reads the first deliveries in the order of Claim, leaving out those
// that expired before floor. Each part of the query reads the first entries of
// one partial index, so that its cost does not grow with the backlog.
func heads(tx *store.Tx, who Recipient, most int, types []agency.MessageType, floor int64) ([]head, error) {
	query, args := headQuery(who, most, types, floor)
	return scanHeads(tx.Query(query, args...))
}

func headQuery(who Recipient, most int, types []agency.MessageType, floor int64) (query string, args []any) {
	var parts []string
	args = []any{string(who.Run), string(who.Agent), string(who.Session), most, floor}
	typed := ""
	if len(types) > 0 {
		typed = ` AND type IN (?` + strings.Repeat(`, ?`, len(types)-1) + `)`
	}
	part := func(fresh, seq, copy, from string) {
		parts = append(parts, `SELECT * FROM (SELECT `+seq+` AS seq, `+copy+` AS copy, priority, `+fresh+` AS fresh FROM `+from+typed+`
AND run_id = ?1 AND (expires = 0 OR expires > ?5) ORDER BY priority DESC, `+seq+` LIMIT ?4)`)
		for _, t := range types {
			args = append(args, string(t))
		}
	}
	const earlier = ` WHERE agent = ?2 AND status = 'delivered' AND session <> ?3`
	part("0", "seq", "''", `board_message`+earlier)
	part("0", "message", "agent", `board_delivery`+earlier)
	part("1", "seq", "''", `board_message WHERE recipient = ?2 AND role = '' AND status = 'pending'`)
	part("1", "message", "agent", `board_delivery WHERE agent = ?2 AND status = 'pending'`)
	if who.Role != "" {
		role := `?` + strconv.Itoa(len(args)+1)
		args = append(args, string(who.Role))
		part("1", "seq", "''", `board_message WHERE recipient = '' AND role = `+role+` AND status = 'pending'`)
	}
	return `SELECT ` + messageColumns + `, ` + headColumns + ` FROM (` + strings.Join(parts, " UNION ALL ") + `) h
JOIN board_message m ON m.seq = h.seq LEFT JOIN board_delivery d ON d.message = h.seq AND d.agent = h.copy
ORDER BY h.fresh, h.priority DESC, h.seq LIMIT ?4`, args
}

func scanHeads(rows *store.Rows, err error) ([]head, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err below is the one that counts
	var out []head
	for rows.Next() {
		h, err := scanHead(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, rows.Err()
}

// take hands a message to a recipient.
func (h *head) take(tx *store.Tx, who Recipient) error {
	set, args := `status = 'delivered', session = ?, delivered_at = ?`, []any{string(who.Session), store.Micros(tx.Now)}
	if !h.copy {
		set, args = set+`, agent = ?`, append(args, string(who.Agent))
	}
	if err := h.update(tx, set, args...); err != nil {
		return err
	}
	own := keyOf(h.RunID, agentBox(who.Agent))
	if h.status == agency.MailPending {
		publish(tx, change{key: keyOf(h.RunID, h.box()), pending: -1})
	} else {
		publish(tx, change{key: own, session: h.session, taken: -1})
	}
	publish(tx, change{key: own, session: who.Session, taken: 1})
	h.Status = agency.MailDelivered
	if h.ToRole != "" {
		h.To = string(who.Agent)
	}
	return appendEvent(tx, taken(h.Message, who))
}

// taken tells that a message was handed over.
func taken(m agency.Message, who Recipient) agency.Event {
	ev := agency.NewEvent(m.RunID, agency.SeverityInfo, "message of "+m.From+" handed to "+string(who.Agent)+": "+firstLine(cmp.Or(m.Subject, m.Body)),
		agency.MessageDelivered{Message: m.ID, To: who.Agent, Session: who.Session})
	ev.AgentID, ev.Role, ev.ContractID, ev.RelatedMessage = who.Agent, who.Role, m.ContractID, m.ID
	return ev
}
