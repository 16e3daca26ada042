package board

import (
	"cmp"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/event"
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

// head is a delivery that can be taken, with its message.
type head struct {
	agency.Message
	seq     int64
	box     string
	status  agency.MessageStatus
	agent   agency.AgentID
	session agency.SessionID
	expires int64
}

const headColumns = `d.seq, d.box, d.status, d.agent, d.session, d.expires`

func scanHead(row scanner) (h head, err error) {
	h.Message, err = scanMessage(row, &h.seq, &h.box, &h.status, &h.agent, &h.session, &h.expires)
	return h, err
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
	args = []any{string(who.Run), string(who.Agent), string(who.Session), most, floor, agentBox(who.Agent)}
	const from = `SELECT * FROM (SELECT seq, priority, %0 AS fresh FROM board_delivery WHERE run_id = ?1 AND (expires = 0 OR expires > ?5) AND %1
ORDER BY priority DESC, seq LIMIT ?4)`
	part := func(fresh, where string) {
		parts = append(parts, strings.NewReplacer("%0", fresh, "%1", where).Replace(from))
	}
	inboxes := []string{`box = ?6`}
	if who.Role != "" {
		args, inboxes = append(args, roleBox(who.Role)), append(inboxes, `box = ?7`)
	}
	others := []string{`session < ?3`, `session > ?3`} // each a range of the index, "<>" is none
	if len(types) == 0 {
		for _, session := range others {
			part("0", `agent = ?2 AND status = 'delivered' AND `+session)
		}
		for _, box := range inboxes {
			part("1", box+` AND status = 'pending'`)
		}
	}
	for _, t := range types {
		args = append(args, string(t))
		is := ` AND type = ?` + strconv.Itoa(len(args))
		for _, session := range others {
			part("0", `agent = ?2 AND status = 'delivered' AND `+session+is)
		}
		for _, box := range inboxes {
			part("1", box+is+` AND status = 'pending'`)
		}
	}
	return `SELECT ` + messageColumns + `, ` + headColumns + ` FROM (` + strings.Join(parts, " UNION ALL ") + `) h
JOIN board_delivery d ON d.seq = h.seq JOIN board_message m ON m.seq = d.message
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

// take hands a delivery to a recipient.
func (h *head) take(tx *store.Tx, who Recipient) error {
	if _, err := tx.Exec(`UPDATE board_delivery SET status = 'delivered', agent = ?, session = ?, delivered_at = ? WHERE seq = ?`,
		string(who.Agent), string(who.Session), store.Micros(tx.Now), h.seq); err != nil {
		return err
	}
	own := keyOf(h.RunID, agentBox(who.Agent))
	if h.status == agency.MailPending {
		publish(tx, change{key: keyOf(h.RunID, h.box), pending: -1})
	} else {
		publish(tx, change{key: own, session: h.session, taken: -1})
	}
	publish(tx, change{key: own, session: who.Session, taken: 1})
	h.Status = agency.MailDelivered
	if h.ToRole != "" {
		h.To = string(who.Agent)
	}
	return taken(tx, h.Message, who)
}

// taken tells that a message was handed over.
func taken(tx *store.Tx, m agency.Message, who Recipient) error {
	ev := agency.NewEvent(m.RunID, agency.SeverityInfo, "message of "+m.From+" handed to "+string(who.Agent)+": "+firstLine(cmp.Or(m.Subject, m.Body)),
		agency.MessageDelivered{Message: m.ID, To: who.Agent, Session: who.Session})
	ev.AgentID, ev.Role, ev.ContractID, ev.RelatedMessage = who.Agent, who.Role, m.ContractID, m.ID
	_, err := event.Append(tx, ev)
	return err
}
