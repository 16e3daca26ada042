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
	ID         string            `json:"id"`
	Object     string            `json:"object"`
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
	at        llm.Endpoint
	req       llm.Request
	items     []*outputItem
	doc       responseDoc
	ended     bool // the event that ends the answer came
	marked    bool // [DONE] came
	events    int
	tally     llm.Tally
	requestID string
}

// Whole takes an answer in one document.
func (a *response) Whole(body []byte, yield func(llm.Event, error) bool) (bool, error) {
	var d responseDoc
	if err := llm.Parsed(a.at, body, json.Unmarshal(body, &d)); err != nil {
		return false, err
	}
	defer a.tally.Read(body)
	if d.Output == nil && d.Status == "" && !llm.Some(d.Error) {
		return false, llm.BadBody(a.at, http.StatusOK, body)
	}
	if err := a.close(&d, body); err != nil {
		return false, err
	}
	calls := 0
	for _, it := range a.items {
		for _, ev := range it.deltas(calls) {
			if !yield(ev, nil) {
				return true, nil
			}
		}
		if it.Type == "function_call" {
			calls++
		}
	}
	return false, nil
}

// deltas are those of an item that came in one piece.
func (it *outputItem) deltas(call int) []llm.Event {
	switch it.Type {
	case "message":
		return []llm.Event{llm.TextDelta{Text: it.words()}}
	case "reasoning":
		return []llm.Event{llm.ReasoningDelta{Text: it.thought()}}
	case "function_call":
		return []llm.Event{llm.ToolDelta{Index: call, Name: it.Name, Args: string(it.Arguments)}}
	}
	return nil
}

// Take reads one event and hands its delta on.
func (a *response) Take(data []byte, yield func(llm.Event, error) bool) (left bool, err error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		a.marked = true
		return false, llm.ErrLeave
	}
	var e responseEvent
	if err := llm.Parsed(a.at, data, json.Unmarshal(data, &e)); err != nil {
		return false, err
	}
	a.events++
	defer a.tally.Read(data)
	switch e.Type {
	case "response.created", "response.in_progress":
		if e.Response != nil {
			a.doc.ID, a.doc.Model = e.Response.ID, e.Response.Model
		}
	case "response.output_item.added":
		it, err := a.open(e)
		if err != nil || it.Type != "function_call" {
			return false, err
		}
		return !yield(llm.ToolDelta{Index: a.callIndex(it), Name: it.Name}, nil), nil
	case "response.output_item.done":
		return a.done(e, yield)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		a.ended = true
		return false, cmp.Or(a.close(e.Response, data), llm.ErrLeave)
	case "error":
		return false, llm.FromEvent(a.at, data)
	default:
		if llm.Some(e.Error) {
			return false, llm.FromEvent(a.at, data)
		}
		return a.delta(e, yield), nil
	}
	return false, nil
}

// delta adds a piece to its item.
func (a *response) delta(e responseEvent, yield func(llm.Event, error) bool) (left bool) {
	piece := string(e.Delta)
	it := a.find(e)
	if piece == "" || it == nil {
		return false
	}
	a.tally.Said()
	switch e.Type {
	case "response.output_text.delta":
		it.text.WriteString(piece)
		return !yield(llm.TextDelta{Text: piece}, nil)
	case "response.refusal.delta":
		it.no.WriteString(piece)
	case "response.function_call_arguments.delta":
		it.args.WriteString(piece)
		return !yield(llm.ToolDelta{Index: a.callIndex(it), Name: it.Name, Args: piece}, nil)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		it.text.WriteString(piece)
		return !yield(llm.ReasoningDelta{Text: piece}, nil)
	}
	return false
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
	a.tally.Said()
	return it, nil
}

func (a *response) fill(it *outputItem, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	it.raw = raw
	return llm.Parsed(a.at, raw, json.Unmarshal(raw, it))
}

// done takes an item as its server says it is complete.
func (a *response) done(e responseEvent, yield func(llm.Event, error) bool) (left bool, err error) {
	it := a.find(e)
	if it == nil || it.whole {
		if it, err = a.open(e); err != nil {
			return false, err
		}
	}
	it.whole = true
	a.tally.Said()
	if err := a.fill(it, e.Item); err != nil {
		return false, err
	}
	if it.Type == "function_call" && it.args.Len() == 0 && it.Arguments != "" {
		return !yield(llm.ToolDelta{Index: a.callIndex(it), Name: it.Name, Args: string(it.Arguments)}, nil), nil
	}
	return false, nil
}

// callIndex counts the calls before an item.
func (a *response) callIndex(it *outputItem) int {
	n := 0
	for _, before := range a.items {
		if before == it {
			break
		}
		if before.Type == "function_call" {
			n++
		}
	}
	return n
}

// close takes the answer as a whole. Its list of items wins over what was
// gathered, where there is one.
func (a *response) close(d *responseDoc, data []byte) error {
	if d == nil {
		return nil
	}
	d.ID, d.Model = cmp.Or(d.ID, a.doc.ID), cmp.Or(d.Model, a.doc.Model)
	if len(d.Output) > 0 {
		a.tally.Said()
	}
	if llm.Some(d.Error) || d.Status == "failed" {
		a.doc.ID, a.doc.Model = d.ID, d.Model
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
		return llm.FromEvent(a.at, data)
	}
	wrapped := append(append([]byte(`{"error":`), d.Error...), '}')
	return llm.FromEvent(a.at, wrapped)
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
	return llm.Unended(a.at, a.events, "response.completed")
}

// Answer is what was gathered, in the common form.
func (a *response) Answer() llm.Answer {
	g := llm.Gathered{
		At: a.at, Request: a.req, Model: a.doc.Model, RequestID: cmp.Or(a.doc.ID, a.requestID),
		Raw: a.doc.Status, Blocks: a.blocks(), Stop: a.stop(), Count: a.Count(),
	}
	if a.doc.Incomplete != nil {
		g.Raw = a.doc.Incomplete.Reason
	}
	return g.Answer()
}

// Model is the model as the server reports it.
func (a *response) Model() string { return a.doc.Model }

// Count is the server's count so far.
func (a *response) Count() llm.Count { return a.tally.Count() }

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
	calls := llm.FinishCalls(a.req, raw)
	var out []llm.Block
	for _, it := range a.items {
		switch it.Type {
		case "function_call":
			out, calls = append(out, calls[0]), calls[1:]
		case "reasoning":
			out = append(out, llm.Reasoning{Provider: a.at.Provider, Model: a.req.Model, Opaque: llm.CanonicalJSON(it.raw), Text: it.thought()})
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
