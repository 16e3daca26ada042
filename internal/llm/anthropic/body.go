package anthropic

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"agency/internal/llm"
)

// body appends the request as it is sent: what the SDK makes of the same
// request, but for the escapes that only HTML needs. Content is always a list
// of blocks, also where a string would do: a cache mark moves on with the
// conversation and must not change the form of what stays behind.
func (m *Model) body(dst []byte, req llm.Request) []byte {
	e := encoder{m.client.Encoder(dst, req, form)}
	e.Raw(`{"max_tokens":`)
	e.Buf = strconv.AppendInt(e.Buf, req.Limit(), 10)
	e.Raw(`,"messages":[`)
	e.conversation(req.Messages)
	e.Raw(`]`)
	if req.Model != "" {
		e.Raw(`,"model":`)
		e.Quoted(req.Model)
	}
	if req.System != "" {
		e.Raw(`,"system":[`)
		e.said(req.System, true)
		e.Raw(`]`)
	}
	if m.thinking.Adaptive {
		e.Raw(`,"thinking":{"type":"adaptive"}`)
	} else if budget := min(m.thinking.Budget, req.Limit()-minThinking); budget >= minThinking && m.mayThink(req) {
		e.Raw(`,"thinking":{"budget_tokens":`)
		e.Buf = strconv.AppendInt(e.Buf, budget, 10)
		e.Raw(`,"type":"enabled"}`)
	}
	e.Raw(`,"tools":`)
	e.Buf = append(e.Buf, e.Tools...)
	if len(req.Tools) > 0 {
		e.Buf = e.Buf[:len(e.Buf)-len(`}]`)] // the mark is the last field of the last tool
		e.mark(true)
		e.Raw(`}]`)
	}
	e.Raw(`,"stream":true}`)
	return e.Buf
}

// minThinking is the smallest budget for thinking that the wire takes, and
// what is left for the answer beside it.
const minThinking = 1024

// mayThink tells whether thinking up to a budget may be asked for: while calls wait for their
// results, the answer that made them must begin with a thought, and that of
// another model does not.
func (m *Model) mayThink(req llm.Request) bool {
	for _, msg := range slices.Backward(req.Messages) {
		if msg.Role != llm.Assistant {
			continue
		}
		if len(msg.Calls()) == 0 {
			return true
		}
		r, ok := msg.Blocks[0].(llm.Reasoning)
		return ok && r.By(m.client.At.Provider, req.Model)
	}
	return true
}

// encoder appends messages.
type encoder struct{ llm.Encoder }

func (e *encoder) conversation(in []llm.Message) {
	marks := marksFrom(in)
	for i, msg := range in {
		if msg.Role == llm.Assistant {
			e.assistant(msg)
		} else {
			e.user(msg, i >= marks, len(in) == 1)
		}
	}
}

// marksFrom is from which message on those of the user end in a cache mark.
// There are two: at the end of the conversation, where the next request will
// read, and at the end of the user message before, where this one reads. With
// tools and system that makes the four that the provider takes.
func marksFrom(in []llm.Message) int {
	marks := 2
	for i := len(in) - 1; i >= 0; i-- {
		if in[i].Role != llm.Assistant && len(userBlocks(in[i])) > 0 {
			if marks--; marks == 0 {
				return i
			}
		}
	}
	return 0
}

// userBlocks puts the tool results first, as the wire demands, and leaves out
// blank text, which it refuses, and pictures that results hold.
func userBlocks(msg llm.Message) []llm.Block {
	var results, words []llm.Block
	for _, b := range msg.Blocks {
		if _, ok := b.(llm.ToolResult); ok {
			results = append(results, b)
		} else if t, ok := b.(llm.Text); ok && substance(t) {
			words = append(words, t)
		} else if i, ok := b.(llm.Image); ok && i.Of == "" && len(i.Data) > 0 {
			words = append(words, llm.Text{Text: i.Label()}, i)
		}
	}
	return append(results, words...)
}

// user appends a message, marked at its end; the first of a conversation also behind what
// others begin with, where the mark of a message before would be.
func (e *encoder) user(msg llm.Message, mark, first bool) {
	blocks := userBlocks(msg)
	if len(blocks) == 0 {
		return
	}
	e.Next()
	e.Raw(`{"content":[`)
	for i, b := range blocks {
		last := mark && (i == len(blocks)-1 || first && i == 0)
		switch b := b.(type) {
		case llm.ToolResult:
			e.result(b, msg.Shown(b.ID), last)
		case llm.Text:
			e.said(b.Text, last)
		case llm.Image:
			e.image(b, last)
		}
	}
	e.Raw(`],"role":"user"}`)
}

func (e *encoder) result(r llm.ToolResult, shown []llm.Image, mark bool) {
	e.Next()
	e.Raw(`{"tool_use_id":`)
	e.Quoted(r.ID)
	e.Raw(`,"is_error":`)
	e.Buf = strconv.AppendBool(e.Buf, r.IsError)
	e.mark(mark)
	if r.Text != "" || len(shown) > 0 {
		e.Raw(`,"content":[`)
		if r.Text != "" {
			e.said(r.Text, false)
		}
		for _, i := range shown {
			e.image(i, false)
		}
		e.Raw(`]`)
	}
	e.Raw(`,"type":"tool_result"}`)
}

func (e *encoder) image(i llm.Image, mark bool) {
	e.Next()
	e.Raw(`{"source":{"data":"`)
	e.Base64(i.Data)
	e.Raw(`","media_type":"` + i.Media + `","type":"base64"}`)
	e.mark(mark)
	e.Raw(`,"type":"image"}`)
}

func (e *encoder) said(s string, mark bool) {
	e.Next()
	e.Raw(`{"text":`)
	e.Text(s)
	e.mark(mark)
	e.Raw(`,"type":"text"}`)
}

func (e *encoder) mark(mark bool) {
	if mark {
		e.Raw(`,"cache_control":{"type":"ephemeral"}`)
	}
}

// assistant gives an answer back. One that holds reasoning alone is left out:
// the wire refuses it.
func (e *encoder) assistant(msg llm.Message) {
	if !slices.ContainsFunc(msg.Blocks, substance) {
		return
	}
	e.Next()
	e.Raw(`{"content":[`)
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.Reasoning:
			if e.Own(b) && json.Valid(b.Opaque) {
				e.Next()
				e.Buf = append(e.Buf, b.Opaque...)
			}
		case llm.Text:
			if substance(b) {
				e.said(b.Text, false)
			}
		case llm.ToolUse:
			e.call(b)
		}
	}
	e.Raw(`],"role":"assistant"}`)
}

// substance tells whether a block of an answer can stand without another one.
func substance(b llm.Block) bool {
	switch b := b.(type) {
	case llm.ToolUse:
		return true
	case llm.Text:
		return strings.TrimSpace(b.Text) != ""
	}
	return false
}

func (e *encoder) call(u llm.ToolUse) {
	e.Next()
	e.Raw(`{"id":`)
	e.Quoted(u.ID)
	e.Raw(`,"input":`)
	e.Buf = append(e.Buf, llm.WireArgs(u)...)
	e.Raw(`,"name":`)
	e.Quoted(llm.WireName(u.Name))
	e.Raw(`,"type":"tool_use"}`)
}

// tool is a tool on this wire.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func form(t llm.Tool) any { return tool{t.Name, t.Description, t.Schema} }
