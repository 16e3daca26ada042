package gemini

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
func (m *Model) body(dst []byte, req llm.Request) []byte {
	tools := m.tools.Encode(req.Tools, encodeTools)
	e := encoder{provider: m.at.Provider, asked: req.Model, buf: slices.Grow(dst, len(tools)+llm.SizeHint(req)), signs: signs(req.Model)}
	e.raw(`{"contents":[`)
	e.contents(req.Messages)
	e.raw(`]`)
	if req.System != "" {
		e.raw(`,"systemInstruction":{"parts":[{"text":`)
		e.text(req.System)
		e.raw(`}]}`)
	}
	if len(tools) > 0 {
		e.raw(`,"tools":[{"functionDeclarations":`)
		e.buf = append(e.buf, tools...)
		e.raw(`}]`)
	}
	limit := req.MaxOutput
	if limit <= 0 {
		limit = llm.DefaultMaxOutput
	}
	e.raw(`,"generationConfig":{"maxOutputTokens":`)
	e.buf = strconv.AppendInt(e.buf, limit, 10)
	e.raw(`}}`)
	return e.buf
}

// encoder appends contents to one buffer.
type encoder struct {
	provider, asked string // whose reasoning is given back
	buf             []byte
	signs           bool              // the model refuses a call that nobody signed
	names           map[string]string // of the calls so far, by id
	ids             map[string]string // the provider's own, by id
}

func (e *encoder) raw(s string)  { e.buf = append(e.buf, s...) }
func (e *encoder) text(s string) { e.buf = llm.AppendText(e.buf, s) }

// next begins an element of a list.
func (e *encoder) next() {
	if e.buf[len(e.buf)-1] != '[' {
		e.buf = append(e.buf, ',')
	}
}

func (e *encoder) contents(in []llm.Message) {
	e.names, e.ids = map[string]string{}, map[string]string{}
	for _, msg := range in {
		if msg.Role == llm.Assistant {
			e.model(msg)
		} else {
			e.user(msg)
		}
	}
}

// user puts the results into a content of their own: their number must be that
// of the calls before.
func (e *encoder) user(msg llm.Message) {
	e.list("user", func() {
		for _, b := range msg.Blocks {
			if r, ok := b.(llm.ToolResult); ok {
				e.result(r)
			}
		}
	})
	e.list("user", func() {
		for _, b := range msg.Blocks {
			if t, ok := b.(llm.Text); ok && t.Text != "" {
				e.next()
				e.raw(`{"text":`)
				e.text(t.Text)
				e.raw(`}`)
			}
		}
	})
}

// list appends a content, or nothing where it has no part.
func (e *encoder) list(role string, parts func()) {
	begin := len(e.buf)
	e.next()
	e.raw(`{"parts":[`)
	empty := len(e.buf)
	if parts(); len(e.buf) == empty {
		e.buf = e.buf[:begin]
		return
	}
	e.raw(`],"role":"` + role + `"}`)
}

func (e *encoder) result(r llm.ToolResult) {
	e.next()
	e.raw(`{"functionResponse":{`)
	e.id(r.ID)
	e.raw(`"name":`)
	e.buf = llm.AppendQuoted(e.buf, e.names[r.ID])
	if r.IsError {
		e.raw(`,"response":{"error":`)
	} else {
		e.raw(`,"response":{"output":`)
	}
	e.text(r.Text)
	e.raw(`}}}`)
}

// id gives the provider the id that it gave, and none where it gave none: then
// the order decides.
func (e *encoder) id(canonical string) {
	if id := e.ids[canonical]; id != "" {
		e.raw(`"id":`)
		e.buf = llm.AppendQuoted(e.buf, id)
		e.raw(`,`)
	}
}

// mark is what the wire attaches to a part and what must come back with it. It
// is kept as a reasoning block before the block that the part became.
type mark struct {
	Part      string `json:"part"` // call, text or thought
	ID        string `json:"id,omitempty"`
	Signature string `json:"thoughtSignature,omitempty"`
}

const (
	partCall    = "call"
	partText    = "text"
	partThought = "thought"
)

// model gives an answer back. Thoughts go back only where they are signed, and
// never alone.
func (e *encoder) model(msg llm.Message) {
	if !slices.ContainsFunc(msg.Blocks, substance) {
		return
	}
	signed := !e.signs
	e.list("model", func() {
		var held mark
		for _, b := range msg.Blocks {
			switch b := b.(type) {
			case llm.Reasoning:
				held = e.thought(held, b)
			case llm.Text:
				if b.Text == "" {
					continue
				}
				held = e.loose(held, partText)
				e.next()
				e.raw(`{"text":`)
				e.text(b.Text)
				held = e.sign(held)
			case llm.ToolUse:
				held = e.loose(held, partCall)
				if held.Signature == "" && !signed {
					held.Signature = unsigned
				}
				signed = true
				e.call(b, held.ID)
				held = e.sign(held)
			}
		}
		e.loose(held, "")
	})
}

func substance(b llm.Block) bool {
	switch b := b.(type) {
	case llm.ToolUse:
		return true
	case llm.Text:
		return b.Text != ""
	}
	return false
}

// unsigned stands for a signature where another provider's model made the
// call; models that demand one let it pass.
const unsigned = "skip_thought_signature_validator"

// signs tells whether a model refuses a call without a signature: those of
// the third generation on.
func signs(model string) bool {
	_, rest, ok := strings.Cut(model, "gemini-")
	if !ok {
		return false
	}
	number, _, _ := strings.Cut(rest, "-")
	number, _, _ = strings.Cut(number, ".")
	n, err := strconv.Atoi(number)
	return err == nil && n >= 3
}

// thought takes a reasoning block; what it marks comes next.
func (e *encoder) thought(held mark, r llm.Reasoning) mark {
	if !r.By(e.provider, e.asked) {
		return held
	}
	var m mark
	if json.Unmarshal(r.Opaque, &m) != nil {
		return held
	}
	e.loose(held, "")
	if m.Part != partThought {
		return m
	}
	if m.Signature != "" {
		e.next()
		e.raw(`{"thought":true,"text":`)
		e.text(r.Text)
		e.sign(m)
	}
	return mark{}
}

// loose gives a signature its own empty part where the part that it came with
// is not the next one.
func (e *encoder) loose(held mark, next string) mark {
	if held.Part == next {
		return held
	}
	if held.Signature != "" {
		e.next()
		e.raw(`{"text":""`)
		e.sign(held)
	}
	return mark{}
}

// sign ends a part.
func (e *encoder) sign(held mark) mark {
	if held.Signature != "" {
		e.raw(`,"thoughtSignature":`)
		e.buf = llm.AppendQuoted(e.buf, held.Signature)
	}
	e.raw(`}`)
	return mark{}
}

func (e *encoder) call(u llm.ToolUse, id string) {
	e.names[u.ID], e.ids[u.ID] = llm.WireName(u.Name), id
	e.next()
	e.raw(`{"functionCall":{`)
	e.id(u.ID)
	e.raw(`"name":`)
	e.buf = llm.AppendQuoted(e.buf, e.names[u.ID])
	e.raw(`,"args":`)
	e.buf = append(e.buf, llm.WireArgs(u)...)
	e.raw(`}`)
}
