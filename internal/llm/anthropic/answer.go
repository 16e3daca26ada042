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
	llm.Gathering
	blocks  []*block
	byIndex map[int]*block
	stop    string // the provider's stop reason
	stopped bool   // message_stop came
	events  int
}

// Whole takes an answer in one document.
func (a *answer) Whole(body []byte) error {
	var d document
	if err := a.Parse(body, &d); err != nil {
		return err
	}
	defer a.Tally.Read(body)
	if llm.Some(d.Error) {
		a.head(&d)
		if len(d.Content) > 0 {
			a.Tally.Said()
		}
		return llm.FromEvent(a.At, body)
	}
	if d.Content == nil && d.StopReason == "" {
		return llm.BadBody(a.At, http.StatusOK, body)
	}
	a.head(&d)
	a.stopped = true
	for i, raw := range d.Content {
		if _, err := a.open(i, raw); err != nil {
			return err
		}
	}
	return nil
}

// Take reads one event.
func (a *answer) Take(data []byte) error {
	var e event
	if err := a.Parse(data, &e); err != nil {
		return err
	}
	a.events++
	defer a.Tally.Read(data)
	switch e.Type {
	case "message_start":
		a.head(e.Message)
	case "content_block_start":
		_, err := a.open(e.Index, e.Block)
		return err
	case "content_block_delta":
		return a.delta(e)
	case "message_delta":
		a.stop = cmp.Or(e.Delta.StopReason, a.stop)
	case "message_stop":
		a.stopped = true
		return llm.ErrLeave
	default: // error, ping, content_block_stop and what is not known yet
		if e.Type == "error" || llm.Some(e.Error) {
			return llm.FromEvent(a.At, data)
		}
	}
	return nil
}

func (a *answer) head(d *document) {
	if d == nil {
		return
	}
	a.Named, a.stop = cmp.Or(d.Model, a.Named), cmp.Or(d.StopReason, a.stop)
}

// open adds the block at an index.
func (a *answer) open(index int, raw json.RawMessage) (*block, error) {
	b := &block{raw: raw}
	if len(raw) > 0 {
		if err := a.Parse(raw, b); err != nil {
			return nil, err
		}
	}
	switch b.Type {
	case "text":
		b.text.WriteString(b.Text)
		a.Say(llm.SaidText, b.Text)
	case "thinking":
		b.text.WriteString(b.Thinking)
		a.Say(llm.SaidThinking, b.Thinking)
	case "tool_use":
		a.Say(llm.SaidCall, b.Name)
	}
	if a.byIndex == nil {
		a.byIndex = map[int]*block{}
	}
	a.byIndex[index] = b
	a.Tally.Said()
	a.blocks = append(a.blocks, b)
	return b, nil
}

// delta adds a piece to its block; a piece of a block that was never opened
// opens it.
func (a *answer) delta(e event) error {
	b := a.byIndex[e.Index]
	if b == nil {
		var err error
		if b, err = a.open(e.Index, nil); err != nil {
			return err
		}
	}
	a.Tally.Said()
	d := e.Delta
	switch d.Type {
	case "text_delta":
		b.Type = cmp.Or(b.Type, "text")
		b.text.WriteString(d.Text)
		a.Say(llm.SaidText, d.Text)
	case "input_json_delta":
		b.Type = cmp.Or(b.Type, "tool_use")
		b.text.WriteString(d.PartialJSON)
		a.Say(llm.SaidArgs, d.PartialJSON)
	case "thinking_delta":
		b.Type = cmp.Or(b.Type, "thinking")
		b.text.WriteString(d.Thinking)
		a.Say(llm.SaidThinking, d.Thinking)
	case "signature_delta":
		b.Signature += d.Signature
	}
	return nil
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
	return llm.Unended(a.At, a.events, "stop_reason and message_stop")
}

// Answer is what was gathered, in the common form.
func (a *answer) Answer() llm.Answer {
	return a.Settle(stopReason(a.stop), a.canonical())
}

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
	calls := llm.FinishCalls(a.Request, raw)
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
			if opaque := b.record(); len(opaque) > 0 {
				out = append(out, a.Reasoning(opaque, b.text.String()))
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

// record is a block that is neither text nor a call as the provider wrote it.
func (b *block) record() []byte {
	if b.Type != "thinking" {
		return b.raw
	}
	opaque, _ := json.Marshal(struct { // strings always encode
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}{"thinking", b.text.String(), b.Signature})
	return opaque
}
