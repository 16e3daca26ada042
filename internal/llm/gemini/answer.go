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
	ID    string          `json:"responseId"`
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
	at       llm.Endpoint
	req      llm.Request
	pieces   []*piece
	calls    int
	finished string // the last finishReason
	message  string // the provider's words on it
	blocked  string
	events   int
	tally    llm.Tally
	// candidate is the one that is read: the lowest that came first.
	candidate int
	model     string
	id        string
}

// Whole takes a whole answer: a document, or the list of them that the wire
// gives where no events were asked for.
func (a *answer) Whole(body []byte, yield func(llm.Event, error) bool) (left bool, err error) {
	all := []json.RawMessage{body}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		if err := llm.Parsed(a.at, body, json.Unmarshal(body, &all)); err != nil {
			return false, err
		}
	}
	for _, one := range all {
		if left, err := a.Take(one, yield); left || err != nil {
			return left, err
		}
	}
	if a.events == 0 {
		return false, llm.BadBody(a.at, http.StatusOK, body)
	}
	a.finished = cmp.Or(a.finished, "STOP") // it came whole
	return false, a.End(nil)
}

// Take reads one chunk and hands its deltas on.
func (a *answer) Take(data []byte, yield func(llm.Event, error) bool) (left bool, err error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return false, llm.ErrLeave
	}
	var c chunk
	if err := llm.Parsed(a.at, data, json.Unmarshal(data, &c)); err != nil {
		return false, err
	}
	defer a.tally.Read(data)
	a.id, a.model = cmp.Or(c.ID, a.id), cmp.Or(c.Model, a.model)
	if llm.Some(c.Error) {
		if len(c.Candidates) > 0 {
			a.tally.Said()
		}
		return false, llm.FromEvent(a.at, data)
	}
	if len(c.Candidates) > 0 || llm.Some(c.Usage) || c.Feedback != nil {
		a.events++
	}
	if c.Feedback != nil {
		a.blocked = cmp.Or(c.Feedback.BlockReason, a.blocked)
	}
	if len(c.Candidates) == 0 {
		return false, nil
	}
	first := slices.MinFunc(c.Candidates, func(x, y candidate) int { return x.Index - y.Index })
	if a.events == 1 {
		a.candidate = first.Index
	}
	if first.Index != a.candidate {
		return false, nil // nobody asked for a second answer
	}
	if len(first.Content.Parts) > 0 {
		a.tally.Said()
	}
	for _, p := range first.Content.Parts {
		if ev := a.add(p); ev != nil && !yield(ev, nil) {
			return true, nil
		}
	}
	a.finished, a.message = cmp.Or(first.FinishReason, a.finished), cmp.Or(first.FinishMessage, a.message)
	return false, nil
}

// add takes a part. Pieces of one text are put together; a signed one stands
// for itself, for its signature belongs to it alone.
func (a *answer) add(p part) llm.Event {
	switch {
	case p.Call != nil:
		args := string(p.Call.Args)
		a.pieces = append(a.pieces, &piece{
			kind: partCall, mark: mark{partCall, p.Call.ID, p.Signature},
			call: llm.RawCall{ID: p.Call.ID, Name: p.Call.Name, Args: args},
		})
		a.calls++
		return llm.ToolDelta{Index: a.calls - 1, Name: p.Call.Name, Args: args}
	case p.Text == nil && p.Signature == "":
		return nil // a kind of part that no tool of ours asks for
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
	if p.Text == nil || *p.Text == "" {
		return nil
	}
	at.text.WriteString(*p.Text)
	if p.Thought {
		return llm.ReasoningDelta{Text: *p.Text}
	}
	return llm.TextDelta{Text: *p.Text}
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
		return llm.Unended(a.at, a.events, "finishReason")
	case a.calls == 0 && unreadable(a.finished):
		// What the model wrote is not given; asked again it writes another.
		return &llm.Fault{
			Kind: llm.BadAnswer, Provider: a.at.Provider,
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
	return llm.Gathered{
		At: a.at, Request: a.req, Model: a.model, RequestID: a.id,
		Raw: cmp.Or(a.finished, a.blocked), Blocks: a.blocks(), Stop: a.stop(), Count: a.Count(),
	}.Answer()
}

// Model is the model as the server reports it.
func (a *answer) Model() string { return a.model }

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
	calls := llm.FinishCalls(a.req, raw)
	if renamed(raw, calls) {
		for _, p := range a.pieces {
			p.mark.ID = "" // given back, they would not say which call is meant
		}
	}
	var out []llm.Block
	for _, p := range a.pieces {
		text := p.text.String()
		if p.mark.Signature != "" || p.mark.ID != "" || p.kind == partThought {
			r := a.reasoning(p.mark)
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

func (a *answer) reasoning(m mark) llm.Reasoning {
	opaque, _ := json.Marshal(m) // strings always encode
	return llm.Reasoning{Provider: a.at.Provider, Model: a.req.Model, Opaque: llm.CanonicalJSON(opaque)}
}

// Count is the provider's count so far.
func (a *answer) Count() llm.Count { return a.tally.Count() }
