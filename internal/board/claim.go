package board

import (
	"cmp"

	"agency/internal/agency"
	"agency/internal/store"
	"agency/internal/text"
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
	ms, err := ClaimAll(tx, who, 1, types...)
	if err != nil || len(ms) == 0 {
		return m, false, err
	}
	return ms[0], true, nil
}

// maxStale is how many dead letters one claim makes; the sweep makes the rest.
const maxStale = 64

// ClaimAll is Claim for up to most messages at once, in the same order.
func ClaimAll(tx *store.Tx, who Recipient, most int, types ...agency.MessageType) ([]agency.Message, error) {
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

func scanHead(row store.Scanner) (h head, err error) {
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
		_, err := tx.Exec(updateMessage(set), args...)
		return err
	}
	_, err := tx.Exec(updateCopy(set), append(args, string(h.agent))...)
	return err
}

// queryHeads reads the deliveries that match, of direct messages and of those to everyone:
// oldest first, at most so many where most is not 0.
func queryHeads(q store.Querier, most int, messages, copies string, args ...any) ([]head, error) {
	return store.All(q, scanHead, selectHeads(messages, copies, most), args...)
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
	return store.All(tx, scanHead, query, args...)
}

// take hands a message to a recipient.
func (h *head) take(tx *store.Tx, who Recipient) error {
	set, args := setDelivered, []any{string(who.Session), store.Micros(tx.Now)}
	if !h.copy {
		set, args = set+takenBy, append(args, string(who.Agent))
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
	ev := agency.NewEvent(m.RunID, agency.SeverityInfo, "message of "+m.From+" handed to "+string(who.Agent)+": "+text.FirstLine(cmp.Or(m.Subject, m.Body), longest),
		agency.MessageDelivered{Message: m.ID, To: who.Agent, Session: who.Session})
	ev.AgentID, ev.Role, ev.ContractID, ev.RelatedMessage = who.Agent, who.Role, m.ContractID, m.ID
	return ev
}
