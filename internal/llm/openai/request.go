package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"agency/internal/llm"
)

// params is the request in the SDK's form. The SDK writes the messages first
// and every field in a fixed order, so that a request which appends messages
// repeats the bytes of the earlier one up to its last message.
func (m *Model) params(req llm.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: req.Model, Messages: m.messages(req), Tools: tools(req.Tools)}
	limit := param.NewOpt(req.MaxOutput)
	if req.MaxOutput <= 0 {
		limit = param.NewOpt[int64](llm.DefaultMaxOutput)
	}
	if m.vendor != m.otherLimit.Load() {
		p.MaxCompletionTokens = limit
	} else {
		p.MaxTokens = limit
	}
	if !m.noStreamOptions.Load() {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	return p
}

func (m *Model) messages(req llm.Request) []sdk.ChatCompletionMessageParamUnion {
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, sdk.SystemMessage(llm.Clean(req.System)))
	}
	for _, msg := range req.Messages {
		if msg.Role == llm.Assistant {
			out = m.appendAssistant(out, msg)
			continue
		}
		out = appendUser(out, msg)
	}
	return out
}

// appendUser splits a user message: each tool result is a message of its own
// here, and they must follow the calls directly.
func appendUser(out []sdk.ChatCompletionMessageParamUnion, m llm.Message) []sdk.ChatCompletionMessageParamUnion {
	var words []string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			out = append(out, sdk.ToolMessage(llm.Clean(b.Text), b.ID))
		case llm.Text:
			words = append(words, llm.Clean(b.Text))
		}
	}
	if len(words) > 0 {
		out = append(out, sdk.UserMessage(strings.Join(words, "\n\n")))
	}
	return out
}

// appendAssistant gives an answer back. Without text its content is null, as
// the vendor itself writes it: servers differ on a missing one. An empty
// message is left out, nobody takes it back.
func (m *Model) appendAssistant(out []sdk.ChatCompletionMessageParamUnion, msg llm.Message) []sdk.ChatCompletionMessageParamUnion {
	text, calls := llm.Clean(msg.Words()), msg.Calls()
	if text == "" && len(calls) == 0 {
		return out
	}
	var a sdk.ChatCompletionAssistantMessageParam
	extra := map[string]any{}
	if text != "" {
		a.Content.OfString = param.NewOpt(text)
	} else {
		extra["content"] = nil
	}
	for _, c := range calls {
		f := &sdk.ChatCompletionMessageFunctionToolCallParam{ID: c.ID}
		f.Function.Name, f.Function.Arguments = llm.WireName(c.Name), string(llm.WireArgs(c))
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: f})
	}
	if len(calls) > 0 {
		m.addReasoning(extra, msg)
	}
	if len(extra) > 0 {
		a.SetExtraFields(extra)
	}
	return append(out, sdk.ChatCompletionMessageParamUnion{OfAssistant: &a})
}

// addReasoning gives a server its own reasoning back under the field in which
// it came; several demand it between a tool call and its result.
func (m *Model) addReasoning(extra map[string]any, msg llm.Message) {
	for _, b := range msg.Blocks {
		r, ok := b.(llm.Reasoning)
		if !ok || r.Provider != m.at.Provider {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(r.Opaque, &fields) != nil {
			continue
		}
		for _, name := range reasoningFields {
			if v, ok := fields[name]; ok {
				extra[name] = v
			}
		}
	}
}

// tool is a function tool on this wire, written here because the SDK's type
// would decode the schema into a map for each request.
type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func tools(in []llm.Tool) []sdk.ChatCompletionToolUnionParam {
	out := make([]sdk.ChatCompletionToolUnionParam, 0, len(in))
	for _, t := range llm.SortedTools(in) {
		w := tool{Type: "function"}
		w.Function.Name, w.Function.Description, w.Function.Parameters = t.Name, t.Description, t.Schema
		raw, err := json.Marshal(w)
		if err != nil {
			continue // cannot happen: SortedTools has made the schema valid
		}
		f := param.Override[sdk.ChatCompletionFunctionToolParam](json.RawMessage(raw))
		out = append(out, sdk.ChatCompletionToolUnionParam{OfFunction: &f})
	}
	return out
}
