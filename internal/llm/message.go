package llm

import "encoding/json"

// Role says who speaks. Tool results are part of a user message; the system
// prompt stands in the Request.
type Role string

// The two roles of the canonical form.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one contribution to a conversation. Its JSON form is canonical:
// equal messages have equal bytes, so that it can be stored by content hash.
type Message struct {
	Role   Role
	Blocks []Block
	// Shows are the ids of what others wrote that the message shows whole; no model is
	// sent them.
	Shows []string
}

// Block is a part of a message; the set is closed: Text, ToolUse, ToolResult,
// Reasoning and Image.
type Block interface{ block() }

// Text is written language.
type Text struct {
	Text string
}

// ToolUse is a call that the model asks for. Args is always valid JSON. Where
// what the model wrote was none, or no object, Invalid says what is wrong with
// it and Args holds the model's own words as a JSON string: the caller answers
// with the right form and runs nothing.
type ToolUse struct {
	ID      string
	Name    string
	Args    json.RawMessage
	Invalid string
}

// ToolResult answers the ToolUse of the same ID.
type ToolResult struct {
	ID      string
	Text    string
	IsError bool
	// Outcome is how the command ended that the call ran, on one line; no model is
	// sent it.
	Outcome string
}

// Reasoning is what a model thought before it answered. Opaque is the
// provider's own record of it, given back unchanged to the model that wrote it
// and to no other: no vendor promises that another model of its own reads it,
// and some refuse it. Text is for people and may be empty.
type Reasoning struct {
	Provider string // configured name
	Model    string // as it was asked for, the provider's own name
	Opaque   json.RawMessage
	Text     string
}

// By tells whether a provider's model wrote it. What names no model was stored
// by a version that did not ask, and is nobody's.
func (r Reasoning) By(provider, model string) bool {
	return r.Provider == provider && r.Model == model && model != ""
}

func (Text) block()       {}
func (ToolUse) block()    {}
func (ToolResult) block() {}
func (Reasoning) block()  {}

// UserText is a message of the user of one text, or of several. Where the first message of a
// conversation has several, the first of them is what others begin with, too.
func UserText(texts ...string) Message {
	m := Message{Role: User}
	for _, text := range texts {
		m.Blocks = append(m.Blocks, Text{Text: text})
	}
	return m
}

// Words joins the text blocks of a message.
func (m Message) Words() string {
	var out string
	for _, b := range m.Blocks {
		if t, ok := b.(Text); ok {
			if out != "" {
				out += "\n"
			}
			out += t.Text
		}
	}
	return out
}

// Calls lists the tool calls of a message in the order in which the model
// wrote them.
func (m Message) Calls() []ToolUse {
	var out []ToolUse
	for _, b := range m.Blocks {
		if u, ok := b.(ToolUse); ok {
			out = append(out, u)
		}
	}
	return out
}
