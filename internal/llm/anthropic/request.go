package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"agency/internal/llm"
)

// params is the request in the SDK's form. Content is always a list of blocks,
// also where a string would do: a cache mark moves on with the conversation
// and must not change the form of what stays behind.
func (m *Model) params(req llm.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model: sdk.Model(req.Model), MaxTokens: req.MaxOutput,
		Messages: m.conversation(req.Messages, req.Model), Tools: tools(req.Tools),
	}
	if p.MaxTokens <= 0 {
		p.MaxTokens = llm.DefaultMaxOutput
	}
	if budget := min(m.thinking, p.MaxTokens-minThinking); budget >= minThinking && m.mayThink(req) {
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: llm.Clean(req.System), CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	return p
}

// minThinking is the smallest budget for thinking that the wire takes, and
// what is left for the answer beside it.
const minThinking = 1024

func (m *Model) thinks() bool { return m.thinking >= minThinking }

// mayThink tells whether thinking may be asked for: while calls wait for their
// results, the answer that made them must begin with a thought, and that of
// another model does not.
func (m *Model) mayThink(req llm.Request) bool {
	in := req.Messages
	for i := len(in) - 1; i >= 0; i-- {
		if in[i].Role != llm.Assistant {
			continue
		}
		if len(in[i].Calls()) == 0 {
			return true
		}
		r, ok := in[i].Blocks[0].(llm.Reasoning)
		return ok && r.By(m.at.Provider, req.Model)
	}
	return true
}

func (m *Model) conversation(in []llm.Message, model string) []sdk.MessageParam {
	out := make([]sdk.MessageParam, 0, len(in))
	for _, msg := range in {
		blocks := m.userBlocks(msg)
		role := sdk.MessageParamRoleUser
		if msg.Role == llm.Assistant {
			blocks, role = m.assistantBlocks(msg, model), sdk.MessageParamRoleAssistant
		}
		if len(blocks) > 0 {
			out = append(out, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	markEnd(out)
	return out
}

// userBlocks puts the tool results first, as the wire demands, and leaves out
// blank text, which it refuses.
func (m *Model) userBlocks(msg llm.Message) []sdk.ContentBlockParamUnion {
	var results, words []sdk.ContentBlockParamUnion
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			r := &sdk.ToolResultBlockParam{ToolUseID: b.ID, IsError: param.NewOpt(b.IsError)}
			if b.Text != "" {
				r.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: llm.Clean(b.Text)}}}
			}
			results = append(results, sdk.ContentBlockParamUnion{OfToolResult: r})
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				words = append(words, sdk.NewTextBlock(llm.Clean(b.Text)))
			}
		}
	}
	return append(results, words...)
}

// assistantBlocks gives an answer back. One that holds reasoning alone is left
// out: the wire refuses it.
func (m *Model) assistantBlocks(msg llm.Message, model string) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	substance := false
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case llm.Reasoning:
			if b.By(m.at.Provider, model) && json.Valid(b.Opaque) {
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

// markEnd sets two cache marks: at the end of the conversation, where the next
// request will read, and at the end of the user message before, where this
// one reads. With tools and system that makes the four that the provider
// takes.
func markEnd(messages []sdk.MessageParam) {
	marks := 2
	for i := len(messages) - 1; i >= 0 && marks > 0; i-- {
		if messages[i].Role != sdk.MessageParamRoleUser {
			continue
		}
		last := &messages[i].Content[len(messages[i].Content)-1]
		switch {
		case last.OfText != nil:
			last.OfText.CacheControl = sdk.NewCacheControlEphemeralParam()
		case last.OfToolResult != nil:
			last.OfToolResult.CacheControl = sdk.NewCacheControlEphemeralParam()
		}
		marks--
	}
}

// tool is a tool on this wire, written here because the SDK's type would
// decode the schema into maps for each request.
type tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

func tools(in []llm.Tool) []sdk.ToolUnionParam {
	out := make([]sdk.ToolUnionParam, 0, len(in))
	for i, t := range llm.SortedTools(in) {
		w := tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema}
		if i == len(in)-1 {
			w.CacheControl = &cacheControl{Type: "ephemeral"}
		}
		raw, err := json.Marshal(w)
		if err != nil {
			continue // cannot happen: SortedTools has made the schema valid
		}
		p := param.Override[sdk.ToolParam](json.RawMessage(raw))
		out = append(out, sdk.ToolUnionParam{OfTool: &p})
	}
	return out
}
