package agency

import "time"

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

// Message is what one party tells another. A person's messages have From
// "human".
type Message struct {
	ID        MessageID     `json:"id"`
	RunID     RunID         `json:"run_id"`
	From      string        `json:"from"`
	To        string        `json:"to"` // an agent's id, or "manager"
	Type      string        `json:"type"`
	Subject   string        `json:"subject,omitempty"`
	Body      string        `json:"body"`
	Status    MessageStatus `json:"status"`
	Reason    string        `json:"reason,omitempty"` // of a dead letter
	CreatedAt time.Time     `json:"created_at"`
}
