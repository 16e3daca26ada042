package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"agency/internal/llm"
)

// body is the request as it is sent: byte for byte what the SDK makes of the
// same request, but without its way through reflection, which cost more than
// the rest of a turn together. The messages come first and every field has a
// fixed place, so that a request which appends messages repeats the bytes of
// the earlier one up to its last message.
//
// It is appended to dst.
func (m *Model) body(dst []byte, req llm.Request) []byte {
	tools := m.tools.Encode(req.Tools, encodeTools)
	e := encoder{provider: m.at.Provider, model: req.Model, buf: slices.Grow(dst, len(tools)+llm.SizeHint(req))}
	e.raw(`{"messages":[`)
	e.messages(req)
	e.raw(`]`)
	if req.Model != "" {
		e.raw(`,"model":`)
		e.buf = llm.AppendQuoted(e.buf, req.Model)
	}
	if m.vendor != m.otherLimit.Load() {
		e.raw(`,"max_completion_tokens":`)
	} else {
		e.raw(`,"max_tokens":`)
	}
	limit := req.MaxOutput
	if limit <= 0 {
		limit = llm.DefaultMaxOutput
	}
	e.buf = strconv.AppendInt(e.buf, limit, 10)
	if !m.noStreamOptions.Load() {
		e.raw(`,"stream_options":{"include_usage":true}`)
	}
	e.raw(`,"tools":`)
	e.buf = append(e.buf, tools...)
	e.raw(`,"stream":true}`)
	return e.buf
}

// encoder appends messages to one buffer.
type encoder struct {
	provider, model string // whose reasoning is given back
	buf             []byte
}

func (e *encoder) raw(s string) { e.buf = append(e.buf, s...) }

func (e *encoder) text(s string) { e.buf = llm.AppendText(e.buf, s) }

// next begins an element of a list.
func (e *encoder) next() {
	if e.buf[len(e.buf)-1] != '[' {
		e.buf = append(e.buf, ',')
	}
}

func (e *encoder) messages(req llm.Request) {
	if req.System != "" {
		e.said("system", req.System)
	}
	for _, msg := range req.Messages {
		if msg.Role == llm.Assistant {
			e.assistant(msg)
		} else {
			e.user(msg)
		}
	}
}

func (e *encoder) said(role, text string) {
	e.next()
	e.raw(`{"content":`)
	e.text(text)
	e.raw(`,"role":"` + role + `"}`)
}

// user splits a user message: each tool result is a message of its own here,
// and they must follow the calls directly.
func (e *encoder) user(msg llm.Message) {
	var words []string
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			e.next()
			e.raw(`{"content":`)
			e.text(b.Text)
			e.raw(`,"tool_call_id":`)
			e.buf = llm.AppendQuoted(e.buf, b.ID)
			e.raw(`,"role":"tool"}`)
		case llm.Text:
			words = append(words, b.Text)
		}
	}
	if len(words) > 0 {
		e.said("user", strings.Join(words, "\n\n"))
	}
}

// assistant gives an answer back. Without text its content is null, as the
// vendor itself writes it: servers differ on a missing one. An empty message
// is left out, nobody takes it back.
func (e *encoder) assistant(msg llm.Message) {
	text := msg.Words()
	called := slices.ContainsFunc(msg.Blocks, isCall)
	if text == "" && !called {
		return
	}
	e.next()
	e.raw(`{`)
	if text != "" {
		e.raw(`"content":`)
		e.text(text)
		e.raw(`,`)
	}
	if called {
		e.calls(msg)
	}
	e.raw(`"role":"assistant"`)
	if text == "" {
		e.raw(`,"content":null`)
	}
	if called {
		e.reasoning(msg)
	}
	e.raw(`}`)
}

func isCall(b llm.Block) bool {
	_, ok := b.(llm.ToolUse)
	return ok
}

func (e *encoder) calls(msg llm.Message) {
	e.raw(`"tool_calls":[`)
	for _, b := range msg.Blocks {
		c, ok := b.(llm.ToolUse)
		if !ok {
			continue
		}
		e.next()
		e.raw(`{"id":`)
		e.buf = llm.AppendQuoted(e.buf, c.ID)
		e.raw(`,"function":{"arguments":`)
		e.buf = llm.AppendQuoted(e.buf, llm.WireArgs(c))
		e.raw(`,"name":`)
		e.buf = llm.AppendQuoted(e.buf, llm.WireName(c.Name))
		e.raw(`},"type":"function"}`)
	}
	e.raw(`],`)
}

// reasoning gives a server its own reasoning back under the field in which it
// came; several demand it between a tool call and its result.
func (e *encoder) reasoning(msg llm.Message) {
	var values [len(reasoningFields)]json.RawMessage
	for _, b := range msg.Blocks {
		r, ok := b.(llm.Reasoning)
		if !ok || !r.By(e.provider, e.model) {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(r.Opaque, &fields) != nil {
			continue
		}
		for i, name := range reasoningFields {
			if v, ok := fields[name]; ok {
				values[i] = v
			}
		}
	}
	for i, v := range slices.Backward(values[:]) { // in the order of their names
		if v == nil {
			continue
		}
		if v, err := json.Marshal(v); err == nil { // it was decoded above: no error
			e.raw(`,"` + reasoningFields[i] + `":`)
			e.buf = append(e.buf, v...)
		}
	}
}
