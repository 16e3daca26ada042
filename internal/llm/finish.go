package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// RawCall is a tool call as a provider streamed it, before it is checked.
type RawCall struct {
	ID   string
	Name string
	Args string
}

// idLimit is the longest tool call id that every provider takes back.
const idLimit = 40

// FinishCalls turns raw calls into canonical ones. Ids are made of characters
// that every provider takes back and are unique in the conversation, also
// where the provider gave none or the same one twice; the same request and
// answer always give the same ids. Arguments that are no JSON object are kept
// as a JSON string and named in Invalid.
func FinishCalls(req Request, calls []RawCall) []ToolUse {
	taken := map[string]bool{}
	turn := 1
	for _, m := range req.Messages {
		if m.Role == Assistant {
			turn++
		}
		for _, u := range m.Calls() {
			taken[u.ID] = true
		}
	}
	out := make([]ToolUse, 0, len(calls))
	for i, c := range calls {
		id := safeID(c.ID)
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", turn, i+1)
		}
		id = unique(id, taken)
		taken[id] = true
		args, invalid := CheckArgs(c.Args)
		out = append(out, ToolUse{ID: id, Name: Clean(strings.TrimSpace(c.Name)), Args: args, Invalid: invalid})
	}
	return out
}

func unique(id string, taken map[string]bool) string {
	base := id
	for n := 2; taken[id]; n++ {
		tail := fmt.Sprintf("-%d", n)
		id = base[:min(len(base), idLimit-len(tail))] + tail
	}
	return id
}

func safeID(s string) string { return safe(s, idLimit) }

// nameLimit is the longest tool name that every provider takes back.
const nameLimit = 64

// WireName is a tool's name as it may be sent back to a provider: a model can
// have called a tool by a name that the provider itself would refuse.
func WireName(s string) string {
	if s = safe(s, nameLimit); s == "" {
		return "unnamed"
	}
	return s
}

func safe(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, strings.TrimSpace(s))
	return s[:min(len(s), limit)]
}

// CheckArgs gives arguments as valid JSON and says what is wrong with them.
// Nothing at all and null are an empty object, for tools without parameters.
func CheckArgs(text string) (args json.RawMessage, invalid string) {
	text = Clean(text)
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed == "null" {
		return json.RawMessage(`{}`), ""
	}
	var b bytes.Buffer
	err := json.Compact(&b, []byte(trimmed))
	if err != nil {
		b.Reset()
		if json.Compact(&b, []byte(uncommented(trimmed))) == nil {
			err = nil
		}
	}
	if err != nil {
		return quoteJSON(text), "arguments are not valid JSON: " + err.Error()
	}
	if b.Bytes()[0] != '{' {
		return quoteJSON(text), "arguments are not a JSON object"
	}
	return unescapeHTML(b.Bytes()), ""
}

// uncommented is JSON without the comments that samples in prompts have at the ends of
// lines, and that models copy with them.
func uncommented(s string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\' && i+1 < len(s):
			b.WriteByte(s[i])
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(s[i:], "//"):
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				return b.String()
			}
			i += end
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// WireArgs is a call's arguments as they are sent back to a provider: always
// an object, for several servers parse them.
func WireArgs(u ToolUse) json.RawMessage {
	trimmed := bytes.TrimSpace(u.Args)
	if len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed
	}
	if len(trimmed) == 0 {
		return json.RawMessage(`{}`)
	}
	if !json.Valid(trimmed) || trimmed[0] != '"' {
		trimmed = quoteJSON(string(u.Args))
	}
	return json.RawMessage(`{"invalid_arguments":` + string(trimmed) + `}`)
}

// FinishStop settles the stop reason of an answer: tool calls win over what
// the provider said unless it was cut or declined, and an answer without text
// and calls is empty.
func FinishStop(said StopReason, blocks []Block) StopReason {
	var text, call bool
	for _, b := range blocks {
		switch b := b.(type) {
		case Text:
			text = text || strings.TrimSpace(b.Text) != ""
		case ToolUse:
			call = true
		}
	}
	switch {
	case said == StopLength, said == StopRefusal, said == StopContext, said == StopPause:
		return said
	case call:
		return StopToolUse
	case !text:
		return StopEmpty
	}
	return StopEndTurn
}
