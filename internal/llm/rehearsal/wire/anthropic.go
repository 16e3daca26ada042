package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
)

// anthropicWire is messages.
type anthropicWire struct{}

func (anthropicWire) name() string { return "anthropic" }

type messagesRequest struct {
	Model     string `json:"model"`
	Stream    bool   `json:"stream"`
	MaxTokens int64  `json:"max_tokens"`
	System    loose  `json:"system"`
	Thinking  struct {
		Type   string `json:"type"`
		Budget int64  `json:"budget_tokens"`
	} `json:"thinking"`
	Messages []struct {
		Role    string    `json:"role"`
		Content blockList `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
}

// blockList is a list of blocks or a string that stands for one text block.
type blockList []inBlock

type inBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   blockList       `json:"content"`
	Source    struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
		Data  string `json:"data"`
	} `json:"source"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
}

func (l *blockList) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*l = blockList{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(data, (*[]inBlock)(l))
}

func (anthropicWire) read(body []byte) (llm.Request, bool, error) {
	var in messagesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Request{}, false, err
	}
	req := llm.Request{Model: in.Model, MaxOutput: in.MaxTokens, System: string(in.System)}
	if in.MaxTokens <= 0 {
		return req, false, errors.New("max_tokens: want a number from 1")
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	if n := strings.Count(string(body), `"cache_control"`); n > 4 {
		return req, false, fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", n)
	}
	if err := in.checkThinking(); err != nil {
		return req, false, err
	}
	c := conversation{open: map[string]bool{}}
	for i, m := range in.Messages {
		if err := c.message(m.Role, m.Content); err != nil {
			return req, false, fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if err := c.whole(); err != nil {
		return req, false, err
	}
	req.Messages = c.messages
	return req, in.Stream, nil
}

// checkThinking refuses what the vendor refuses while a model shall think.
func (in messagesRequest) checkThinking() error {
	if in.Thinking.Type != "enabled" {
		return nil
	}
	if b := in.Thinking.Budget; b < 1024 || b >= in.MaxTokens {
		return errors.New("thinking.budget_tokens: want at least 1024 and less than max_tokens")
	}
	for i := len(in.Messages) - 1; i >= 0; i-- {
		m := in.Messages[i]
		if m.Role != "assistant" {
			continue
		}
		for _, b := range m.Content {
			if b.Type == "tool_use" && !strings.HasSuffix(m.Content[0].Type, "thinking") {
				return fmt.Errorf("messages.%d.content.0.type: expected thinking or redacted_thinking, found %s", i, m.Content[0].Type)
			}
		}
		break
	}
	return nil
}

// message takes one message of the wire.
func (c *conversation) message(role string, blocks []inBlock) error {
	if len(blocks) == 0 {
		return errors.New("content is empty")
	}
	var answer []llm.Block
	for i, b := range blocks {
		switch {
		case b.Type == "text" && strings.TrimSpace(b.Text) == "":
			return fmt.Errorf("content.%d: text content blocks must contain non-whitespace text", i)
		case b.Type == "text" && role == "user":
			if len(c.open) > 0 {
				return c.whole()
			}
			c.user(llm.Text{Text: b.Text})
		case b.Type == "tool_result" && role == "user":
			if err := c.results(b); err != nil {
				return fmt.Errorf("content.%d: %w", i, err)
			}
		case b.Type == "image" && role == "user":
			shown, err := b.picture()
			if err != nil {
				return fmt.Errorf("content.%d: %w", i, err)
			}
			c.user(shown)
		case b.Type == "text" && role == "assistant":
			answer = append(answer, llm.Text{Text: b.Text})
		case b.Type == "tool_use" && role == "assistant":
			args, invalid := llm.CheckArgs(string(b.Input))
			if invalid != "" {
				return fmt.Errorf("content.%d.input: want an object", i)
			}
			answer = append(answer, llm.ToolUse{ID: b.ID, Name: b.Name, Args: args})
		case (b.Type == "thinking" || b.Type == "redacted_thinking") && role == "assistant":
			// Reasoning takes no part in what the player answers.
			if !strings.HasPrefix(b.Signature+b.Data, "rehearsal/") {
				return fmt.Errorf("content.%d: invalid signature in %s block", i, b.Type)
			}
		default:
			return fmt.Errorf("content.%d: no block of type %q in a message of role %q", i, b.Type, role)
		}
	}
	if role != "assistant" {
		return nil
	}
	return c.assistant(answer)
}

// results takes a result, whose content is text and pictures.
func (c *conversation) results(b inBlock) error {
	var text string
	var shown []llm.Block
	for _, p := range b.Content {
		if p.Type != "image" {
			text += p.Text
			continue
		}
		i, err := p.picture()
		if err != nil {
			return err
		}
		i.Of = b.ToolUseID
		shown = append(shown, i)
	}
	if err := c.result(llm.ToolResult{ID: b.ToolUseID, Text: text, IsError: b.IsError}); err != nil {
		return err
	}
	for _, i := range shown {
		c.user(i)
	}
	return nil
}

func (b inBlock) picture() (llm.Image, error) {
	if b.Source.Type != "base64" {
		return llm.Image{}, fmt.Errorf("source.type %q: only base64 is taken here", b.Source.Type)
	}
	return picture(b.Source.Media, b.Source.Data)
}

// The events of a stream. Each type has the fields of its event alone.
type (
	startEvent struct {
		Type    string      `json:"type"`
		Message outDocument `json:"message"`
	}
	blockStart struct {
		Type  string   `json:"type"`
		Index int      `json:"index"`
		Block outBlock `json:"content_block"`
	}
	blockDelta struct {
		Type  string   `json:"type"`
		Index int      `json:"index"`
		Delta outDelta `json:"delta"`
	}
	blockStop struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	endEvent struct {
		Type  string    `json:"type"`
		Delta outStop   `json:"delta"`
		Usage *outUsage `json:"usage,omitempty"`
	}
	bareEvent struct {
		Type string `json:"type"`
	}
)

type outDocument struct {
	ID         string     `json:"id,omitempty"`
	Type       string     `json:"type"`
	Role       string     `json:"role"`
	Model      string     `json:"model,omitempty"`
	Content    []outBlock `json:"content"`
	StopReason *string    `json:"stop_reason"`
	Usage      *outUsage  `json:"usage,omitempty"`
}

type outBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
}

type outDelta struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitempty"`
	Partial   *string `json:"partial_json,omitempty"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature *string `json:"signature,omitempty"`
}

type outStop struct {
	StopReason *string `json:"stop_reason"`
}

type outUsage struct {
	Input      int64  `json:"input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens,omitempty"`
	CacheWrite *int64 `json:"cache_creation_input_tokens,omitempty"`
	Output     int64  `json:"output_tokens"`
}

func (anthropicWire) usage(t rehearsal.Take) *outUsage {
	if t.Has("no_usage") {
		return nil
	}
	u := &outUsage{Input: uncached(t.Usage), Output: t.Usage.Out, CacheRead: &t.Usage.Cached, CacheWrite: &t.Usage.CacheWrite}
	if t.Has("no_cache_usage") {
		u.Input, u.CacheRead, u.CacheWrite = t.Usage.In, nil, nil
	}
	return u
}

func (w anthropicWire) head(t rehearsal.Take) outDocument {
	d := outDocument{ID: "msg_" + t.Hash[:24], Type: "message", Role: "assistant", Model: t.Model, Content: []outBlock{}, Usage: w.usage(t)}
	if t.Has("no_id") {
		d.ID, d.Model = "", ""
	}
	return d
}

func (anthropicWire) stop(t rehearsal.Take) *string {
	s := "end_turn"
	switch t.Stop {
	case llm.StopLength:
		s = "max_tokens"
	case llm.StopRefusal:
		s = "refusal"
	case llm.StopPause:
		s = "pause_turn"
	case llm.StopContext:
		s = "model_context_window_exceeded"
	default:
		if len(t.Calls) > 0 {
			s = "tool_use"
		}
	}
	if t.Has("no_finish") {
		return nil
	}
	return &s
}

func event[T any](name string, v T) []byte {
	return append([]byte("event: "+name+"\n"), sse(encode(v))...)
}

func (w anthropicWire) frames(t rehearsal.Take) []frame {
	head := w.head(t)
	if head.Usage != nil {
		head.Usage.Output = 1
	}
	out := []frame{
		{data: event("message_start", startEvent{"message_start", head})},
		{data: event("ping", bareEvent{"ping"})},
	}
	index := 0
	block := func(kind frameKind, start outBlock, deltas []outDelta) {
		out = append(out, frame{data: event("content_block_start", blockStart{"content_block_start", index, start})})
		for _, d := range deltas {
			out = append(out, frame{event("content_block_delta", blockDelta{"content_block_delta", index, d}), kind})
		}
		out = append(out, frame{data: event("content_block_stop", blockStop{"content_block_stop", index})})
		index++
	}
	empty := ""
	if t.Reasoning != "" {
		block(frameOther, outBlock{Type: "thinking", Thinking: &empty, Signature: &empty}, thinkingDeltas(t))
	}
	if t.Has("redacted_thinking") {
		block(frameOther, redacted(t), nil)
	}
	if t.Text != "" {
		block(frameText, outBlock{Type: "text", Text: &empty}, textDeltas(t))
	}
	for _, c := range t.Calls {
		start := outBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: json.RawMessage("{}")}
		if t.Has("whole_args") && json.Valid([]byte(c.Args)) {
			start.Input, c.Args = json.RawMessage(c.Args), ""
		}
		block(frameArgs, start, argDeltas(t, c))
	}
	end := endEvent{Type: "message_delta", Delta: outStop{w.stop(t)}, Usage: w.usage(t)}
	out = append(out, frame{data: event("message_delta", end)})
	if !t.Has("no_done") {
		out = append(out, frame{data: event("message_stop", bareEvent{"message_stop"})})
	}
	return out
}

func textDeltas(t rehearsal.Take) []outDelta {
	var out []outDelta
	for _, s := range t.Split(t.Text) {
		out = append(out, outDelta{Type: "text_delta", Text: &s})
	}
	return out
}

// signature stands for the provider's proof that the reasoning is its own.
func signature(t rehearsal.Take) string { return "rehearsal/" + t.Hash[:16] }

// redacted is what the provider thought and does not show.
func redacted(t rehearsal.Take) outBlock {
	return outBlock{Type: "redacted_thinking", Data: signature(t) + "/redacted"}
}

func thinkingDeltas(t rehearsal.Take) []outDelta {
	var out []outDelta
	for _, s := range t.Split(t.Reasoning) {
		out = append(out, outDelta{Type: "thinking_delta", Thinking: &s})
	}
	sig := signature(t)
	return append(out, outDelta{Type: "signature_delta", Signature: &sig})
}

func argDeltas(t rehearsal.Take, c llm.RawCall) []outDelta {
	var out []outDelta
	for _, s := range t.Split(c.Args) {
		out = append(out, outDelta{Type: "input_json_delta", Partial: &s})
	}
	return out
}

// document cannot hold arguments that are no JSON: they arrive as a string.
func (w anthropicWire) document(t rehearsal.Take) []byte {
	d := w.head(t)
	d.StopReason = w.stop(t)
	if t.Reasoning != "" {
		sig := signature(t)
		d.Content = append(d.Content, outBlock{Type: "thinking", Thinking: &t.Reasoning, Signature: &sig})
	}
	if t.Has("redacted_thinking") {
		d.Content = append(d.Content, redacted(t))
	}
	if t.Text != "" {
		d.Content = append(d.Content, outBlock{Type: "text", Text: &t.Text})
	}
	for _, c := range t.Calls {
		input := json.RawMessage(c.Args)
		if !json.Valid(input) {
			input = encode(c.Args)
		}
		d.Content = append(d.Content, outBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: input})
	}
	return encode(d)
}

func (anthropicWire) failure(kind, _, message string) []byte {
	type inner struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	return encode(struct {
		Type  string `json:"type"`
		Error inner  `json:"error"`
	}{"error", inner{kind, message}})
}
