package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
)

// responsesWire is OpenAI's responses API, used without state.
type responsesWire struct{}

func (responsesWire) name() string { return "responses" }

type responsesRequest struct {
	Model        string   `json:"model"`
	Stream       bool     `json:"stream"`
	Store        *bool    `json:"store"`
	Include      []string `json:"include"`
	Instructions string   `json:"instructions"`
	MaxOutput    int64    `json:"max_output_tokens"`
	Input        []inItem `json:"input"`
	Tools        []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
}

type inItem struct {
	Type      string   `json:"type"`
	Role      string   `json:"role"`
	Content   partList `json:"content"`
	CallID    string   `json:"call_id"`
	Name      string   `json:"name"`
	Arguments string   `json:"arguments"`
	Output    loose    `json:"output"`
	ID        string   `json:"id"`
	Encrypted string   `json:"encrypted_content"`
}

func (responsesWire) read(body []byte) (llm.Request, bool, error) {
	var in responsesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Request{}, false, err
	}
	req := llm.Request{Model: in.Model, MaxOutput: in.MaxOutput, System: in.Instructions}
	if in.Store == nil || *in.Store {
		return req, false, errors.New("store: this organisation keeps no responses; want false")
	}
	for _, t := range in.Tools {
		if t.Type != "function" || t.Name == "" {
			return req, false, errors.New("tools: want functions with a name")
		}
		req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	c := items{conversation: conversation{open: map[string]bool{}}}
	for i, item := range in.Input {
		if err := c.item(item); err != nil {
			return req, false, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if err := c.end(); err != nil {
		return req, false, err
	}
	req.Messages = c.messages
	return req, in.Stream, nil
}

// items gathers what one answer consisted of.
type items struct {
	conversation
	answer   []llm.Block
	reasoned bool // a reasoning item waits for what follows it
}

func (c *items) item(in inItem) error {
	switch {
	case in.Type == "reasoning":
		if !strings.HasPrefix(in.Encrypted, "rehearsal/") {
			return fmt.Errorf("item %q not found: items are not persisted when store is false", in.ID)
		}
		c.reasoned = true
		return nil
	case in.Type == "function_call":
		args, invalid := llm.CheckArgs(in.Arguments)
		c.answer, c.reasoned = append(c.answer, llm.ToolUse{ID: in.CallID, Name: in.Name, Args: args, Invalid: invalid}), false
		return nil
	case (in.Type == "message" || in.Type == "") && in.Role == "assistant":
		c.answer, c.reasoned = append(c.answer, llm.Text{Text: in.Content.words()}), false
		return nil
	}
	if err := c.close(); err != nil {
		return err
	}
	switch {
	case in.Type == "function_call_output":
		return c.result(llm.ToolResult{ID: in.CallID, Text: string(in.Output)})
	case (in.Type == "message" || in.Type == "") && in.Role == "user":
		if err := c.whole(); err != nil {
			return err
		}
		for _, b := range in.Content {
			c.user(b)
		}
		return nil
	}
	return fmt.Errorf("no item of type %q and role %q", in.Type, in.Role)
}

// close ends the answer that was being gathered.
func (c *items) close() error {
	if c.reasoned {
		return errors.New("an item of type reasoning was provided without its required following item")
	}
	if len(c.answer) == 0 {
		return nil
	}
	answer := c.answer
	c.answer = nil
	return c.assistant(answer)
}

func (c *items) end() error {
	if err := c.close(); err != nil {
		return err
	}
	return c.whole()
}

// outItem is an item of an answer.
type outItem struct {
	Type      string       `json:"type"`
	ID        string       `json:"id,omitempty"`
	Status    string       `json:"status,omitempty"`
	Role      string       `json:"role,omitempty"`
	Content   []outText    `json:"content,omitempty"`
	Summary   *[]outText   `json:"summary,omitempty"`
	Encrypted string       `json:"encrypted_content,omitempty"`
	CallID    string       `json:"call_id,omitempty"`
	Name      string       `json:"name,omitempty"`
	Arguments *responseArg `json:"arguments,omitempty"`
}

type outText struct {
	Type    string `json:"type"`
	Text    string `json:"text,omitempty"`
	Refusal string `json:"refusal,omitempty"`
}

// responseArg is a string that a careless server sends as an object.
type responseArg = chatArgs

// outResponse is the answer as a whole.
type outResponse struct {
	ID         string          `json:"id,omitempty"`
	Object     string          `json:"object"`
	Status     string          `json:"status"`
	Model      string          `json:"model,omitempty"`
	Output     []outItem       `json:"output"`
	Incomplete *outIncomplete  `json:"incomplete_details"`
	Usage      *responsesUsage `json:"usage,omitempty"`
}

type outIncomplete struct {
	Reason string `json:"reason"`
}

type responsesUsage struct {
	Input   int64           `json:"input_tokens"`
	Cached  *outCached      `json:"input_tokens_details,omitempty"`
	Output  int64           `json:"output_tokens"`
	Details *outReasonCount `json:"output_tokens_details,omitempty"`
	Total   int64           `json:"total_tokens"`
}

type outCached struct {
	Cached int64 `json:"cached_tokens"`
	Write  int64 `json:"cache_write_tokens,omitempty"`
}

type outReasonCount struct {
	Reasoning int64 `json:"reasoning_tokens"`
}

func (responsesWire) items(t rehearsal.Take) []outItem {
	var out []outItem
	if t.Reasoning != "" {
		out = append(out, outItem{
			Type: "reasoning", ID: "rs_" + t.Hash[:24], Summary: &[]outText{{Type: "summary_text", Text: t.Reasoning}}, Encrypted: signature(t),
		})
	}
	switch {
	case t.Stop == llm.StopRefusal && t.Text != "":
		out = append(out, outItem{
			Type: "message", ID: "msg_" + t.Hash[:24], Status: "completed", Role: "assistant",
			Content: []outText{{Type: "refusal", Refusal: t.Text}},
		})
	case t.Text != "":
		out = append(out, outItem{
			Type: "message", ID: "msg_" + t.Hash[:24], Status: "completed", Role: "assistant",
			Content: []outText{{Type: "output_text", Text: t.Text}},
		})
	}
	for i, c := range t.Calls {
		args := responseArg(c.Args)
		if t.Has("object_args") {
			args = "\x00" + args
		}
		item := outItem{Type: "function_call", ID: fmt.Sprintf("fc_%d_%s", i, t.Hash[:20]), Status: "completed", CallID: c.ID, Name: c.Name, Arguments: &args}
		if t.Has("no_call_id") {
			item.CallID = ""
		}
		out = append(out, item)
	}
	if t.Has("no_id") {
		for i := range out {
			out[i].ID = ""
		}
	}
	return out
}

func (w responsesWire) response(t rehearsal.Take, status string, items []outItem) outResponse {
	r := outResponse{ID: "resp_" + t.Hash[:24], Object: "response", Status: status, Model: t.Model, Output: items}
	if t.Has("no_id") {
		r.ID, r.Model = "", ""
	}
	if items == nil {
		r.Output = []outItem{}
		return r
	}
	if !t.Has("no_usage") {
		r.Usage = &responsesUsage{Input: t.Usage.In, Output: t.Usage.Out, Total: t.Usage.In + t.Usage.Out}
		if t.Reasoning != "" {
			r.Usage.Details = &outReasonCount{t.Usage.Out / 2}
		}
		if !t.Has("no_cache_usage") {
			r.Usage.Cached = &outCached{t.Usage.Cached, t.Usage.CacheWrite}
		}
	}
	switch t.Stop {
	case llm.StopLength, llm.StopContext:
		r.Status, r.Incomplete = "incomplete", &outIncomplete{"max_output_tokens"}
	case llm.StopRefusal:
		if t.Text == "" {
			r.Status, r.Incomplete = "incomplete", &outIncomplete{"content_filter"}
		}
	}
	return r
}

// outEvent is any event of the stream.
type outEvent struct {
	Type     string       `json:"type"`
	Sequence int          `json:"sequence_number"`
	Response *outResponse `json:"response,omitempty"`
	Index    *int         `json:"output_index,omitempty"`
	ItemID   string       `json:"item_id,omitempty"`
	Item     *outItem     `json:"item,omitempty"`
	Delta    string       `json:"delta,omitempty"`
}

func (w responsesWire) frames(t rehearsal.Take) []frame {
	var out []frame
	send := func(kind frameKind, ev outEvent) {
		ev.Sequence = len(out)
		if t.Has("comments") {
			out = append(out, frame{data: []byte(": keep-alive\n\n")})
		}
		out = append(out, frame{event(ev.Type, ev), kind})
	}
	begun := w.response(t, "in_progress", nil)
	send(frameOther, outEvent{Type: "response.created", Response: &begun})
	items := w.items(t)
	for i, item := range items {
		index := &i
		if t.Has("no_index") {
			index = nil
		}
		w.itemFrames(t, item, index, send)
	}
	whole := w.response(t, "completed", items)
	if t.Has("no_done") {
		whole.Output = []outItem{}
	}
	if !t.Has("no_finish") {
		send(frameOther, outEvent{Type: "response." + whole.Status, Response: &whole})
	}
	if t.Has("no_finish") { // what a half compatible server sends instead
		out = append(out, frame{data: []byte("data: [DONE]\n\n")})
	}
	return out
}

// itemFrames are the events of one item: its beginning without content, the
// pieces, the whole.
func (w responsesWire) itemFrames(t rehearsal.Take, item outItem, index *int, send func(frameKind, outEvent)) {
	head, name, text, kind := item, "", "", frameOther
	switch item.Type {
	case "reasoning":
		head.Summary, head.Encrypted = &[]outText{}, ""
		name, text = "response.reasoning_summary_text.delta", t.Reasoning
	case "message":
		head.Content, head.Status = nil, "in_progress"
		name, text, kind = "response.output_text.delta", item.Content[0].Text, frameText
		if item.Content[0].Type == "refusal" {
			name, text = "response.refusal.delta", item.Content[0].Refusal
		}
	case "function_call":
		empty := responseArg("")
		head.Arguments, head.Status = &empty, "in_progress"
		name, text, kind = "response.function_call_arguments.delta", strings.TrimPrefix(string(*item.Arguments), "\x00"), frameArgs
	}
	send(frameOther, outEvent{Type: "response.output_item.added", Index: index, Item: &head})
	if !t.Has("whole_args") || item.Type != "function_call" {
		for _, s := range t.Split(text) {
			send(kind, outEvent{Type: name, Index: index, ItemID: item.ID, Delta: s})
		}
	}
	send(frameOther, outEvent{Type: "response.output_item.done", Index: index, Item: &item})
}

func (w responsesWire) document(t rehearsal.Take) []byte {
	return encode(w.response(t, "completed", w.items(t)))
}

func (responsesWire) failure(kind, code, message string) []byte {
	return openaiWire{}.failure(kind, code, message)
}
