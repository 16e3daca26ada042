package brief

import (
	"fmt"

	"agency/internal/agency"
	"agency/internal/roster"
)

// Messages is the one user message by which messages from outside enter a
// conversation.
func Messages(ms []agency.Message) (string, error) { return execute("messages.md", ms) }

// message is one message from outside as a section.
func message(m agency.Message) string {
	subject := ""
	if m.Subject != "" {
		subject = ": " + oneLine(m.Subject)
	}
	return fmt.Sprintf("\n## Message from %s%s\n\n%s", oneLine(m.From), subject, Mark(m))
}

// Mark is the block of a message. A text that holds it shows the message
// whole.
func Mark(m agency.Message) string { return Data(fmt.Sprintf("message %s", m.ID), m.Body) }

// Reminder is a message of the harness itself.
type Reminder string

// The reminders.
const (
	NoEnding Reminder = "no_ending" // stopped without an ending tool
	Empty    Reminder = "empty"     // said nothing
	Length   Reminder = "length"    // was cut at the output limit
)

// Text is what the reminder says.
func (r Reminder) Text() (string, error) { return execute(string(r)+".md", nil) }

// Standing is where a session stands when its conversation goes on in a new
// epoch: everything that must not be lost with what was said, from the store.
type Standing struct {
	Epoch, Turn int
	Criteria    []agency.Criterion
	Constraints []string
	Receipts    []agency.Receipt // the last of each command
	Decisions   []Decision
	Messages    []agency.Message // of people, oldest first
	Changed     []string         // files since the base, with their status
	Checkpoints []string
	Summary     string
}

// Decision is what a person decided at a gate.
type Decision struct{ Question, Answer string }

// RecordInput is what the request for a summary tells.
type RecordInput struct {
	Role     roster.Role
	Contract agency.Contract
	Before   string // the summary of what was before
	Digest   string // of the turns to sum up
}

// Record asks for the summary of a part of a conversation. It is a request of
// its own, without tools.
func Record(in RecordInput) (Brief, error) {
	system, err := execute("record_system.md", in)
	if err != nil {
		return Brief{}, err
	}
	block, err := in.Contract.Block()
	if err != nil {
		return Brief{}, err
	}
	first, err := execute("record.md", recordView{RecordInput: in, Block: block})
	if err != nil {
		return Brief{}, err
	}
	return Brief{System: system, First: first}, nil
}

type recordView struct {
	RecordInput
	Block string
}
