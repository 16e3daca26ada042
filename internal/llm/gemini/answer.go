package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"agency/internal/llm"
	"agency/internal/text"
)

// chunk is a piece of a streamed answer, or a whole one.
type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   *struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage json.RawMessage `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	Error json.RawMessage `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []part `json:"parts"`
	} `json:"content"`
	FinishReason  string `json:"finishReason"`
	FinishMessage string `json:"finishMessage"`
}

type part struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// piece is a part of the answer in the canonical form, in its order.
type piece struct {
	kind string // call, text or thought
	mark mark
	text strings.Builder
	call llm.RawCall
}

// answer gathers one answer.
type answer struct {
	llm.Gathering
	pieces   []*piece
	calls    int
	finished string // the last finishReason
	message  string // the provider's words on it
	blocked  string
	events   int
	// candidate is the one that is read: the lowest that came first.
	candidate int
}

// Whole takes a whole answer: a document, or the list of them that the wire
// gives where no events were asked for.
func (a *answer) Whole(body []byte) error {
	all := []json.RawMessage{body}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		if err := a.Parse(body, &all); err != nil {
			return err
		}
	}
	for _, one := range all {
		if err := a.Take(one); err != nil {
			return err
		}
	}
	if a.events == 0 {
		return llm.BadBody(a.At, http.StatusOK, body)
	}
	a.finished = cmp.Or(a.finished, "STOP") // it came whole
	return a.End(nil)
}

// Take reads one chunk.
func (a *answer) Take(data []byte) error {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return llm.ErrLeave
	}
	var c chunk
	if err := a.Parse(data, &c); err != nil {
		return err
	}
	defer a.Tally.Read(data)
	a.Named = cmp.Or(c.Model, a.Named)
	if llm.Some(c.Error) {
		if len(c.Candidates) > 0 {
			a.Tally.Said()
		}
		return llm.FromEvent(a.At, data)
	}
	if len(c.Candidates) > 0 || llm.Some(c.Usage) || c.Feedback != nil {
		a.events++
	}
	if c.Feedback != nil {
		a.blocked = cmp.Or(c.Feedback.BlockReason, a.blocked)
	}
	if len(c.Candidates) == 0 {
		return nil
	}
	first := slices.MinFunc(c.Candidates, func(x, y candidate) int { return x.Index - y.Index })
	if a.events == 1 {
		a.candidate = first.Index
	}
	if first.Index != a.candidate {
		return nil // nobody asked for a second answer
	}
	if len(first.Content.Parts) > 0 {
		a.Tally.Said()
	}
	for _, p := range first.Content.Parts {
		a.add(p)
	}
	a.finished, a.message = cmp.Or(first.FinishReason, a.finished), cmp.Or(first.FinishMessage, a.message)
	return nil
}

// add takes a part. Pieces of one text are put together; a signed one stands
// for itself, for its signature belongs to it alone.
func (a *answer) add(p part) {
	switch {
	case p.Call != nil:
		a.pieces = append(a.pieces, &piece{
			kind: partCall, mark: mark{partCall, p.Call.ID, p.Signature},
			call: llm.RawCall{ID: p.Call.ID, Name: p.Call.Name, Args: string(p.Call.Args)},
		})
		a.calls++
		a.Say(llm.SaidCall, p.Call.Name)
		a.Say(llm.SaidArgs, string(p.Call.Args))
		return
	case p.Text == nil && p.Signature == "":
		return // a kind of part that no tool of ours asks for
	}
	kind := partText
	if p.Thought {
		kind = partThought
	}
	at := a.last()
	if at == nil || at.kind != kind || at.mark.Signature != "" || p.Signature != "" {
		at = &piece{kind: kind, mark: mark{Part: kind, Signature: p.Signature}}
		a.pieces = append(a.pieces, at)
	}
	if p.Text != nil {
		at.text.WriteString(*p.Text)
		said := llm.SaidText
		if p.Thought {
			said = llm.SaidThinking
		}
		a.Say(said, *p.Text)
	}
}

func (a *answer) last() *piece {
	if len(a.pieces) == 0 {
		return nil
	}
	return a.pieces[len(a.pieces)-1]
}

// End decides whether the answer is complete and of use.
func (a *answer) End(err error) error {
	switch {
	case a.blocked != "" && len(a.pieces) == 0:
		return nil
	case a.finished == "" && err != nil:
		return err
	case a.finished == "":
		return llm.Unended(a.At, a.events, "finishReason")
	case a.calls == 0 && unreadable(a.finished):
		// What the model wrote is not given; asked again it writes another.
		return &llm.Fault{
			Kind: llm.BadAnswer, Provider: a.At.Provider,
			Detail: strings.TrimSpace(a.finished + " " + text.OneLine(a.message, 300)),
		}
	}
	return nil
}

func unreadable(reason string) bool {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		return true
	}
	return false
}

// Answer is what was gathered, in the common form.
func (a *answer) Answer() llm.Answer {
	return a.Settle(a.stop(), a.blocks())
}

func (a *answer) stop() llm.StopReason {
	switch a.finished {
	case "MAX_TOKENS":
		return llm.StopLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		return llm.StopRefusal
	}
	if a.blocked != "" {
		return llm.StopRefusal
	}
	return llm.StopEndTurn
}

// blocks turns the pieces into the common form, in their order: what is
// attached to a part comes before it.
func (a *answer) blocks() []llm.Block {
	var raw []llm.RawCall
	for _, p := range a.pieces {
		if p.kind == partCall {
			raw = append(raw, p.call)
		}
	}
	calls := llm.FinishCalls(a.Request, raw)
	if renamed(raw, calls) {
		for _, p := range a.pieces {
			p.mark.ID = "" // given back, they would not say which call is meant
		}
	}
	var out []llm.Block
	for _, p := range a.pieces {
		text := p.text.String()
		if p.mark.Signature != "" || p.mark.ID != "" || p.kind == partThought {
			opaque, _ := json.Marshal(p.mark) // strings always encode
			r := a.Reasoning(opaque, "")
			if p.kind == partThought {
				r.Text = text
			}
			out = append(out, r)
		}
		switch {
		case p.kind == partCall:
			out, calls = append(out, calls[0]), calls[1:]
		case p.kind == partText && text != "":
			out = append(out, llm.Text{Text: text})
		}
	}
	return out
}

// renamed tells whether a call's id came before in the conversation or was no
// id at all.
func renamed(raw []llm.RawCall, calls []llm.ToolUse) bool {
	for i := range raw {
		if raw[i].ID != calls[i].ID {
			return true
		}
	}
	return false
}
