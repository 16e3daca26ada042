package agency

import (
	"encoding/json"
	"maps"
	"slices"
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

// Severities are all of them, lowest first.
func Severities() []Severity {
	return []Severity{SeverityDebug, SeverityInfo, SeverityWarning, SeverityError, SeverityCritical}
}

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

// CallDigests tell calls and answers apart without their words: two with one
// digest are the same; two with one shape differ in white space and numbers.
type CallDigests struct {
	// Call stands for the arguments: a word of letters, digits and :+/=_- that is the
	// same for the same call, at most 128 characters, or the arguments themselves.
	Call string `json:"call,omitempty"`
	// CallShape is a word likewise, the same for calls that are alike; without it Call counts.
	CallShape string `json:"call_shape,omitempty"`
	// Answer stands for what came of the call, in the form of Call.
	Answer string `json:"answer,omitempty"`
	// AnswerShape is to Answer what CallShape is to Call.
	AnswerShape string `json:"answer_shape,omitempty"`
	// Removed and Added are the texts that an edit took out and put in.
	Removed string `json:"removed,omitempty"`
	Added   string `json:"added,omitempty"`
	// Lines is a sample of the answer's lines, without those that stand in the
	// call, or of the text that was written whole: of two with a line in common,
	// both samples hold it or none. An answer whose sample is known shows nothing new.
	Lines []string `json:"lines,omitempty"`
	// Share is how far the answer says that something has come, 0 to 1: a build of
	// which 12/40 or 30 % is done. Whoever asks again and is shown a greater one waits.
	Share float64 `json:"share,omitempty"`
	// Errors is how many the answer says there are, such as 12 of "Found 12 errors".
	Errors int `json:"errors,omitempty"`
}

// FilesGone is how many of a workspace's files a turn took away.
type FilesGone struct {
	Before int `json:"before"`
	Gone   int `json:"gone"`
}

// Spent is how much of its budget a run has used.
type Spent struct {
	USD    float64 `json:"cost_usd"`
	Tokens int64   `json:"tokens"`
}

// Overseen is what the overseer saw of an agent.
type Overseen struct {
	Cause      string    `json:"cause"` // a behaviour of package overseer
	Event      int64     `json:"event_id,omitempty"`
	Session    SessionID `json:"session_id,omitempty"`
	Severity   string    `json:"severity,omitempty"`
	Confidence float64   `json:"confidence,omitempty"`
	Evidence   []string  `json:"evidence,omitempty"`
	// Cooldown is set where a nudge waits until so many seconds lie behind the one before.
	Cooldown int `json:"waits_for_cooldown_seconds,omitempty"`
	// By is who stepped in, where it is not the overseer's own detectors, and
	// Reason what it said.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// EscalatedTo is who was told: a role, or human; Untold is why it does not hear of it.
	EscalatedTo string `json:"escalated_to,omitempty"`
	Untold      string `json:"untold,omitempty"`
}

// Intervention is what the overseer did about an agent, and what the agent did after it
// (docs/design.md, Overseer). It is read from the events of a run.
type Intervention struct {
	ID         int64      `json:"id"` // of the event that tells it
	Time       time.Time  `json:"time"`
	Action     string     `json:"action"` // log, nudge, pause, halt or escalate
	By         string     `json:"by"`     // overseer or overseer model
	Agent      AgentID    `json:"agent_id"`
	Role       RoleID     `json:"role,omitempty"`
	Session    SessionID  `json:"session_id,omitempty"`
	Contract   ContractID `json:"contract_id,omitempty"`
	Cause      string     `json:"cause"` // a behaviour of package overseer
	Severity   string     `json:"severity"`
	Confidence float64    `json:"confidence"`
	Evidence   []string   `json:"evidence"`
	Reason     string     `json:"reason"`
	Message    string     `json:"message,omitempty"`      // to the agent
	Escalated  string     `json:"escalated_to,omitempty"` // a role, or human
	// Undelivered is why nobody read the message.
	Undelivered string `json:"undelivered,omitempty"`
	// Cooldown is set where a nudge waited for it, in seconds.
	Cooldown int       `json:"waits_for_cooldown_seconds,omitempty"`
	After    Aftermath `json:"after"`
}

// Aftermath is what an agent did after an intervention.
type Aftermath struct {
	Outcome AftermathKind `json:"outcome"`
	Turns   int           `json:"turns"` // that it took until then
	What    string        `json:"what,omitempty"`
}

// AftermathKind says what came of an intervention.
type AftermathKind string

// The closed set of them.
const (
	AfterPending AftermathKind = "pending"        // it shows nothing yet
	AfterChanged AftermathKind = "changed_course" // the agent did something new
	AfterEnded   AftermathKind = "ended"          // its session ended
	AfterSame    AftermathKind = "repeated"       // the same was found again
)

// Who intervened.
const (
	ByOverseer      = "overseer"
	ByOverseerModel = "overseer model"
)

// ToHuman is where what an agent cannot decide ends up.
const ToHuman = "human"

// CommandUse is what a command in a shell is for.
type CommandUse string

// The uses that a command's words tell.
const (
	UseLook CommandUse = "look" // it shows files or states, and changes none
	UseSay  CommandUse = "say"  // it prints what the call says
	UseAsk  CommandUse = "ask"  // it asks how something is that goes on by itself
)

// CommandUses are all of them.
func CommandUses() []CommandUse { return []CommandUse{UseLook, UseSay, UseAsk} }

// DangerKind is a way in which a call of an agent can do harm.
type DangerKind string

// The kinds of danger.
const (
	DangerEscape    DangerKind = "escape"          // something that the sandbox refused
	DangerSecret    DangerKind = "secret"          // a secret of the host in what was printed
	DangerDeletion  DangerKind = "mass_deletion"   // much of the workspace is deleted
	DangerHistory   DangerKind = "history_rewrite" // commits or the repository itself are rewritten
	DangerInjection DangerKind = "injection"       // outside text that gives the agent orders
)

// DangerKinds are all of them.
func DangerKinds() []DangerKind {
	return []DangerKind{DangerEscape, DangerSecret, DangerDeletion, DangerHistory, DangerInjection}
}

// Progress is how far each contract has come in the attempt that it is in, as a run's
// events tell it. Within an attempt it never goes back: what a verdict has proved once,
// and each stage that was reached, counts until the attempt is over.
type Progress struct{ of map[ContractID]float64 }

// What a contract has reached when it comes to these; between work and a claim that
// passes it is the share of the criteria that the best claim so far has proofs for.
const (
	progressBegun    = 0.05
	progressClaims   = 0.60
	progressApproved = 0.80
	progressQueued   = 0.85
	progressLanding  = 0.90
)

// Add takes an event in, with its details.
func (p *Progress) Add(ev Event, d Detail) {
	if ev.ContractID == "" {
		return
	}
	if p.of == nil {
		p.of = map[ContractID]float64{}
	}
	reach := func(at float64) { p.of[ev.ContractID] = max(p.of[ev.ContractID], at) }
	switch d := d.(type) {
	case *Retried:
		if d.Session == "" {
			p.of[ev.ContractID] = progressBegun
		}
	case *StateChanged:
		switch Stage(d.To) {
		case StageWorking:
			reach(progressBegun)
		case StageQueued:
			reach(progressQueued)
		case StageLanding:
			reach(progressLanding)
		}
	case *VerdictSubmitted:
		if d.Verdict == VerdictPass {
			reach(progressClaims)
		} else if d.Criteria > 0 {
			reach(progressBegun + (progressClaims-progressBegun)*float64(d.Shown)/float64(d.Criteria+1))
		}
	case *ReviewSubmitted:
		if ReviewVerdict(d.Verdict) == ReviewApprove {
			reach(progressApproved)
		}
	case *Completed:
		if d.Session == "" {
			reach(1)
		}
	}
}

// Of is how far a contract has come, 0 to 1.
func (p *Progress) Of(id ContractID) float64 { return p.of[id] }

func byType(makers ...func() Detail) map[EventType]func() Detail {
	all := make(map[EventType]func() Detail, len(makers))
	for _, mk := range makers {
		of, _ := mk().kind()
		all[of] = mk
	}
	return all
}

// Details are the empty details of all types of events, by type.
func Details() []Detail {
	var all []Detail
	for _, of := range slices.Sorted(maps.Keys(details)) {
		all = append(all, details[of]())
	}
	return all
}

// made makes the empty detail that an event is decoded into.
func made[T any, D interface {
	*T
	Detail
}]() Detail {
	return D(new(T))
}
