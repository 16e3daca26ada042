package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"agency/internal/llm"
)

// responseEvent is any event of the stream.
type responseEvent struct {
	Type     string          `json:"type"`
	Response *responseDoc    `json:"response"`
	Index    *int            `json:"output_index"`
	ItemID   string          `json:"item_id"`
	Item     json.RawMessage `json:"item"`
	Delta    flexText        `json:"delta"`
	Error    json.RawMessage `json:"error"`
}

// responseDoc is the answer as a whole.
type responseDoc struct {
	Status     string            `json:"status"`
	Model      string            `json:"model"`
	Output     []json.RawMessage `json:"output"`
	Error      json.RawMessage   `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// outputItem is an item of the answer. What arrives in pieces is gathered
// beside it, for servers that never say the whole.
type outputItem struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Content []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Arguments flexText `json:"arguments"`

	raw   json.RawMessage
	index int
	whole bool // the item's own end came
	text  strings.Builder
	args  strings.Builder
	no    strings.Builder // a refusal
}

// response gathers one answer.
type response struct {
	llm.Gathering
	items  []*outputItem
	doc    responseDoc
	ended  bool // the event that ends the answer came
	marked bool // [DONE] came
	events int
}

// Whole takes an answer in one document.
func (a *response) Whole(body []byte) error {
	var d responseDoc
	if err := a.Parse(body, &d); err != nil {
		return err
	}
	defer a.Tally.Read(body)
	if d.Output == nil && d.Status == "" && !llm.Some(d.Error) {
		return llm.BadBody(a.At, http.StatusOK, body)
	}
	return a.close(&d, body)
}

// Take reads one event.
func (a *response) Take(data []byte) error {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		a.marked = true
		return llm.ErrLeave
	}
	var e responseEvent
	if err := a.Parse(data, &e); err != nil {
		return err
	}
	a.events++
	defer a.Tally.Read(data)
	switch e.Type {
	case "response.created", "response.in_progress":
		if e.Response != nil {
			a.Named = e.Response.Model
		}
	case "response.output_item.added":
		_, err := a.open(e)
		return err
	case "response.output_item.done":
		return a.done(e)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		a.ended = true
		return cmp.Or(a.close(e.Response, data), llm.ErrLeave)
	default:
		if e.Type == "error" || llm.Some(e.Error) {
			return llm.FromEvent(a.At, data)
		}
		a.delta(e)
	}
	return nil
}

// delta adds a piece to its item.
func (a *response) delta(e responseEvent) {
	piece := string(e.Delta)
	it := a.find(e)
	if piece == "" || it == nil {
		return
	}
	a.Tally.Said()
	switch e.Type {
	case "response.output_text.delta":
		it.text.WriteString(piece)
		a.Say(llm.SaidText, piece)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		it.text.WriteString(piece)
		a.Say(llm.SaidThinking, piece)
	case "response.refusal.delta":
		it.no.WriteString(piece)
		a.Say(llm.SaidText, piece)
	case "response.function_call_arguments.delta":
		it.args.WriteString(piece)
		a.Say(llm.SaidArgs, piece)
	}
}

// find is the item that an event belongs to: by its place, by its id, else the
// one that is open.
func (a *response) find(e responseEvent) *outputItem {
	for i := len(a.items) - 1; i >= 0; i-- {
		it := a.items[i]
		if e.Index != nil && it.index == *e.Index || e.Index == nil && e.ItemID != "" && it.ID == e.ItemID {
			return it
		}
	}
	if e.Index == nil && len(a.items) > 0 {
		return a.items[len(a.items)-1]
	}
	return nil
}

func (a *response) open(e responseEvent) (*outputItem, error) {
	it := &outputItem{index: len(a.items)}
	if e.Index != nil {
		it.index = *e.Index
	}
	if err := a.fill(it, e.Item); err != nil {
		return nil, err
	}
	a.items = append(a.items, it)
	a.Tally.Said()
	a.Say(llm.SaidCall, it.Name)
	return it, nil
}

func (a *response) fill(it *outputItem, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	it.raw = raw
	return a.Parse(raw, it)
}

// done takes an item as its server says it is complete.
func (a *response) done(e responseEvent) error {
	it := a.find(e)
	if it == nil || it.whole {
		opened, err := a.open(e)
		if err != nil {
			return err
		}
		it = opened
	}
	it.whole = true
	a.Tally.Said()
	return a.fill(it, e.Item)
}

// close takes the answer as a whole. Its list of items wins over what was
// gathered, where there is one.
func (a *response) close(d *responseDoc, data []byte) error {
	if d == nil {
		return nil
	}
	a.Named = cmp.Or(d.Model, a.Named)
	if len(d.Output) > 0 {
		a.Tally.Said()
	}
	if llm.Some(d.Error) || d.Status == "failed" {
		return a.failed(d, data)
	}
	a.doc = *d
	a.ended = true
	if len(d.Output) == 0 {
		return nil
	}
	a.items = nil
	for i, raw := range d.Output {
		it := &outputItem{index: i, whole: true}
		if err := a.fill(it, raw); err != nil {
			return err
		}
		a.items = append(a.items, it)
	}
	return nil
}

func (a *response) failed(d *responseDoc, data []byte) error {
	if !llm.Some(d.Error) {
		return llm.FromEvent(a.At, data)
	}
	wrapped := append(append([]byte(`{"error":`), d.Error...), '}')
	return llm.FromEvent(a.At, wrapped)
}

// End decides whether the answer is complete.
func (a *response) End(err error) error {
	open := slices.ContainsFunc(a.items, func(it *outputItem) bool { return !it.whole })
	switch {
	case a.ended, a.marked && !open && len(a.items) > 0:
		return nil
	case err != nil:
		return err
	}
	return llm.Unended(a.At, a.events, "response.completed")
}

// Answer is what was gathered, in the common form.
func (a *response) Answer() llm.Answer {
	return a.Settle(a.stop(), a.blocks())
}

func (a *response) stop() llm.StopReason {
	if slices.ContainsFunc(a.items, func(it *outputItem) bool { return it.refusal() != "" }) {
		return llm.StopRefusal
	}
	switch {
	case a.doc.Incomplete == nil:
	case a.doc.Incomplete.Reason == "content_filter":
		return llm.StopRefusal
	case strings.HasPrefix(a.doc.Incomplete.Reason, "max_"):
		return llm.StopLength
	}
	return llm.StopEndTurn
}

// blocks turns the items into the common form, in their order. Reasoning stays
// as the server wrote it.
func (a *response) blocks() []llm.Block {
	var raw []llm.RawCall
	for _, it := range a.items {
		if it.Type == "function_call" {
			raw = append(raw, llm.RawCall{ID: it.CallID, Name: it.Name, Args: it.arguments()})
		}
	}
	calls := llm.FinishCalls(a.Request, raw)
	var out []llm.Block
	for _, it := range a.items {
		switch it.Type {
		case "function_call":
			out, calls = append(out, calls[0]), calls[1:]
		case "reasoning":
			out = append(out, a.Reasoning(it.raw, it.thought()))
		default:
			text := it.words()
			if text == "" {
				text = it.refusal()
			}
			if text != "" {
				out = append(out, llm.Text{Text: text})
			}
		}
	}
	return out
}

func (it *outputItem) arguments() string {
	if it.Arguments != "" {
		return string(it.Arguments)
	}
	return it.args.String()
}

func (it *outputItem) words() string {
	var out strings.Builder
	for _, c := range it.Content {
		out.WriteString(c.Text)
	}
	if out.Len() == 0 {
		return it.text.String()
	}
	return out.String()
}

func (it *outputItem) refusal() string {
	var out strings.Builder
	for _, c := range it.Content {
		out.WriteString(c.Refusal)
	}
	if out.Len() == 0 {
		return it.no.String()
	}
	return out.String()
}

func (it *outputItem) thought() string {
	var parts []string
	for _, s := range it.Summary {
		parts = append(parts, s.Text)
	}
	if len(parts) == 0 {
		return it.text.String()
	}
	return strings.Join(parts, "\n\n")
}
