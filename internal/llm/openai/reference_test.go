package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// reference sends a request as the SDK itself encodes it. What the adapter
// writes must be the same, byte for byte.
type reference struct{ m *Model }

func (r reference) send(ctx context.Context, req llm.Request) (*http.Response, error) {
	var res *http.Response
	service := r.service()
	err := service.NewStreaming(ctx, r.params(req), option.WithResponseInto(&res)).Err()
	return res, err
}

// service is made directly, because the SDK's NewClient looks into the
// environment.
func (r reference) service() sdk.ChatCompletionService {
	with := []option.RequestOption{
		option.WithBaseURL(r.m.client.Base), option.WithHTTPClient(r.m.client.HTTP), option.WithMaxRetries(0),
	}
	if key, ok := strings.CutPrefix(r.m.client.Header.Get("Authorization"), "Bearer "); ok {
		with = append(with, option.WithAPIKey(key))
	}
	return sdk.NewChatCompletionService(with...)
}

// The SDK's client and the adapter are answered by the same server, and
// understand the same.
func TestSDKIsServed(t *testing.T) {
	s, err := rehearsal.Parse("t.yaml", []byte(llmtest.StreamScript("")))
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.Start(t, wire.New(rehearsal.NewPlayer(s), wire.Options{Key: "k"}), "/v1", nil)
	m := New(Options{Name: "p", BaseURL: srv.URL, APIKey: "k"})
	t.Cleanup(m.Close)
	r := reference{m}
	service := r.service()
	stream := service.NewStreaming(t.Context(), r.params(llmtest.Ask()))
	var all sdk.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Fatalf("a chunk that does not fit: %s", stream.Current().RawJSON())
		}
	}
	if err := errors.Join(stream.Err(), stream.Close()); err != nil {
		t.Fatal(err)
	}
	said := all.Choices[0].Message
	var calls []llm.RawCall
	for _, c := range said.ToolCalls {
		calls = append(calls, llm.RawCall{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
	}
	llmtest.Alike(t, m, llmtest.Ask(), said.Content, calls)
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
	if r.m.vendor && req.Cache != "" {
		p.PromptCacheKey = param.NewOpt(llm.Clean(req.Cache))
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
	var parts []sdk.ChatCompletionContentPartUnionParam
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Image:
			if len(b.Data) > 0 {
				url := "data:" + b.Media + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
				parts = append(parts, sdk.TextContentPart(llm.Clean(b.Label())), sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: url, Detail: "high"}))
			}
		case llm.ToolResult:
			out = append(out, sdk.ToolMessage(llm.Clean(b.Text), b.ID))
		case llm.Text:
			words = append(words, llm.Clean(b.Text))
		}
	}
	if len(parts) > 0 {
		var all []sdk.ChatCompletionContentPartUnionParam
		for _, w := range words {
			all = append(all, sdk.TextContentPart(w))
		}
		return append(out, sdk.UserMessage(append(all, parts...)))
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
		if !ok || !b.By(r.m.client.At.Provider, model) {
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
