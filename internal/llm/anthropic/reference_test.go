package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// reference sends a request as the SDK itself encodes it. What the adapter
// writes must be the same but for the escapes that only HTML needs.
type reference struct{ m *Model }

func (r reference) send(ctx context.Context, req llm.Request) (*http.Response, error) {
	var res *http.Response
	service := r.service()
	err := service.NewStreaming(ctx, r.params(req), option.WithResponseInto(&res)).Err()
	return res, err
}

// service is made directly, because the SDK's NewClient looks for credentials
// in the environment and in files.
func (r reference) service() sdk.MessageService {
	with := []option.RequestOption{
		option.WithBaseURL(r.m.client.Base), option.WithHTTPClient(r.m.client.HTTP), option.WithMaxRetries(0),
	}
	if key := r.m.client.Header.Get("X-Api-Key"); key != "" {
		with = append(with, option.WithAPIKey(key))
	}
	if !r.m.thinking.Adaptive && r.m.thinking.Budget >= minThinking {
		with = append(with, option.WithHeader("anthropic-beta", "interleaved-thinking-2025-05-14"))
	}
	return sdk.NewMessageService(with...)
}

// The SDK's client and the adapter are answered by the same server, and
// understand the same.
func TestSDKIsServed(t *testing.T) {
	s, err := rehearsal.Parse("t.yaml", []byte(llmtest.StreamScript("")))
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.Start(t, wire.New(rehearsal.NewPlayer(s), wire.Options{Key: "k"}), "", nil)
	m := New(Options{Name: "p", BaseURL: srv.URL, APIKey: "k"}, Thinking{})
	t.Cleanup(m.Close)
	r := reference{m}
	service := r.service()
	stream := service.NewStreaming(t.Context(), r.params(llmtest.Ask()))
	var all sdk.Message
	for stream.Next() {
		if err := all.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(stream.Err(), stream.Close()); err != nil {
		t.Fatal(err)
	}
	var text string
	var calls []llm.RawCall
	for _, b := range all.Content {
		switch b.Type {
		case "text":
			text += b.Text
		case "tool_use":
			calls = append(calls, llm.RawCall{ID: b.ID, Name: b.Name, Args: string(b.Input)})
		}
	}
	llmtest.Alike(t, m, llmtest.Ask(), text, calls)
}

func (r reference) params(req llm.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model: sdk.Model(req.Model), MaxTokens: req.MaxOutput,
		Messages: r.conversation(req.Messages, req.Model), Tools: referenceTools(req.Tools),
	}
	if p.MaxTokens <= 0 {
		p.MaxTokens = llm.DefaultMaxOutput
	}
	if r.m.thinking.Adaptive {
		p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}}
	} else if budget := min(r.m.thinking.Budget, p.MaxTokens-minThinking); budget >= minThinking && r.m.mayThink(req) {
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: llm.Clean(req.System), CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	return p
}

func (r reference) conversation(in []llm.Message, model string) []sdk.MessageParam {
	out := make([]sdk.MessageParam, 0, len(in))
	for _, msg := range in {
		blocks := r.userBlocks(msg)
		role := sdk.MessageParamRoleUser
		if msg.Role == llm.Assistant {
			blocks, role = r.assistantBlocks(msg, model), sdk.MessageParamRoleAssistant
		}
		if len(blocks) > 0 {
			out = append(out, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	markEnd(out)
	if len(in) == 1 && len(out) == 1 && out[0].Role == sdk.MessageParamRoleUser { // what others begin with, too
		mark(&out[0].Content[0])
	}
	return out
}

func (r reference) userBlocks(msg llm.Message) []sdk.ContentBlockParamUnion {
	var results, words []sdk.ContentBlockParamUnion
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			result := &sdk.ToolResultBlockParam{ToolUseID: b.ID, IsError: param.NewOpt(b.IsError)}
			if b.Text != "" {
				result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: llm.Clean(b.Text)}}}
			}
			for _, i := range msg.Shown(b.ID) {
				result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfImage: sdk.NewImageBlockBase64(i.Media, base64.StdEncoding.EncodeToString(i.Data)).OfImage})
			}
			results = append(results, sdk.ContentBlockParamUnion{OfToolResult: result})
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				words = append(words, sdk.NewTextBlock(llm.Clean(b.Text)))
			}
		case llm.Image:
			if b.Of == "" && len(b.Data) > 0 {
				words = append(words, sdk.NewTextBlock(llm.Clean(b.Label())), sdk.NewImageBlockBase64(b.Media, base64.StdEncoding.EncodeToString(b.Data)))
			}
		}
	}
	return append(results, words...)
}

func (r reference) assistantBlocks(msg llm.Message, model string) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	substance := false
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.Reasoning:
			if b.By(r.m.client.At.Provider, model) && json.Valid(b.Opaque) {
				t := param.Override[sdk.ThinkingBlockParam](b.Opaque)
				out = append(out, sdk.ContentBlockParamUnion{OfThinking: &t})
			}
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				substance = true
				out = append(out, sdk.NewTextBlock(llm.Clean(b.Text)))
			}
		case llm.ToolUse:
			substance = true
			out = append(out, sdk.NewToolUseBlock(b.ID, llm.WireArgs(b), llm.WireName(b.Name)))
		}
	}
	if !substance {
		return nil
	}
	return out
}

func markEnd(messages []sdk.MessageParam) {
	marks := 2
	for i := len(messages) - 1; i >= 0 && marks > 0; i-- {
		if messages[i].Role != sdk.MessageParamRoleUser {
			continue
		}
		mark(&messages[i].Content[len(messages[i].Content)-1])
		marks--
	}
}

func mark(b *sdk.ContentBlockParamUnion) {
	switch {
	case b.OfText != nil:
		b.OfText.CacheControl = sdk.NewCacheControlEphemeralParam()
	case b.OfImage != nil:
		b.OfImage.CacheControl = sdk.NewCacheControlEphemeralParam()
	case b.OfToolResult != nil:
		b.OfToolResult.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
}

func referenceTools(in []llm.Tool) []sdk.ToolUnionParam {
	out := make([]sdk.ToolUnionParam, 0, len(in))
	for i, t := range llm.SortedTools(in) {
		w := struct {
			tool
			CacheControl sdk.CacheControlEphemeralParam `json:"cache_control,omitzero"`
		}{tool: tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema}}
		if i == len(in)-1 {
			w.CacheControl = sdk.NewCacheControlEphemeralParam()
		}
		raw, err := json.Marshal(w)
		if err != nil {
			continue
		}
		p := param.Override[sdk.ToolParam](json.RawMessage(raw))
		out = append(out, sdk.ToolUnionParam{OfTool: &p})
	}
	return out
}
