package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
)

// openaiWire is chat completions.
type openaiWire struct{}

func (openaiWire) name() string { return "openai" }

type chatRequest struct {
	Model     string `json:"model"`
	Stream    bool   `json:"stream"`
	MaxTokens int64  `json:"max_tokens"`
	MaxOutput int64  `json:"max_completion_tokens"`
	Messages  []struct {
		Role       string     `json:"role"`
		Content    partList   `json:"content"`
		ToolCallID string     `json:"tool_call_id"`
		ToolCalls  []chatCall `json:"tool_calls"`
		Reasoning  loose      `json:"reasoning_content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

// partList is the content of a message: a string, null, or a list of parts, of which each is
// text or a picture.
type partList []llm.Block

func (l *partList) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		ImageURL json.RawMessage `json:"image_url"` // responses: the address itself
	}
	if json.Unmarshal(data, &parts) != nil {
		var s loose
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*l = partList{llm.Text{Text: string(s)}}
		return nil
	}
	for _, p := range parts {
		if p.ImageURL == nil {
			*l = append(*l, llm.Text{Text: p.Text})
			continue
		}
		var in struct {
			URL string `json:"url"`
		}
		if json.Unmarshal(p.ImageURL, &in) != nil && json.Unmarshal(p.ImageURL, &in.URL) != nil {
			return errors.New("image_url: want an address")
		}
		media, data, ok := strings.Cut(strings.TrimPrefix(in.URL, "data:"), ";base64,")
		if !ok {
			return errors.New("image_url: only data URLs are taken here")
		}
		i, err := picture(media, data)
		if err != nil {
			return err
		}
		*l = append(*l, i)
	}
	return nil
}

// words are the texts of a content.
func (l partList) words() string { return llm.Message{Blocks: l}.Words() }

// picture reads one as the vendors do, who refuse what is none or is called another kind.
func picture(media, data string) (llm.Image, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return llm.Image{}, fmt.Errorf("picture: %w", err)
	}
	i, err := llm.ReadImage("", raw)
	if err == nil && i.Media != media {
		err = fmt.Errorf("the picture is %s, and was called %s", i.Media, media)
	}
	return i, err
}

// loose is a string, null, or a list of text parts.
type loose string

func (l *loose) UnmarshalJSON(data []byte) error {
	var s *string
	if json.Unmarshal(data, &s) == nil {
		if s != nil {
			*l = loose(*s)
		}
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*l += loose(p.Text)
	}
	return nil
}

func (openaiWire) read(body []byte) (llm.Request, bool, error) {
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Request{}, false, err
	}
	req := llm.Request{Model: in.Model, MaxOutput: max(in.MaxTokens, in.MaxOutput)}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, llm.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	c := conversation{open: map[string]bool{}}
	for i, m := range in.Messages {
		switch m.Role {
		case "system", "developer":
			req.System += m.Content.words()
		case "user":
			for _, b := range m.Content {
				c.user(b)
			}
		case "tool":
			if err := c.result(llm.ToolResult{ID: m.ToolCallID, Text: m.Content.words()}); err != nil {
				return req, false, fmt.Errorf("messages[%d]: %w", i, err)
			}
		case "assistant":
			var blocks []llm.Block
			if text := m.Content.words(); text != "" {
				blocks = append(blocks, llm.Text{Text: text})
			}
			for _, u := range m.ToolCalls {
				args, invalid := llm.CheckArgs(string(u.Function.Arguments))
				blocks = append(blocks, llm.ToolUse{ID: u.ID, Name: u.Function.Name, Args: args, Invalid: invalid})
			}
			if err := c.assistant(blocks); err != nil {
				return req, false, fmt.Errorf("messages[%d]: %w", i, err)
			}
		default:
			return req, false, fmt.Errorf("messages[%d].role: unknown role %q", i, m.Role)
		}
	}
	if err := c.whole(); err != nil {
		return req, false, err
	}
	req.Messages = c.messages
	return req, in.Stream, nil
}

// chatChunk is a piece of a streamed answer, and with message a whole one.
type chatChunk struct {
	ID      string       `json:"id,omitempty"`
	Object  string       `json:"object,omitempty"`
	Created int64        `json:"created,omitempty"`
	Model   string       `json:"model,omitempty"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index        int          `json:"index"`
	Delta        *chatMessage `json:"delta,omitempty"`
	Message      *chatMessage `json:"message,omitempty"`
	FinishReason *string      `json:"finish_reason"`
}

type chatMessage struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Null      *nullField `json:"-"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Refusal   string     `json:"refusal,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type nullField struct{}

// MarshalJSON writes a null content where the take asks for one.
func (m chatMessage) MarshalJSON() ([]byte, error) {
	type plain chatMessage
	if m.Null == nil {
		return encode(plain(m)), nil
	}
	return encode(struct {
		Content *string `json:"content"`
		plain
	}{nil, plain(m)}), nil
}

type chatCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string   `json:"name,omitempty"`
	Arguments chatArgs `json:"arguments"`
}

// chatArgs is a string that a careless server sends as an object.
type chatArgs string

// MarshalJSON writes what starts with a mark as it stands.
func (a chatArgs) MarshalJSON() ([]byte, error) {
	if len(a) > 0 && a[0] == 0 {
		return []byte(a[1:]), nil
	}
	return json.Marshal(string(a))
}

type chatUsage struct {
	Prompt     int64        `json:"prompt_tokens"`
	Completion int64        `json:"completion_tokens"`
	Total      int64        `json:"total_tokens"`
	Details    *chatDetails `json:"prompt_tokens_details,omitempty"`
}

type chatDetails struct {
	Cached int64 `json:"cached_tokens"`
	Write  int64 `json:"cache_write_tokens,omitempty"`
}

func (openaiWire) chunk(t rehearsal.Take) chatChunk {
	c := chatChunk{ID: "chatcmpl-" + t.Hash[:24], Object: "chat.completion.chunk", Created: 1, Model: t.Model, Choices: []chatChoice{}}
	if t.Has("no_id") {
		c.ID, c.Object, c.Created, c.Model = "", "", 0, ""
	}
	return c
}

func (w openaiWire) frames(t rehearsal.Take) []frame {
	var out []frame
	add := func(kind frameKind, m chatMessage, finish *string) {
		c := w.chunk(t)
		c.Choices = []chatChoice{{Delta: &m, FinishReason: finish}}
		if t.Has("comments") {
			out = append(out, frame{data: []byte(": keep-alive\n\n")})
		}
		out = append(out, frame{sse(encode(c)), kind})
	}
	role := chatMessage{Role: "assistant"}
	if t.Has("null_content") {
		role.Null = &nullField{}
	}
	add(frameOther, role, nil)
	for _, s := range t.Split(t.Reasoning) {
		add(frameOther, chatMessage{Reasoning: s}, nil)
	}
	for _, s := range t.Split(t.Text) {
		add(frameText, chatMessage{Content: &s}, nil)
	}
	for i, c := range t.Calls {
		for _, d := range w.callDeltas(t, i, c) {
			m := chatMessage{ToolCalls: []chatCall{d}}
			if t.Has("null_content") {
				m.Null = &nullField{}
			}
			add(frameArgs, m, nil)
		}
	}
	if !t.Has("no_finish") {
		finish := chatStop(t)
		add(frameOther, chatMessage{}, &finish)
	}
	return append(out, w.tail(t)...)
}

// tail is the usage and the end mark.
func (w openaiWire) tail(t rehearsal.Take) []frame {
	var out []frame
	if !t.Has("no_usage") {
		c := w.chunk(t)
		c.Usage = w.usage(t)
		out = append(out, frame{data: sse(encode(c))})
	}
	if !t.Has("no_done") {
		out = append(out, frame{data: []byte("data: [DONE]\n\n")})
	}
	return out
}

// callDeltas are the pieces of one call.
func (openaiWire) callDeltas(t rehearsal.Take, i int, c llm.RawCall) []chatCall {
	head := chatCall{Index: &i, ID: c.ID, Type: "function", Function: chatFunction{Name: c.Name}}
	index := head.Index
	switch {
	case t.Has("no_index"):
		index = nil
	case t.Has("index_zero"):
		index = new(int)
	}
	head.Index = index
	if t.Has("no_call_id") {
		head.ID, head.Type = "", ""
	}
	if t.Has("object_args") {
		head.Function.Arguments = chatArgs("\x00" + c.Args)
		return []chatCall{head}
	}
	if t.Has("whole_args") {
		head.Function.Arguments = chatArgs(c.Args)
		return []chatCall{head}
	}
	out := []chatCall{head}
	for _, s := range t.Split(c.Args) {
		out = append(out, chatCall{Index: index, Function: chatFunction{Arguments: chatArgs(s)}})
	}
	return out
}

func (openaiWire) usage(t rehearsal.Take) *chatUsage {
	u := &chatUsage{Prompt: t.Usage.In, Completion: t.Usage.Out, Total: t.Usage.In + t.Usage.Out}
	if !t.Has("no_cache_usage") {
		u.Details = &chatDetails{t.Usage.Cached, t.Usage.CacheWrite}
	}
	return u
}

func chatStop(t rehearsal.Take) string {
	switch t.Stop {
	case llm.StopLength, llm.StopContext:
		return "length"
	case llm.StopRefusal:
		return "content_filter"
	}
	if len(t.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (w openaiWire) document(t rehearsal.Take) []byte {
	c := w.chunk(t)
	if c.Object != "" {
		c.Object = "chat.completion"
	}
	m := &chatMessage{Role: "assistant", Reasoning: t.Reasoning}
	if t.Text != "" {
		m.Content = &t.Text
	} else {
		m.Null = &nullField{}
	}
	for i, call := range t.Calls {
		whole := t
		whole.Quirks = append([]string{"whole_args", "no_index"}, t.Quirks...)
		m.ToolCalls = append(m.ToolCalls, w.callDeltas(whole, i, call)...)
	}
	c.Choices = []chatChoice{{Message: m}}
	if !t.Has("no_finish") {
		finish := chatStop(t)
		c.Choices[0].FinishReason = &finish
	}
	if !t.Has("no_usage") {
		c.Usage = w.usage(t)
	}
	return encode(c)
}

func (openaiWire) failure(kind, code, message string) []byte {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code,omitempty"`
	}
	return encode(struct {
		Error inner `json:"error"`
	}{inner{message, kind, nil, code}})
}

func sse(data []byte) []byte {
	out := make([]byte, 0, len(data)+8)
	out = append(out, "data: "...)
	out = append(out, data...)
	return append(out, "\n\n"...)
}
