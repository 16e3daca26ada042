package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
)

// Encode is the canonical form of a request: one line with everything but the
// messages, then one line a message. Encode of a request is a byte prefix of
// Encode of the same request with messages appended. Tools are sorted by name;
// Session is left out.
func Encode(req Request) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	head := header{Model: req.Model, MaxOutput: req.MaxOutput, System: req.System, Tools: SortedTools(req.Tools)}
	_ = enc.Encode(head) // strings, numbers and JSON made valid by SortedTools
	for _, m := range req.Messages {
		_ = enc.Encode(m)
	}
	return b.Bytes()
}

type header struct {
	Model     string `json:"model"`
	MaxOutput int64  `json:"max_output"`
	System    string `json:"system"`
	Tools     []Tool `json:"tools"`
}

// Bytes is the size of a request, for the reservation before it is sent and
// for estimates where a provider gives no usage.
func Bytes(req Request) int64 {
	n := int64(len(req.System))
	for _, t := range req.Tools {
		n += int64(len(t.Name) + len(t.Description) + len(t.Schema) + 32)
	}
	for _, m := range req.Messages {
		n += messageBytes(m)
	}
	return n
}

func messageBytes(m Message) int64 {
	n := 16
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case Text:
			n += len(b.Text) + 16
		case ToolUse:
			n += len(b.ID) + len(b.Name) + len(b.Args) + 32
		case ToolResult:
			n += len(b.ID) + len(b.Text) + 32
		case Reasoning:
			n += max(len(b.Opaque), len(b.Text)) + 16
		case Image: // as many as make its tokens
			n += int(3*b.Tokens()) + len(b.Name) + 32
		}
	}
	return int64(n)
}

// EstimateTokens turns bytes into tokens, on the high side for English and
// code (docs/design.md, Sessions).
func EstimateTokens(bytes int64) int64 { return (bytes + 2) / 3 }

// EstimateUsage counts bytes where a provider gives no usage: all that came, for
// not every server keeps to the length that it was asked for.
func EstimateUsage(req Request, answer Message) agency.Usage {
	return agency.Usage{In: EstimateTokens(Bytes(req)), Out: EstimateTokens(messageBytes(answer)), Estimated: true}
}

// SortedTools is a copy sorted by name, with each schema compacted; a schema
// that is no JSON object becomes one that accepts every object.
func SortedTools(tools []Tool) []Tool {
	out := make([]Tool, 0, len(tools))
	for _, t := range tools {
		t.Schema = compactObject(t.Schema)
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func compactObject(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil || b.Len() == 0 || b.Bytes()[0] != '{' {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return b.Bytes()
}

// wireBlock is the JSON form of every block.
type wireBlock struct {
	Type     string          `json:"type"`
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	Invalid  string          `json:"invalid,omitempty"`
	Text     *string         `json:"text,omitempty"`
	IsError  bool            `json:"is_error,omitempty"`
	Outcome  string          `json:"outcome,omitempty"`
	Provider string          `json:"provider,omitempty"`
	Model    string          `json:"model,omitempty"`
	Opaque   json.RawMessage `json:"opaque,omitempty"`
	Of       string          `json:"of,omitempty"`
	Media    string          `json:"media,omitempty"`
	Hash     agency.Hash     `json:"hash,omitempty"`
	Bytes    int64           `json:"bytes,omitempty"`
	Width    int             `json:"width,omitempty"`
	Height   int             `json:"height,omitempty"`
}

type wireMessage struct {
	Role   Role        `json:"role"`
	Blocks []wireBlock `json:"blocks"`
	Shows  []string    `json:"shows,omitempty"`
}

// MarshalJSON gives the canonical bytes.
func (m Message) MarshalJSON() ([]byte, error) {
	out := wireMessage{Role: m.Role, Shows: m.Shows, Blocks: make([]wireBlock, 0, len(m.Blocks))}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case Text:
			b.Text = Clean(b.Text)
			out.Blocks = append(out.Blocks, wireBlock{Type: "text", Text: &b.Text})
		case ToolUse:
			if len(b.Args) > 0 {
				b.Args = CanonicalJSON(b.Args)
			}
			out.Blocks = append(out.Blocks, wireBlock{Type: "tool_use", ID: b.ID, Name: Clean(b.Name), Args: b.Args, Invalid: b.Invalid})
		case ToolResult:
			b.Text = Clean(b.Text)
			out.Blocks = append(out.Blocks, wireBlock{Type: "tool_result", ID: b.ID, Text: &b.Text, IsError: b.IsError, Outcome: Clean(b.Outcome)})
		case Reasoning:
			b.Text = Clean(b.Text)
			if len(b.Opaque) > 0 {
				b.Opaque = CanonicalJSON(b.Opaque)
			}
			out.Blocks = append(out.Blocks, wireBlock{Type: "reasoning", Provider: b.Provider, Model: b.Model, Opaque: b.Opaque, Text: &b.Text})
		case Image:
			out.Blocks = append(out.Blocks, wireBlock{
				Type: "image", Name: Clean(b.Name), Of: b.Of, Media: b.Media, Hash: b.Hash, Bytes: b.Bytes, Width: b.Width, Height: b.Height,
			})
		default:
			return nil, fmt.Errorf("message block of unknown type %T", b)
		}
	}
	return marshal(out)
}

// Clean is a text as it is stored and sent: bytes that are no UTF-8 become the
// replacement character. Encoders would write them differently before and
// after they were stored, and a resumed conversation would miss the cache.
func Clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// marshal is json.Marshal without the escapes that only HTML needs.
func marshal(v wireMessage) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in wireMessage
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	m.Role, m.Shows, m.Blocks = in.Role, in.Shows, make([]Block, 0, len(in.Blocks))
	for _, b := range in.Blocks {
		block, err := b.canonical()
		if err != nil {
			return err
		}
		m.Blocks = append(m.Blocks, block)
	}
	return nil
}

func (b wireBlock) canonical() (Block, error) {
	var text string
	if b.Text != nil {
		text = *b.Text
	}
	switch b.Type {
	case "text":
		return Text{Text: text}, nil
	case "tool_use":
		return ToolUse{ID: b.ID, Name: b.Name, Args: kept(b.Args), Invalid: b.Invalid}, nil
	case "tool_result":
		return ToolResult{ID: b.ID, Text: text, IsError: b.IsError, Outcome: b.Outcome}, nil
	case "reasoning":
		return Reasoning{Provider: b.Provider, Model: b.Model, Opaque: kept(b.Opaque), Text: text}, nil
	case "image":
		return Image{Name: b.Name, Of: b.Of, Media: b.Media, Hash: b.Hash, Bytes: b.Bytes, Width: b.Width, Height: b.Height}, nil
	}
	return nil, fmt.Errorf("message block of unknown type %q", b.Type)
}

// kept undoes what the encoder around a message did to JSON inside it.
func kept(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return CanonicalJSON(raw)
}
