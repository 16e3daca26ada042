package brief

import "agency/internal/agency"

// Messages is the one user message by which messages from outside enter a
// conversation.
func Messages(ms []agency.Message) (string, error) { return execute("messages.md", ms) }

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
