package brief

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/block"
	"agency/internal/roster"
)

// Messages is the one user message by which messages enter a conversation: what
// people say is an instruction, what others write is data. more is how many
// wait beside them.
func Messages(ms []agency.Message, more int) (string, error) {
	var in struct {
		People, Others []agency.Message
		More           int
	}
	in.More = more
	for _, m := range ms {
		if m.From == agency.FromHuman {
			in.People = append(in.People, m)
		} else {
			in.Others = append(in.Others, m)
		}
	}
	return execute("messages.md", in)
}

// Binds tells whether a message binds its reader for as long as the contract
// does: a person's word, what those who lead the agent ask, decide or answer, what is decided together,
// and what was left to it with the contract.
func Binds(m agency.Message) bool {
	if _, handoff := agency.HandoffOf(m); handoff || m.From == agency.FromHuman {
		return true
	}
	switch m.Type {
	case agency.MessageTaskAssignment, agency.MessageRevisionRequested, agency.MessageReviewRejected, agency.MessageReviewFeedback,
		agency.MessageProvideClarification, agency.MessageProvideInput, agency.MessageNudge, agency.MessageHalt,
		agency.MessageStateChanged:
		return true
	}
	return false
}

// message is one message as a section: who sent it, what for, and its words in
// a block. Nothing that its sender chose stands outside of the block but names
// on one line.
func message(m agency.Message) string {
	if m.From == agency.FromHuman {
		subject := ""
		if m.Subject != "" {
			subject = ": " + oneLine(m.Subject)
		}
		return fmt.Sprintf("\n## Message from %s%s\n\n%s", oneLine(m.From), subject, Mark(m))
	}
	from := "`" + oneLine(m.From) + "`"
	if m.From == agency.FromSystem {
		from = "the harness"
	}
	if m.FromRole != "" {
		from += " (" + oneLine(m.FromRole) + ")"
	}
	if p, ok := agency.HandoffOf(m); ok {
		return fmt.Sprintf("\n## Handoff of contract `%s` from `%s`, id `%s`\n\nYou go on with what it has begun: the files are as it left them, and your contract says what is to be brought about.\n\n%s", oneLine(p.Contract), oneLine(p.From), oneLine(m.ID), Mark(m))
	}
	head := fmt.Sprintf("%s from %s, id `%s`", oneLine(m.Type), from, oneLine(m.ID))
	if m.InReplyTo != "" {
		head += fmt.Sprintf(", in reply to `%s`", oneLine(m.InReplyTo))
	}
	if m.ContractID != "" {
		head += fmt.Sprintf(", about contract `%s`", oneLine(m.ContractID))
	}
	if m.RequiresResponse {
		head += ", wants an answer"
	}
	return fmt.Sprintf("\n## Message %s\n\n%s", head, Mark(m))
}

// Mark is the block of a message. A text that holds it shows the message
// whole.
func Mark(m agency.Message) string {
	if p, ok := agency.HandoffOf(m); ok {
		return block.Data(fmt.Sprintf("message %s", m.ID), handoffText(p))
	}
	words := m.Body
	if m.From != agency.FromHuman && m.Subject != "" {
		words = "Subject: " + m.Subject + "\n\n" + words
	}
	switch {
	case len(m.Payload) > 0:
		words += "\n\nPayload:\n" + string(m.Payload)
	case m.PayloadHash != "":
		words += "\n\nIts payload is stored as " + string(m.PayloadHash) + "."
	}
	return block.Data(fmt.Sprintf("message %s", m.ID), words)
}

// handoffText is a package as its receiver reads it.
func handoffText(p agency.HandoffPackage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nContract %s is %s.\n", p.Instructions, p.Contract, p.Status)
	var deps []string
	for _, d := range p.DependenciesUsed {
		deps = append(deps, string(d))
	}
	for _, l := range []struct {
		head  string
		lines []string
	}{
		{"Files that it changed", p.FilesModified},
		{"Contracts that it builds on", deps},
		{"Last results of its checks, on the files as they were then", p.Checks},
		{"Warnings", p.Warnings},
	} {
		if len(l.lines) > 0 {
			fmt.Fprintf(&b, "\n%s:\n- %s\n", l.head, strings.Join(l.lines, "\n- "))
		}
	}
	if len(p.Outputs) > 0 {
		fmt.Fprintf(&b, "\nOutputs: %s\n", p.Outputs)
	}
	return strings.TrimSpace(b.String())
}

// Reminder is a message of the harness itself.
type Reminder string

// The reminders.
const (
	NoEnding Reminder = "no_ending" // stopped without an ending tool
	Empty    Reminder = "empty"     // said nothing
	Length   Reminder = "length"    // was cut at the output limit
)

// Text is what the reminder says to a role, or to an agent of a file: each is told its own
// endings.
func (r Reminder) Text(role roster.Role, agent roster.Persona) (string, error) {
	view := struct {
		Review, Plan, Reports bool
		Endings               string
	}{Review: role.Offers("submit_review"), Plan: role.Offers("submit_plan")}
	if agent.Name != "" {
		view.Endings, view.Reports = strings.Join(agent.Endings(), " or "), !agent.Member
	}
	return execute(string(r)+".md", view)
}

// Use is how much a session has used of one of its limits.
type Use struct {
	What        string // turns, tokens
	Used, Limit int64
	Percent     int
	HandsOver   bool // at the limit another session goes on in its place
}

// Text tells the agent of it.
func (u Use) Text() (string, error) { return execute("use.md", u) }

// Standing is where a session stands when its conversation goes on in a new
// epoch: everything that must not be lost with what was said, from the store.
type Standing struct {
	Epoch, Turn int
	Criteria    []agency.Criterion
	Constraints []string
	Receipts    []agency.Receipt // the last of each command
	Decisions   []Decision
	Messages    []agency.Message // that bind, oldest first
	Changed     []string         // files since the base, with their status
	Checkpoints []string
	Todo        []string // the agent's own plan, a step a line
	Plan        []string // of a manager: its contracts, each with how it stands
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
	HandOver bool   // another session goes on with the record
}

// Record asks for the summary of a part of a conversation, by a prompt and a message.
// It is a request of its own, without tools.
func Record(in RecordInput) (system, first string, err error) {
	if system, err = execute("record_system.md", in); err != nil {
		return "", "", err
	}
	block, err := in.Contract.Block()
	if err != nil {
		return "", "", err
	}
	first, err = execute("record.md", recordView{RecordInput: in, Block: block})
	return system, first, err
}

type recordView struct {
	RecordInput
	Block string
}
