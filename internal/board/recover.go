package board

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
)

// Recover brings a run's queues, locks and tokens to where they were before the
// last host ended: for a host that has raised the epoch, before anybody works.
// Mail that was handed over and not shown waits again in its old place; agents
// that have not ended keep what they hold, with a new fence and the time that
// was left, and their places in queues; the silence meanwhile was not theirs.
// Once more is nothing.
func Recover(tx *store.Tx, run agency.RunID) error {
	if err := ReturnAll(tx, run); err != nil {
		return err
	}
	now, err := clock(tx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE board_agent SET beat = ?, missed = 0 WHERE run_id = ? AND completed_at = 0`, int64(now), string(run)); err != nil {
		return err
	}
	for _, prefix := range []string{lockPrefix(run), tokenPrefix(run)} {
		held, err := lease.List(tx, prefix)
		if err != nil {
			return err
		}
		for _, l := range held {
			if err := readopt(tx, run, l); err != nil {
				return err
			}
		}
	}
	keys, err := tokenKeys(tx, run)
	for _, k := range keys {
		if err == nil {
			_, err = settle(tx, k)
		}
	}
	return err
}

// readopt keeps a lease of the last host for a holder that has not ended.
func readopt(tx *store.Tx, run agency.RunID, l lease.Lease) error {
	err := mustLive(tx, run, agency.AgentID(l.Holder))
	if err == nil {
		_, err = lease.Adopt(tx, l)
	}
	switch agency.KindOf(err) {
	case agency.KindNotFound, agency.KindConflict, agency.KindDenied: // ended, taken by another, or over
		return endLease(tx, run, l)
	}
	return err
}

// endLease takes a lock or a token that nobody has any more.
func endLease(tx *store.Tx, run agency.RunID, l lease.Lease) error {
	const reason = "its holder has ended"
	if k := tokenKeyOf(l.Name); k.name() == l.Name {
		return takeToken(tx, k, l, reason)
	}
	return release(tx, run, l, reason)
}

// End is for a run that has ended: nobody works on it, nothing waits, nobody is
// told, and what agents disagreed on is over. It can be opened again by agents
// that join.
func End(tx *store.Tx, run agency.RunID, status AgentStatus, reason string) error {
	if err := errors.Join(BuryRun(tx, run, reason), closeConflicts(tx, run, reason)); err != nil {
		return err
	}
	live, err := Live(tx, run)
	for _, a := range live {
		err = errors.Join(err, Leave(tx, run, a.ID, status, reason))
	}
	return err
}

// Tidy ends what is over, in all runs: mail, keys, locks and holds whose time
// has come, of mail and keys at most most. It returns how many there were. Who
// watches sees them go, and who waits gets its turn; for all others each
// operation looks at the clock itself.
func Tidy(tx *store.Tx, most int) (int, error) {
	mail, err := Sweep(tx, most)
	if err != nil {
		return mail, err
	}
	keys, err := sweepState(tx, most)
	if err != nil {
		return mail, err
	}
	locks, err := sweepLocks(tx)
	if err != nil {
		return mail, err
	}
	tokens, err := sweepTokens(tx)
	return mail + keys + locks + tokens, err
}

// Checkpoint is something of an agent that is done for good: after a crash it
// is not done again (R5 2.2).
type Checkpoint struct {
	ID        int64          `json:"id"` // of the event that tells it
	Run       agency.RunID   `json:"run_id"`
	Type      CheckpointType `json:"checkpoint_type"`
	Reference string         `json:"reference_id"` // the message, the Entry.ID, the token
	Agent     agency.AgentID `json:"agent_id,omitempty"`
	// State is what the agent's key StateKey held then.
	State     json.RawMessage `json:"agent_state,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
}

// CheckpointType says what was done.
type CheckpointType string

// The types of checkpoints.
const (
	MessageDone    CheckpointType = "message_processed"
	StateCommitted CheckpointType = "state_committed"
	TokenDone      CheckpointType = "token_released"
)

// StateKey is the key under which an agent keeps what it needs to go on after a
// crash; each checkpoint shows it as it was.
func StateKey(run agency.RunID, agent agency.AgentID) Key {
	return Key{Namespace: OfAgent, Run: run, Of: string(agent), Name: "checkpoint"}
}

// Checkpoints are those of an agent, or of all of a run where agent is empty,
// in the order in which they were committed. They are read from the log, in
// which each stands by the transaction that did it.
func Checkpoints(q store.Querier, run agency.RunID, agent agency.AgentID) ([]Checkpoint, error) {
	evs, err := event.Since(q, 0, event.Filter{
		Run: run, Agent: agent, Types: []agency.EventType{"message_processed", "state_changed", "token_released"},
	}, 0)
	if err != nil {
		return nil, err
	}
	state := map[agency.AgentID]json.RawMessage{}
	var out []Checkpoint
	for _, ev := range evs {
		c := Checkpoint{ID: ev.ID, Run: run, Agent: ev.AgentID, CreatedAt: ev.Time}
		d, err := agency.DecodeDetail(ev)
		if err != nil {
			return nil, err
		}
		switch d := d.(type) {
		case *agency.MessageProcessed:
			if d.Status != string(agency.MailProcessed) {
				continue
			}
			c.Type, c.Reference = MessageDone, string(d.Message)
		case *agency.StateChanged:
			if ev.RelatedState == 0 {
				continue // of a run or a contract
			}
			if k := StateKey(run, ev.AgentID); d.Key == k.Name && d.Namespace == string(k.Namespace) {
				es, err := versions(q, `WHERE id = ?`, ev.RelatedState)
				if err != nil {
					return nil, err
				}
				for _, e := range es { // none where history was cut
					state[ev.AgentID] = e.Value
				}
			}
			c.Type, c.Reference = StateCommitted, strconv.FormatInt(ev.RelatedState, 10)
		case *agency.TokenReleased:
			c.Type, c.Reference = TokenDone, d.Name
		}
		c.State = state[ev.AgentID]
		out = append(out, c)
	}
	return out, nil
}
