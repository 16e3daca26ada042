package gemini

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"agency/internal/llm"
)

// body appends the request as it is sent; the conversation comes first.
func (m *Model) body(dst []byte, req llm.Request) []byte {
	e := encoder{Encoder: m.client.Encoder(dst, req, declare), signs: signs(req.Model)}
	e.Raw(`{"contents":[`)
	e.contents(req.Messages)
	e.Raw(`]`)
	if req.System != "" {
		e.Raw(`,"systemInstruction":{"parts":[{"text":`)
		e.Text(req.System)
		e.Raw(`}]}`)
	}
	if len(req.Tools) > 0 {
		e.Raw(`,"tools":[{"functionDeclarations":`)
		e.Buf = append(e.Buf, e.Tools...)
		e.Raw(`}]`)
	}
	e.Raw(`,"generationConfig":{"maxOutputTokens":`)
	e.Buf = strconv.AppendInt(e.Buf, req.Limit(), 10)
	e.Raw(`}}`)
	return e.Buf
}

// encoder appends contents.
type encoder struct {
	llm.Encoder
	signs bool              // the model refuses a call that nobody signed
	names map[string]string // of the calls so far, by id
	ids   map[string]string // the provider's own, by id
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
			switch b := b.(type) {
			case llm.Text:
				e.said(b.Text)
			case llm.Image:
				e.image(b)
			}
		}
	})
}

func (e *encoder) said(s string) {
	if s == "" {
		return
	}
	e.Next()
	e.Raw(`{"text":`)
	e.Text(s)
	e.Raw(`}`)
}

// image appends a picture behind its name, also one of a result: not every model takes one
// within.
func (e *encoder) image(i llm.Image) {
	if len(i.Data) == 0 {
		return
	}
	e.said(i.Label())
	e.Next()
	e.Raw(`{"inlineData":{"mimeType":"` + i.Media + `","data":"`)
	e.Base64(i.Data)
	e.Raw(`"}}`)
}

// list appends a content, or nothing where it has no part.
func (e *encoder) list(role string, parts func()) {
	begin := len(e.Buf)
	e.Next()
	e.Raw(`{"parts":[`)
	empty := len(e.Buf)
	if parts(); len(e.Buf) == empty {
		e.Buf = e.Buf[:begin]
		return
	}
	e.Raw(`],"role":"` + role + `"}`)
}

func (e *encoder) result(r llm.ToolResult) {
	e.Next()
	e.Raw(`{"functionResponse":{`)
	e.id(r.ID)
	e.Raw(`"name":`)
	e.Quoted(e.names[r.ID])
	if r.IsError {
		e.Raw(`,"response":{"error":`)
	} else {
		e.Raw(`,"response":{"output":`)
	}
	e.Text(r.Text)
	e.Raw(`}}}`)
}

// id gives the provider the id that it gave, and none where it gave none: then
// the order decides.
func (e *encoder) id(canonical string) {
	if id := e.ids[canonical]; id != "" {
		e.Raw(`"id":`)
		e.Quoted(id)
		e.Raw(`,`)
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
				e.Next()
				e.Raw(`{"text":`)
				e.Text(b.Text)
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
	if !e.Own(r) {
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
		e.Next()
		e.Raw(`{"thought":true,"text":`)
		e.Text(r.Text)
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
		e.Next()
		e.Raw(`{"text":""`)
		e.sign(held)
	}
	return mark{}
}

// sign ends a part.
func (e *encoder) sign(held mark) mark {
	if held.Signature != "" {
		e.Raw(`,"thoughtSignature":`)
		e.Quoted(held.Signature)
	}
	e.Raw(`}`)
	return mark{}
}

func (e *encoder) call(u llm.ToolUse, id string) {
	e.names[u.ID], e.ids[u.ID] = llm.WireName(u.Name), id
	e.Next()
	e.Raw(`{"functionCall":{`)
	e.id(u.ID)
	e.Raw(`"name":`)
	e.Quoted(e.names[u.ID])
	e.Raw(`,"args":`)
	e.Buf = append(e.Buf, llm.WireArgs(u)...)
	e.Raw(`}`)
}
