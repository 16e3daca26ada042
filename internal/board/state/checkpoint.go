package state

import (
	"encoding/json"
	"strconv"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// Checkpoint is something of an agent that is done for good: after a crash it
// is not done again.
type Checkpoint struct {
	ID        int64          `json:"id"` // of the event that tells it
	Run       agency.RunID   `json:"run_id"`
	Type      CheckpointType `json:"checkpoint_type"`
	Reference string         `json:"reference_id"` // the message, the Entry.ID
	Agent     agency.AgentID `json:"agent_id,omitempty"`
	// State is what the agent's key CheckpointKey held then.
	State     json.RawMessage `json:"agent_state,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
}

// CheckpointType says what was done.
type CheckpointType string

// The types of checkpoints.
const (
	MessageDone    CheckpointType = "message_processed"
	StateCommitted CheckpointType = "state_committed"
)

// CheckpointKey is the key under which an agent keeps what it needs to go on after a
// crash; each checkpoint shows it as it was.
func CheckpointKey(run agency.RunID, agent agency.AgentID) Key {
	return Key{Namespace: OfAgent, Run: run, Of: string(agent), Name: "checkpoint"}
}

// Checkpoints are those of an agent, or of all of a run where agent is empty,
// in the order in which they were committed. They are read from the log, in
// which each stands by the transaction that did it.
func Checkpoints(q store.Querier, run agency.RunID, agent agency.AgentID) ([]Checkpoint, error) {
	evs, err := event.Since(q, 0, event.Filter{
		Run: run, Agent: agent, Types: []agency.EventType{"message_processed", "state_changed"},
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
			if k := CheckpointKey(run, ev.AgentID); d.Key == k.Name && d.Namespace == string(k.Namespace) {
				es, err := entries(q, selectVersion, ev.RelatedState)
				if err != nil {
					return nil, err
				}
				for _, e := range es { // none where history was cut
					state[ev.AgentID] = e.Value
				}
			}
			c.Type, c.Reference = StateCommitted, strconv.FormatInt(ev.RelatedState, 10)
		}
		c.State = state[ev.AgentID]
		out = append(out, c)
	}
	return out, nil
}
