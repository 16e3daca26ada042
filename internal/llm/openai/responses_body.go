package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"agency/internal/llm"
)

// body appends the request as it is sent; the conversation comes first.
func (m *Responses) body(dst []byte, req llm.Request) []byte {
	e := items{encoder{m.client.Encoder(dst, req, functionForm)}}
	e.Raw(`{"input":[`)
	for _, msg := range req.Messages {
		if msg.Role == llm.Assistant {
			e.assistant(msg)
		} else {
			e.user(msg)
		}
	}
	e.Raw(`]`)
	if req.Model != "" {
		e.Raw(`,"model":`)
		e.Quoted(req.Model)
	}
	if req.System != "" {
		e.Raw(`,"instructions":`)
		e.Text(req.System)
	}
	e.Raw(`,"max_output_tokens":`)
	e.Buf = strconv.AppendInt(e.Buf, req.Limit(), 10)
	if m.vendor && req.Cache != "" {
		e.Raw(`,"prompt_cache_key":`)
		e.Quoted(req.Cache)
	}
	if !m.noEncrypted.Load() {
		e.Raw(`,"include":["reasoning.encrypted_content"]`)
	}
	e.Raw(`,"parallel_tool_calls":true,"store":false,"tools":`)
	e.Buf = append(e.Buf, e.Tools...)
	e.Raw(`,"stream":true}`)
	return e.Buf
}

// items appends the items of a conversation.
type items struct{ encoder }

// user gives the results first: they follow their calls directly. Pictures stand behind
// them, as in chat completions.
func (e *items) user(msg llm.Message) {
	var words []string
	var shown []llm.Image
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			e.Next()
			e.Raw(`{"type":"function_call_output","call_id":`)
			e.Quoted(b.ID)
			e.Raw(`,"output":`)
			e.Text(b.Text)
			e.Raw(`}`)
		case llm.Text:
			words = append(words, b.Text)
		case llm.Image:
			if len(b.Data) > 0 {
				shown = append(shown, b)
			}
		}
	}
	switch {
	case len(shown) > 0:
		e.shows(words, shown)
	case len(words) > 0:
		e.said("user", "input_text", strings.Join(words, "\n\n"))
	}
}

func (e *items) shows(words []string, shown []llm.Image) {
	e.Next()
	e.Raw(`{"type":"message","role":"user","content":[`)
	for _, w := range words {
		e.inputText(w)
	}
	for _, i := range shown {
		e.inputText(i.Label())
		e.Next()
		e.Raw(`{"type":"input_image","detail":"high","image_url":`)
		e.DataURL(i)
		e.Raw(`}`)
	}
	e.Raw(`]}`)
}

func (e *items) inputText(s string) {
	e.Next()
	e.Raw(`{"type":"input_text","text":`)
	e.Text(s)
	e.Raw(`}`)
}

func (e *items) said(role, kind, text string) {
	e.Next()
	e.Raw(`{"type":"message","role":"` + role + `","content":[{"type":"` + kind + `","text":`)
	e.Text(text)
	e.Raw(`}]}`)
}

// assistant gives an answer back. A reasoning item stands before the item that
// followed it, and goes nowhere without one.
func (e *items) assistant(msg llm.Message) {
	var thought []json.RawMessage
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.Reasoning:
			if e.Own(b) && hasContent(b.Opaque) {
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
		e.Next()
		e.Buf = append(e.Buf, item...)
	}
}

func (e *items) call(u llm.ToolUse) {
	e.Next()
	e.Raw(`{"type":"function_call","call_id":`)
	e.Quoted(u.ID)
	e.Raw(`,"name":`)
	e.Quoted(llm.WireName(u.Name))
	e.Raw(`,"arguments":`)
	e.Buf = llm.AppendQuoted(e.Buf, llm.WireArgs(u))
	e.Raw(`}`)
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

func functionForm(t llm.Tool) any {
	return functionTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema}
}
