package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"agency/internal/llm"
)

// body appends the request as it is sent: byte for byte what the SDK makes of
// the same request.
func (m *Model) body(dst []byte, req llm.Request) []byte {
	e := encoder{m.client.Encoder(dst, req, form)}
	e.Raw(`{"messages":[`)
	e.messages(req)
	e.Raw(`]`)
	if req.Model != "" {
		e.Raw(`,"model":`)
		e.Quoted(req.Model)
	}
	if m.vendor != m.otherLimit.Load() {
		e.Raw(`,"max_completion_tokens":`)
	} else {
		e.Raw(`,"max_tokens":`)
	}
	e.Buf = strconv.AppendInt(e.Buf, req.Limit(), 10)
	if m.vendor && req.Cache != "" {
		e.Raw(`,"prompt_cache_key":`)
		e.Quoted(req.Cache)
	}
	if !m.noStreamOptions.Load() {
		e.Raw(`,"stream_options":{"include_usage":true}`)
	}
	e.Raw(`,"tools":`)
	e.Buf = append(e.Buf, e.Tools...)
	e.Raw(`,"stream":true}`)
	return e.Buf
}

// encoder appends messages.
type encoder struct{ llm.Encoder }

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
	e.Next()
	e.Raw(`{"content":`)
	e.Text(text)
	e.Raw(`,"role":"` + role + `"}`)
}

// user splits a user message: each tool result is a message of its own here,
// and they must follow the calls directly. Pictures are the user's alone, so that those of
// results stand behind them.
func (e *encoder) user(msg llm.Message) {
	var words []string
	var shown []llm.Image
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			e.Next()
			e.Raw(`{"content":`)
			e.Text(b.Text)
			e.Raw(`,"tool_call_id":`)
			e.Quoted(b.ID)
			e.Raw(`,"role":"tool"}`)
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
		e.said("user", strings.Join(words, "\n\n"))
	}
}

// shows appends a message of the user with pictures, each behind its name.
func (e *encoder) shows(words []string, shown []llm.Image) {
	e.Next()
	e.Raw(`{"content":[`)
	for _, w := range words {
		e.textPart(w)
	}
	for _, i := range shown {
		e.textPart(i.Label())
		e.Next()
		e.Raw(`{"image_url":{"url":`)
		e.DataURL(i)
		e.Raw(`,"detail":"high"},"type":"image_url"}`)
	}
	e.Raw(`],"role":"user"}`)
}

func (e *encoder) textPart(s string) {
	e.Next()
	e.Raw(`{"text":`)
	e.Text(s)
	e.Raw(`,"type":"text"}`)
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
	e.Next()
	e.Raw(`{`)
	if text != "" {
		e.Raw(`"content":`)
		e.Text(text)
		e.Raw(`,`)
	}
	if called {
		e.calls(msg)
	}
	e.Raw(`"role":"assistant"`)
	if text == "" {
		e.Raw(`,"content":null`)
	}
	if called {
		e.reasoning(msg)
	}
	e.Raw(`}`)
}

func isCall(b llm.Block) bool {
	_, ok := b.(llm.ToolUse)
	return ok
}

func (e *encoder) calls(msg llm.Message) {
	e.Raw(`"tool_calls":[`)
	for _, b := range msg.Blocks {
		c, ok := b.(llm.ToolUse)
		if !ok {
			continue
		}
		e.Next()
		e.Raw(`{"id":`)
		e.Quoted(c.ID)
		e.Raw(`,"function":{"arguments":`)
		e.Buf = llm.AppendQuoted(e.Buf, llm.WireArgs(c))
		e.Raw(`,"name":`)
		e.Quoted(llm.WireName(c.Name))
		e.Raw(`},"type":"function"}`)
	}
	e.Raw(`],`)
}

// reasoning gives a server its own reasoning back under the field in which it
// came; several demand it between a tool call and its result.
func (e *encoder) reasoning(msg llm.Message) {
	var values [len(reasoningFields)]json.RawMessage
	for _, b := range msg.Blocks {
		r, ok := b.(llm.Reasoning)
		if !ok || !e.Own(r) {
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
			e.Raw(`,"` + reasoningFields[i] + `":`)
			e.Buf = append(e.Buf, v...)
		}
	}
}

// tool is a function tool on this wire.
type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func form(t llm.Tool) any {
	w := tool{Type: "function"}
	w.Function.Name, w.Function.Description, w.Function.Parameters = t.Name, t.Description, t.Schema
	return w
}
