package anthropic

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"agency/internal/llm"
)

// event is any event of the stream, or a whole unstreamed message. Reasoning is
// kept as the provider wrote it, and what a compatible server leaves out must
// not cost the answer.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *document       `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Error   json.RawMessage `json:"error"`
}

type document struct {
	ID         string            `json:"id"`
	Type       string            `json:"type"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Error      json.RawMessage   `json:"error"`
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	PartialJSON string `json:"partial_json"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	StopReason  string `json:"stop_reason"`
}

// block gathers one content block.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`

	raw  json.RawMessage
	text strings.Builder // text, thinking or arguments, by type
}

// answer gathers one answer.
type answer struct {
	at        llm.Endpoint
	req       llm.Request
	blocks    []*block
	byIndex   map[int]*block
	stop      string // the provider's stop reason
	stopped   bool   // message_stop came
	events    int
	tally     llm.Tally
	model     string
	id        string
	requestID string
}

// Whole takes an answer in one document.
func (a *answer) Whole(body []byte, yield func(llm.Event, error) bool) (bool, error) {
	var d document
	if err := llm.Parsed(a.at, body, json.Unmarshal(body, &d)); err != nil {
		return false, err
	}
	defer a.tally.Read(body)
	if llm.Some(d.Error) {
		a.head(&d)
		if len(d.Content) > 0 {
			a.tally.Said()
		}
		return false, llm.FromEvent(a.at, body)
	}
	if d.Content == nil && d.StopReason == "" {
		return false, llm.BadBody(a.at, http.StatusOK, body)
	}
	a.head(&d)
	a.stopped = true
	for i, raw := range d.Content {
		b, err := a.open(i, raw)
		if err != nil {
			return false, err
		}
		for _, ev := range b.whole(a.callIndex(b)) {
			if !yield(ev, nil) {
				return true, nil
			}
		}
	}
	return false, nil
}

// whole are the deltas of a block that came in one piece.
func (b *block) whole(call int) []llm.Event {
	switch b.Type {
	case "text":
		return []llm.Event{llm.TextDelta{Text: b.Text}}
	case "thinking":
		return []llm.Event{llm.ReasoningDelta{Text: b.Thinking}}
	case "tool_use":
		return []llm.Event{llm.ToolDelta{Index: call, Name: b.Name, Args: string(b.Input)}}
	}
	return nil
}

// Take reads one event and hands its delta on.
func (a *answer) Take(data []byte, yield func(llm.Event, error) bool) (left bool, err error) {
	var e event
	if err := llm.Parsed(a.at, data, json.Unmarshal(data, &e)); err != nil {
		return false, err
	}
	a.events++
	defer a.tally.Read(data)
	switch e.Type {
	case "message_start":
		a.head(e.Message)
	case "content_block_start":
		return a.start(e, yield)
	case "content_block_delta":
		return a.delta(e, yield)
	case "message_delta":
		a.stop = cmp.Or(e.Delta.StopReason, a.stop)
	case "message_stop":
		a.stopped = true
		return false, llm.ErrLeave
	case "error":
		return false, llm.FromEvent(a.at, data)
	default: // ping, content_block_stop and what is not known yet
		if llm.Some(e.Error) {
			return false, llm.FromEvent(a.at, data)
		}
	}
	return false, nil
}

func (a *answer) head(d *document) {
	if d == nil {
		return
	}
	a.id, a.model, a.stop = cmp.Or(d.ID, a.id), cmp.Or(d.Model, a.model), cmp.Or(d.StopReason, a.stop)
}

// open adds the block at an index.
func (a *answer) open(index int, raw json.RawMessage) (*block, error) {
	b := &block{raw: raw}
	if len(raw) > 0 {
		if err := llm.Parsed(a.at, raw, json.Unmarshal(raw, b)); err != nil {
			return nil, err
		}
	}
	switch b.Type {
	case "text":
		b.text.WriteString(b.Text)
	case "thinking":
		b.text.WriteString(b.Thinking)
	}
	if a.byIndex == nil {
		a.byIndex = map[int]*block{}
	}
	a.byIndex[index] = b
	a.tally.Said()
	a.blocks = append(a.blocks, b)
	return b, nil
}

func (a *answer) start(e event, yield func(llm.Event, error) bool) (bool, error) {
	b, err := a.open(e.Index, e.Block)
	if err != nil {
		return false, err
	}
	switch {
	case b.Type == "tool_use":
		return !yield(llm.ToolDelta{Index: a.callIndex(b), Name: b.Name}, nil), nil
	case b.Type == "text" && b.Text != "":
		return !yield(llm.TextDelta{Text: b.Text}, nil), nil
	}
	return false, nil
}

// delta adds a piece to its block; a piece of a block that was never opened
// opens it.
func (a *answer) delta(e event, yield func(llm.Event, error) bool) (bool, error) {
	b := a.byIndex[e.Index]
	if b == nil {
		var err error
		if b, err = a.open(e.Index, nil); err != nil {
			return false, err
		}
	}
	a.tally.Said()
	d := e.Delta
	switch d.Type {
	case "text_delta":
		b.Type = cmp.Or(b.Type, "text")
		b.text.WriteString(d.Text)
		return !yield(llm.TextDelta{Text: d.Text}, nil), nil
	case "input_json_delta":
		b.Type = cmp.Or(b.Type, "tool_use")
		b.text.WriteString(d.PartialJSON)
		if b.Type == "tool_use" {
			return !yield(llm.ToolDelta{Index: a.callIndex(b), Name: b.Name, Args: d.PartialJSON}, nil), nil
		}
	case "thinking_delta":
		b.Type = cmp.Or(b.Type, "thinking")
		b.text.WriteString(d.Thinking)
		return !yield(llm.ReasoningDelta{Text: d.Thinking}, nil), nil
	case "signature_delta":
		b.Signature += d.Signature
	}
	return false, nil
}

// callIndex counts the calls before a block.
func (a *answer) callIndex(b *block) int {
	n := 0
	for _, c := range a.blocks {
		if c == b {
			break
		}
		if c.Type == "tool_use" {
			n++
		}
	}
	return n
}

// End decides whether the answer is complete: the wire always says why it
// stopped.
func (a *answer) End(err error) error {
	switch {
	case a.stopped, a.stop != "":
		return nil
	case err != nil:
		return err
	}
	return llm.Unended(a.at, a.events, "stop_reason and message_stop")
}

// Answer is what was gathered, in the common form.
func (a *answer) Answer() llm.Answer {
	return llm.Gathered{
		At: a.at, Request: a.req, Model: a.model, RequestID: cmp.Or(a.requestID, a.id),
		Raw: a.stop, Blocks: a.canonical(), Stop: stopReason(a.stop), Count: a.Count(),
	}.Answer()
}

// Model is the model as the server reports it.
func (a *answer) Model() string { return a.model }

func stopReason(s string) llm.StopReason {
	switch s {
	case "max_tokens":
		return llm.StopLength
	case "refusal":
		return llm.StopRefusal
	case "pause_turn":
		return llm.StopPause
	case "model_context_window_exceeded":
		return llm.StopContext
	}
	return llm.StopEndTurn
}

// canonical turns the blocks into the common form, in their order.
func (a *answer) canonical() []llm.Block {
	var raw []llm.RawCall
	for _, b := range a.blocks {
		if b.Type == "tool_use" {
			raw = append(raw, llm.RawCall{ID: b.ID, Name: b.Name, Args: b.args()})
		}
	}
	calls := llm.FinishCalls(a.req, raw)
	var out []llm.Block
	for _, b := range a.blocks {
		switch b.Type {
		case "text":
			if b.text.Len() > 0 {
				out = append(out, llm.Text{Text: b.text.String()})
			}
		case "tool_use":
			out, calls = append(out, calls[0]), calls[1:]
		default:
			if r, ok := b.reasoning(a.at.Provider, a.req.Model); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// args are the streamed arguments, or those that the opening of the block
// already held.
func (b *block) args() string {
	if b.text.Len() == 0 {
		return string(b.Input)
	}
	return b.text.String()
}

// reasoning keeps every block that is neither text nor a call as the provider
// wrote it.
func (b *block) reasoning(provider, model string) (llm.Reasoning, bool) {
	if b.Type != "thinking" {
		return llm.Reasoning{Provider: provider, Model: model, Opaque: llm.CanonicalJSON(b.raw)}, len(b.raw) > 0
	}
	opaque, err := json.Marshal(struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}{"thinking", b.text.String(), b.Signature})
	return llm.Reasoning{Provider: provider, Model: model, Opaque: llm.CanonicalJSON(opaque), Text: b.text.String()}, err == nil
}

// Count is the provider's count so far.
func (a *answer) Count() llm.Count { return a.tally.Count() }
