package agency

import (
	"encoding/json"
	"time"
)

// Category groups events for filters.
type Category string

// The categories.
const (
	CategoryAgent        Category = "agent"
	CategoryMessage      Category = "message"
	CategoryState        Category = "state"
	CategoryCoordination Category = "coordination"
	CategorySystem       Category = "system"
	CategoryGate         Category = "gate"
	CategoryVerification Category = "verification"
	CategoryGit          Category = "git"
)

// Severity orders events by how much they want to be seen.
type Severity string

// The severities, lowest first.
const (
	SeverityDebug    Severity = "debug"
	SeverityInfo     Severity = "info"
	SeverityWarning  Severity = "warning"
	SeverityError    Severity = "error"
	SeverityCritical Severity = "critical"
)

var severityRank = map[Severity]int{SeverityDebug: 0, SeverityInfo: 1, SeverityWarning: 2, SeverityError: 3, SeverityCritical: 4}

// AtLeast tells whether s is as severe as min.
func (s Severity) AtLeast(min Severity) bool { return severityRank[s] >= severityRank[min] }

// EventType is a past-tense word of a closed list.
type EventType string

// Event is one entry of a run's log: what happened, never what should. ID
// increases in commit order. Details holds the JSON of a Detail.
type Event struct {
	ID         int64      `json:"id"`
	RunID      RunID      `json:"run_id"`
	Time       time.Time  `json:"time"`
	Category   Category   `json:"category"`
	Type       EventType  `json:"type"`
	Severity   Severity   `json:"severity"`
	AgentID    AgentID    `json:"agent_id,omitempty"`
	Role       RoleID     `json:"role,omitempty"`
	Tier       string     `json:"tier,omitempty"`
	ContractID ContractID `json:"contract_id,omitempty"`
	// What on the board it is about, where it is about that: the message, or
	// the entry of the shared state's history.
	RelatedMessage MessageID       `json:"related_message_id,omitempty"`
	RelatedState   int64           `json:"related_state_id,omitempty"`
	Summary        string          `json:"summary"`
	Details        json.RawMessage `json:"details,omitempty"`
}

// Detail is what an event of one type says. The set is closed: the types of
// this file. A fold over events switches on it and reports a bug by default.
type Detail interface{ kind() (EventType, Category) }

// NewEvent makes the event of a detail. The store sets ID and Time when it is
// appended; the caller may set AgentID, Role, ContractID and what is related.
func NewEvent(run RunID, severity Severity, summary string, d Detail) Event {
	b, err := json.Marshal(d)
	if err != nil { // a Detail is a plain struct of this file
		b = nil
	}
	if string(b) == "{}" {
		b = nil
	}
	of, category := d.kind()
	return Event{RunID: run, Category: category, Type: of, Severity: severity, Summary: summary, Details: b}
}

// DecodeDetail gives the typed details of an event, or an error for a type
// that this version does not know (a newer version wrote it).
func DecodeDetail(e Event) (Detail, error) {
	mk, ok := details[e.Type]
	if !ok {
		return nil, Errorf(KindInvalid, "event %d: type %q is not known to this version", e.ID, e.Type)
	}
	d := mk()
	if len(e.Details) > 0 {
		if err := json.Unmarshal(e.Details, d); err != nil {
			return nil, Errorf(KindInvalid, "event %d: details of %s: %w", e.ID, e.Type, err)
		}
	}
	return d, nil
}
