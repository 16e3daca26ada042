package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"agency/internal/llm"
)

// body appends the request as it is sent. The conversation comes first and
// every field has a fixed place, so that a request which appends messages
// repeats the bytes of the earlier one up to its last message.
func (m *Responses) body(dst []byte, req llm.Request) []byte {
	tools := m.tools.Encode(req.Tools, encodeFunctions)
	e := items{encoder{provider: m.at.Provider, model: req.Model, buf: slices.Grow(dst, len(tools)+llm.SizeHint(req))}}
	e.raw(`{"input":[`)
	for _, msg := range req.Messages {
		if msg.Role == llm.Assistant {
			e.assistant(msg)
		} else {
			e.user(msg)
		}
	}
	e.raw(`]`)
	if req.Model != "" {
		e.raw(`,"model":`)
		e.buf = llm.AppendQuoted(e.buf, req.Model)
	}
	if req.System != "" {
		e.raw(`,"instructions":`)
		e.text(req.System)
	}
	limit := req.MaxOutput
	if limit <= 0 {
		limit = llm.DefaultMaxOutput
	}
	e.raw(`,"max_output_tokens":`)
	e.buf = strconv.AppendInt(e.buf, limit, 10)
	if !m.noEncrypted.Load() {
		e.raw(`,"include":["reasoning.encrypted_content"]`)
	}
	e.raw(`,"parallel_tool_calls":true,"store":false,"tools":`)
	e.buf = append(e.buf, tools...)
	e.raw(`,"stream":true}`)
	return e.buf
}

// items appends the items of a conversation.
type items struct{ encoder }

// user gives the results first: they follow their calls directly.
func (e *items) user(msg llm.Message) {
	var words []string
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			e.next()
			e.raw(`{"type":"function_call_output","call_id":`)
			e.buf = llm.AppendQuoted(e.buf, b.ID)
			e.raw(`,"output":`)
			e.text(b.Text)
			e.raw(`}`)
		case llm.Text:
			words = append(words, b.Text)
		}
	}
	if len(words) > 0 {
		e.said("user", "input_text", strings.Join(words, "\n\n"))
	}
}

func (e *items) said(role, kind, text string) {
	e.next()
	e.raw(`{"type":"message","role":"` + role + `","content":[{"type":"` + kind + `","text":`)
	e.text(text)
	e.raw(`}]}`)
}

// assistant gives an answer back. A reasoning item stands before the item that
// followed it, and goes nowhere without one.
func (e *items) assistant(msg llm.Message) {
	var thought []json.RawMessage
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.Reasoning:
			if b.By(e.provider, e.model) && hasContent(b.Opaque) {
				thought = append(thought, b.Opaque)
			}
		case llm.Text:
			if b.Text == "" {
				continue
			}
			e.thoughts(thought)
			thought = nil
			e.said("assistant", "output_text", b.Text)
		case llm.ToolUse:
			e.thoughts(thought)
			thought = nil
			e.call(b)
		}
	}
}

// hasContent tells whether an item holds what was thought: a mere name of one
// means nothing to a server that stored nothing.
func hasContent(opaque json.RawMessage) bool {
	var item struct {
		Type      string `json:"type"`
		Encrypted string `json:"encrypted_content"`
	}
	return json.Unmarshal(opaque, &item) == nil && item.Type == "reasoning" && item.Encrypted != ""
}

func (e *items) thoughts(all []json.RawMessage) {
	for _, item := range all {
		e.next()
		e.buf = append(e.buf, item...)
	}
}

func (e *items) call(u llm.ToolUse) {
	e.next()
	e.raw(`{"type":"function_call","call_id":`)
	e.buf = llm.AppendQuoted(e.buf, u.ID)
	e.raw(`,"name":`)
	e.buf = llm.AppendQuoted(e.buf, llm.WireName(u.Name))
	e.raw(`,"arguments":`)
	e.buf = llm.AppendQuoted(e.buf, llm.WireArgs(u))
	e.raw(`}`)
}

// functionTool is a tool on this wire. Not strict: the schemas have optional
// properties, and the tools check their arguments themselves.
type functionTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

func encodeFunctions(in []llm.Tool) []byte {
	out := make([]functionTool, 0, len(in))
	for _, t := range llm.SortedTools(in) {
		out = append(out, functionTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return []byte("[]") // cannot happen: SortedTools has made the schemas valid
	}
	return raw
}
