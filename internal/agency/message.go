package agency

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MessageStatus says how far a message has come. A message is visible until
// it is acted on.
type MessageStatus string

// The statuses in their order; failed messages are dead letters.
const (
	MailPending   MessageStatus = "pending"   // durable, nobody has it
	MailDelivered MessageStatus = "delivered" // handed to the recipient's session
	MailRead      MessageStatus = "read"      // in the recipient's context
	MailProcessed MessageStatus = "processed" // the turn that showed it is settled
	MailFailed    MessageStatus = "failed"    // dead letter, with the reason
)

// MessageType says what a message is for. The set is closed.
type MessageType string

// The types of messages. Note is what a person says into a run.
const (
	MessageNote MessageType = "note"

	MessageTaskAssignment MessageType = "task_assignment"
	MessageTaskAccepted   MessageType = "task_accepted"
	MessageTaskRejected   MessageType = "task_rejected"
	MessageTaskStarted    MessageType = "task_started"
	MessageTaskProgress   MessageType = "task_progress"
	MessageTaskComplete   MessageType = "task_complete"
	MessageTaskBlocked    MessageType = "task_blocked"
	MessageTaskFailed     MessageType = "task_failed"

	MessageSubmitForReview   MessageType = "submit_for_review"
	MessageReviewFeedback    MessageType = "review_feedback"
	MessageReviewApproved    MessageType = "review_approved"
	MessageReviewRejected    MessageType = "review_rejected"
	MessageRevisionRequested MessageType = "revision_requested"

	MessageRequestClarification MessageType = "request_clarification"
	MessageProvideClarification MessageType = "provide_clarification"
	MessageRequestInput         MessageType = "request_input"
	MessageProvideInput         MessageType = "provide_input"

	MessageNudge     MessageType = "nudge"
	MessageHalt      MessageType = "halt"
	MessageResume    MessageType = "resume"
	MessageTerminate MessageType = "terminate"
	MessageEscalate  MessageType = "escalate"

	MessageStateChanged  MessageType = "state_changed"
	MessageFileModified  MessageType = "file_modified"
	MessageTestResult    MessageType = "test_result"
	MessageErrorOccurred MessageType = "error_occurred"
)

// MessageTypes are all types, those that belong together side by side.
func MessageTypes() []MessageType {
	return []MessageType{
		MessageNote,
		MessageTaskAssignment, MessageTaskAccepted, MessageTaskRejected, MessageTaskStarted, MessageTaskProgress,
		MessageTaskComplete, MessageTaskBlocked, MessageTaskFailed,
		MessageSubmitForReview, MessageReviewFeedback, MessageReviewApproved, MessageReviewRejected, MessageRevisionRequested,
		MessageRequestClarification, MessageProvideClarification, MessageRequestInput, MessageProvideInput,
		MessageNudge, MessageHalt, MessageResume, MessageTerminate, MessageEscalate,
		MessageStateChanged, MessageFileModified, MessageTestResult, MessageErrorOccurred,
	}
}

// Known tells whether t is one of MessageTypes.
func (t MessageType) Known() bool { return slices.Contains(MessageTypes(), t) }

// Senders that are no agents. They may write to anyone.
const (
	FromHuman  = "human"  // a person, by `agency say`
	FromSystem = "system" // the harness itself
)

// Everyone as Message.To is a broadcast: each live agent of the run but the
// sender gets a delivery of its own.
const Everyone = "*"

// Message is what one party tells another: an agent (To is its id), whoever
// of a role claims it first (ToRole), or every live agent (To is Everyone).
// What stands under the delivery is that of the whole message, and each delivery has its own
// record: a broadcast is as far as its least advanced delivery that can still be acted on, and
// failed only where none was or will be.
type Message struct {
	ID    MessageID `json:"id"`
	RunID RunID     `json:"run_id"`

	From     string `json:"from"` // an agent's id, FromHuman or FromSystem
	FromRole RoleID `json:"from_role,omitempty"`
	To       string `json:"to"` // an agent's id or Everyone; for a role, its claimant once there is one
	ToRole   RoleID `json:"to_role,omitempty"`

	Type    MessageType     `json:"type"`
	Subject string          `json:"subject,omitempty"`
	Body    string          `json:"body"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// PayloadHash names the blob of a payload that is too large to stand in
	// the message; Payload is empty then.
	PayloadHash Hash `json:"payload_hash,omitempty"`

	ContractID ContractID `json:"contract_id,omitempty"`
	InReplyTo  MessageID  `json:"in_reply_to,omitempty"`
	ThreadRoot MessageID  `json:"thread_root_id,omitempty"` // the message that began the thread; its own id there

	Priority         int           `json:"priority,omitempty"` // higher is read first
	TTL              time.Duration `json:"ttl,omitempty"`      // nanoseconds awake until an unread message is a dead letter; 0: never
	RequiresResponse bool          `json:"requires_response,omitempty"`
	RespondWithin    time.Duration `json:"respond_within,omitempty"` // nanoseconds awake; 0: no deadline

	Status MessageStatus `json:"status"`
	// Sum says in words how far a broadcast is where its recipients are not equally far.
	Sum         string    `json:"sum,omitempty"`
	Reason      string    `json:"reason,omitempty"` // of a dead letter
	CreatedAt   time.Time `json:"created_at"`
	ReadAt      time.Time `json:"read_at,omitzero"`
	ProcessedAt time.Time `json:"processed_at,omitzero"`
}

// StandOf says in words how far a message is.
func StandOf(m Message) string { return cmp.Or(m.Sum, string(m.Status)) }

// SumOf says in words how far a message is whose deliveries are so far: "processed by 3 of 4,
// failed for 1". Where all are equally far there is nothing to sum up.
func SumOf(deliveries []MessageStatus) string {
	n := map[MessageStatus]int{}
	for _, s := range deliveries {
		n[s]++
	}
	if len(n) < 2 {
		return ""
	}
	var parts []string
	of := fmt.Sprintf(" of %d", len(deliveries))
	for _, s := range []MessageStatus{MailProcessed, MailRead, MailDelivered, MailPending, MailFailed} {
		if n[s] == 0 {
			continue
		}
		word := map[MessageStatus]string{MailProcessed: "by", MailRead: "by", MailDelivered: "to"}[s]
		parts = append(parts, fmt.Sprintf("%s %s %d%s", s, cmp.Or(word, "for"), n[s], of))
		of = ""
	}
	return strings.Join(parts, ", ")
}

// SharedDecision is what an agent of a run decided for all whose work it touches.
type SharedDecision struct {
	ID    int64  `json:"id"` // of this version, in no other run
	Key   string `json:"key"`
	Value string `json:"value"`
	Why   string `json:"why"`
	// Concerns are the files that it is about, as entries of Contract.Writes; none: those
	// of its author's contract.
	Concerns []string   `json:"concerns,omitempty"`
	Version  int64      `json:"version"` // 1 is the first
	Run      RunID      `json:"run_id"`
	Contract ContractID `json:"contract_id,omitempty"` // that its author worked on
	By       AgentID    `json:"by"`
	At       time.Time  `json:"at"`
	// KeptBy is the person who had it stand in later runs of the repository, at KeptAt;
	// empty: it holds in its run alone.
	KeptBy string    `json:"kept_by,omitempty"`
	KeptAt time.Time `json:"kept_at,omitzero"`
}

// Kept tells whether the decision stands in later runs.
func (d SharedDecision) Kept() bool { return d.KeptBy != "" }

// Text is the decision in words.
func (d SharedDecision) Text() string {
	of := fmt.Sprintf("version %d, by %s", d.Version, d.By)
	if d.Kept() { // its version is of another run: nothing of this one is changed by naming it
		of = fmt.Sprintf("kept for this repository by %s; decided in run %s by %s", d.KeptBy, d.Run, d.By)
	}
	return fmt.Sprintf("%s, %s: %s\n\nwhy: %s", d.Key, of, d.Value, d.Why)
}

// KeptDecision is what came of having a decision kept.
type KeptDecision struct {
	SharedDecision
	// Before is what was kept under the key until then; nil: nothing. Same tells that it
	// was this already, and that nothing was written.
	Before *SharedDecision `json:"before,omitempty"`
	Same   bool            `json:"unchanged,omitempty"`
}

// Reservation is a name that only one contract of a run may take: a file, a folder, a
// file#Symbol, or any other, such as a number, a port or a route.
type Reservation struct {
	Name     string     `json:"name"`
	Sort     string     `json:"namespace,omitempty"` // of name, for people: migration, port
	Why      string     `json:"why,omitempty"`
	Run      RunID      `json:"run_id"`
	Contract ContractID `json:"contract_id"`
	Title    string     `json:"title"` // of the contract
	By       AgentID    `json:"by"`
	// Landed is set where the contract is complete: what has the name is in the tree.
	Landed bool      `json:"landed,omitempty"`
	Fence  Fence     `json:"fence"`
	Since  time.Time `json:"since"`
	// FreedBy is the person who took the name from the contract: anybody may reserve it, and
	// the contract may not take it before it has it again.
	FreedBy string `json:"freed_by,omitempty"`
}

// Held says in words who has the name, with none of theirs but the name itself.
func (r Reservation) Held() string {
	if r.FreedBy != "" {
		return fmt.Sprintf("%q was freed by %s, a person, since %s: contract %s has it no more", r.Name, r.FreedBy, r.Since.Format(time.TimeOnly), r.Contract)
	}
	has := "is reserved by"
	if r.Landed {
		has = "is taken by"
	}
	who := fmt.Sprintf("%q %s contract %s, %s, since %s", r.Name, has, r.Contract, r.By, r.Since.Format(time.TimeOnly))
	if r.Landed {
		who += ", which has landed"
	}
	return who
}

// Holder says the same with the words of who has it: text from outside, for a block of data.
func (r Reservation) Holder() string {
	s := r.Held() + "\nits contract: " + r.Title
	if r.Sort != "" {
		s += "\nnamespace: " + r.Sort
	}
	if r.Why != "" {
		s += "\nwhy: " + r.Why
	}
	return s
}
