package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"agency/internal/llm"
)

// reference sends a request as the SDK itself encodes it. What the adapter
// writes must be the same, byte for byte.
type reference struct{ m *Model }

func (r reference) send(ctx context.Context, req llm.Request, extra ...option.RequestOption) (*http.Response, error) {
	var res *http.Response
	chat := sdk.NewChatCompletionService(r.m.sdk.Options...)
	err := chat.NewStreaming(ctx, r.params(req), append(extra, option.WithResponseInto(&res))...).Err()
	return res, err
}

func (r reference) params(req llm.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: req.Model, Messages: r.messages(req), Tools: referenceTools(req.Tools)}
	limit := param.NewOpt(req.MaxOutput)
	if req.MaxOutput <= 0 {
		limit = param.NewOpt[int64](llm.DefaultMaxOutput)
	}
	if r.m.vendor != r.m.otherLimit.Load() {
		p.MaxCompletionTokens = limit
	} else {
		p.MaxTokens = limit
	}
	if !r.m.noStreamOptions.Load() {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	return p
}

func (r reference) messages(req llm.Request) []sdk.ChatCompletionMessageParamUnion {
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, sdk.SystemMessage(llm.Clean(req.System)))
	}
	for _, msg := range req.Messages {
		if msg.Role == llm.Assistant {
			out = r.appendAssistant(out, msg, req.Model)
			continue
		}
		out = appendUser(out, msg)
	}
	return out
}

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

func (r reference) appendAssistant(out []sdk.ChatCompletionMessageParamUnion, msg llm.Message, model string) []sdk.ChatCompletionMessageParamUnion {
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
		r.addReasoning(extra, msg, model)
	}
	if len(extra) > 0 {
		a.SetExtraFields(extra)
	}
	return append(out, sdk.ChatCompletionMessageParamUnion{OfAssistant: &a})
}

func (r reference) addReasoning(extra map[string]any, msg llm.Message, model string) {
	for _, b := range msg.Blocks {
		b, ok := b.(llm.Reasoning)
		if !ok || !b.By(r.m.at.Provider, model) {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(b.Opaque, &fields) != nil {
			continue
		}
		for _, name := range reasoningFields {
			if v, ok := fields[name]; ok {
				extra[name] = v
			}
		}
	}
}

func referenceTools(in []llm.Tool) []sdk.ChatCompletionToolUnionParam {
	out := make([]sdk.ChatCompletionToolUnionParam, 0, len(in))
	for _, t := range llm.SortedTools(in) {
		w := tool{Type: "function"}
		w.Function.Name, w.Function.Description, w.Function.Parameters = t.Name, t.Description, t.Schema
		raw, err := json.Marshal(w)
		if err != nil {
			continue
		}
		f := param.Override[sdk.ChatCompletionFunctionToolParam](json.RawMessage(raw))
		out = append(out, sdk.ChatCompletionToolUnionParam{OfFunction: &f})
	}
	return out
}
