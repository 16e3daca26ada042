package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"agency/internal/agency"
	"agency/internal/llm"
)

// chunk is a piece of a streamed answer, or a whole one.
type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   *struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	ID    string          `json:"responseId"`
	Error json.RawMessage `json:"error"`
}

type candidate struct {
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

// usage leaves out what is zero; a server that gives no total gives no cache
// figure either.
type usage struct {
	Prompt     int64  `json:"promptTokenCount"`
	Cached     *int64 `json:"cachedContentTokenCount"`
	Candidates int64  `json:"candidatesTokenCount"`
	Thoughts   int64  `json:"thoughtsTokenCount"`
	ToolPrompt int64  `json:"toolUsePromptTokenCount"`
	Total      int64  `json:"totalTokenCount"`
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
	usage    *usage
	model    string
	id       string
}

// read takes the answer in whatever form it came. left says that the caller
// has left the loop.
func (a *answer) read(res *http.Response, yield func(llm.Event, error) bool) (left bool, err error) {
	form, err := llm.Sniff(a.at, res)
	if err != nil {
		return false, err
	}
	if form == llm.FormJSON {
		return a.readJSON(res, yield)
	}
	err = llm.ReadEvents(res.Body, func(data []byte) error {
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return llm.ErrLeave
		}
		if left, err = a.take(data, yield); left {
			return llm.ErrLeave
		}
		return err
	})
	if left || a.finished == "" && err != nil {
		return left, err
	}
	return false, a.end()
}

// readJSON takes a whole answer: a document, or the list of them that the wire
// gives where no events were asked for.
func (a *answer) readJSON(res *http.Response, yield func(llm.Event, error) bool) (left bool, err error) {
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return false, err
	}
	all := []json.RawMessage{body}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		if err := json.Unmarshal(body, &all); err != nil {
			return false, a.broken(body, err)
		}
	}
	for _, one := range all {
		if left, err := a.take(one, yield); left || err != nil {
			return left, err
		}
	}
	if a.events == 0 {
		return false, llm.BadBody(a.at, res.StatusCode, body)
	}
	a.finished = either(a.finished, "STOP") // it came whole
	return false, a.end()
}

// take reads one chunk and hands its deltas on.
func (a *answer) take(data []byte, yield func(llm.Event, error) bool) (left bool, err error) {
	if len(data) == 0 {
		return false, nil
	}
	var c chunk
	var wrongType *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &c); err != nil && !errors.As(err, &wrongType) {
		return false, a.broken(data, err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return false, llm.FromEvent(a.at, data)
	}
	if len(c.Candidates) > 0 || c.Usage != nil || c.Feedback != nil {
		a.events++
	}
	a.id, a.model = either(c.ID, a.id), either(c.Model, a.model)
	if c.Usage != nil {
		a.usage = c.Usage
	}
	if c.Feedback != nil {
		a.blocked = either(c.Feedback.BlockReason, a.blocked)
	}
	if len(c.Candidates) == 0 {
		return false, nil
	}
	first := c.Candidates[0]
	for _, p := range first.Content.Parts {
		if ev := a.add(p); ev != nil && !yield(ev, nil) {
			return true, nil
		}
	}
	a.finished, a.message = either(first.FinishReason, a.finished), either(first.FinishMessage, a.message)
	return false, nil
}

// broken names JSON that does not parse: half of it is a stream that was cut.
func (a *answer) broken(data []byte, err error) error {
	if strings.Contains(err.Error(), "unexpected end of JSON input") {
		return &llm.Fault{Kind: llm.StreamCut, Provider: a.at.Provider, Detail: "within an event"}
	}
	return llm.BadBody(a.at, http.StatusOK, data)
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

// end decides whether the answer is complete and of use.
func (a *answer) end() error {
	switch {
	case a.blocked != "" && len(a.pieces) == 0:
		return nil
	case a.events == 0:
		return &llm.Fault{Kind: llm.BadAnswer, Provider: a.at.Provider, Detail: "no event in the answer"}
	case a.finished == "":
		return &llm.Fault{Kind: llm.StreamCut, Provider: a.at.Provider, Detail: "ended without finishReason"}
	case a.calls == 0 && unreadable(a.finished):
		// What the model wrote is not given; asked again it writes another.
		return &llm.Fault{
			Kind: llm.BadAnswer, Provider: a.at.Provider,
			Detail: strings.TrimSpace(a.finished + " " + llm.OneLine(a.message)),
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

func (a *answer) finish() llm.Answer {
	out := llm.Answer{
		Provider: a.at.Provider, Model: either(a.model, a.req.Model),
		RequestID: a.id, Raw: either(a.finished, a.blocked),
	}
	out.Message.Role = llm.Assistant
	out.Message.Blocks = a.blocks()
	out.Stop = llm.FinishStop(a.stop(), out.Message.Blocks)
	out.Usage, out.CacheKnown = a.count(out.Message)
	return out
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

// count takes the provider's usage, or estimates from bytes. Thoughts are paid
// for as output.
func (a *answer) count(m llm.Message) (agency.Usage, bool) {
	u := a.usage
	if u == nil || u.Prompt == 0 && u.Candidates == 0 && u.Thoughts == 0 {
		return llm.EstimateUsage(a.req, m), false
	}
	out := agency.Usage{In: u.Prompt + u.ToolPrompt, Out: u.Candidates + u.Thoughts}
	if u.Cached == nil {
		return out, u.Total > 0
	}
	out.Cached = min(*u.Cached, out.In)
	return out, true
}
