package anthropic

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
)

// both sends a request through the adapter and through the SDK alone.
func both(ctx context.Context, m *Model, req llm.Request) (got, want llmtest.Sent, err error) {
	http := m.client.HTTP
	defer func() { m.client.HTTP = http }()
	m.client.HTTP = llmtest.Capture(&want)
	res, err := reference{m}.send(ctx, req)
	if err != nil {
		return got, want, err
	}
	_ = res.Body.Close()
	m.client.HTTP = llmtest.Capture(&got)
	_, err = llm.Collect(m.Ask(ctx, req))
	if f, ok := err.(*llm.Fault); ok && f.Kind == llm.StreamCut { // nobody answers
		err = nil
	}
	return got, want, err
}

// escaped is a body that has the length and the escapes of the SDK's.
func escaped(t rapid.TB, s llmtest.Sent) llmtest.Sent {
	body, err := json.Marshal(json.RawMessage(s.Body))
	if err != nil || s.Length != int64(len(s.Body)) {
		t.Fatalf("length %d, %v: %s", s.Length, err, s.Body)
	}
	s.Body, s.Length = string(body), int64(len(body))
	return s
}

// The adapter sends what the SDK would send, whatever the conversation.
func TestBodyIsTheSDKs(t *testing.T) {
	models := []*Model{
		New(Options{Name: "p", APIKey: "k"}, Thinking{}),
		New(Options{Name: "p", BaseURL: "http://127.0.0.1:1"}, Thinking{Budget: 5000}),
		New(Options{Name: "p"}, Thinking{Budget: 1023}),
		New(Options{Name: "p"}, Thinking{Budget: 5000, Adaptive: true}),
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(models).Draw(t, "model")
		req := llmtest.AnyRequest().Draw(t, "request")
		got, want, err := both(context.Background(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, escaped(t, got)); diff != "" {
			t.Fatalf("-SDK +adapter:\n%s", diff)
		}
		for range 2 { // the second time with the tools that were kept
			if body := string(m.body(nil, req)); body != got.Body {
				t.Fatalf("again:\n%s\n%s", got.Body, body)
			}
		}
	})
}

// A base URL is taken as the SDK takes it.
func TestBaseURLIsTheSDKs(t *testing.T) {
	for _, base := range llmtest.BaseURLs() {
		got, want, err := both(t.Context(), New(Options{Name: "p", BaseURL: base}, Thinking{}), llm.Request{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -SDK +adapter:\n%s", base, err, diff)
		}
	}
}

// Each kind of message once and as it stands on the wire, so that a change of
// the SDK is not taken over without a look at it.
func TestBody(t *testing.T) {
	req := llm.Request{Model: "m", System: "s<\u2028\xff", MaxOutput: 4000, Messages: []llm.Message{
		{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: "a"}, llm.Text{Text: "b"}}},
		{Role: llm.Assistant, Blocks: []llm.Block{
			llm.Reasoning{Provider: "p", Model: "m", Opaque: json.RawMessage(`{"type":"thinking","thinking":"<","signature":"x"}`)},
			llm.Reasoning{Provider: "other", Model: "m", Opaque: json.RawMessage(`{"type":"thinking","thinking":"secret"}`)},
			llm.Reasoning{Provider: "p", Model: "other", Opaque: json.RawMessage(`{"type":"thinking","thinking":"secret"}`)},
			llm.Text{Text: "t"},
			llm.Text{Text: "\n"},
			llm.ToolUse{ID: "1", Name: "f", Args: json.RawMessage(`{"a":"\n"}`)},
			llm.ToolUse{ID: "2", Name: "g h", Args: json.RawMessage(`"x"`), Invalid: "no object"},
		}},
		{Role: llm.User, Blocks: []llm.Block{llm.ToolResult{ID: "1"}, llm.Text{Text: "c"}, llm.ToolResult{ID: "2", Text: "r", IsError: true}}},
		{Role: llm.Assistant},
		{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: " "}}},
		{Role: llm.User, Blocks: []llm.Block{llm.ToolResult{ID: "3", Text: "d"}}},
	}, Tools: []llm.Tool{{Name: "g", Description: "<g>", Schema: json.RawMessage(`{ }`)}, {Name: "f"}}}
	const mark = `"cache_control":{"type":"ephemeral"}`
	want := strings.Join([]string{
		`{"max_tokens":4000,"messages":[{"content":[{"text":"a","type":"text"},{"text":"b","type":"text"}],"role":"user"}`,
		`{"content":[{"type":"thinking","thinking":"<","signature":"x"},{"text":"t","type":"text"}`,
		`{"id":"1","input":{"a":"\n"},"name":"f","type":"tool_use"}`,
		`{"id":"2","input":{"invalid_arguments":"x"},"name":"g_h","type":"tool_use"}],"role":"assistant"}`,
		`{"content":[{"tool_use_id":"1","is_error":false,"type":"tool_result"}`,
		`{"tool_use_id":"2","is_error":true,"content":[{"text":"r","type":"text"}],"type":"tool_result"}`,
		`{"text":"c",` + mark + `,"type":"text"}],"role":"user"}`,
		`{"content":[{"tool_use_id":"3","is_error":false,` + mark + `,"content":[{"text":"d","type":"text"}],"type":"tool_result"}],"role":"user"}]`,
		`"model":"m","system":[{"text":"s<\u2028` + "\uFFFD" + `",` + mark + `,"type":"text"}]`,
		`"thinking":{"budget_tokens":2000,"type":"enabled"}`,
		`"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}`,
		`{"name":"g","description":"\u003cg\u003e","input_schema":{},` + mark + `}],"stream":true}`,
	}, ",")
	got, sdks, err := both(t.Context(), New(Options{Name: "p"}, Thinking{Budget: 2000}), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Body); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(sdks, escaped(t, got)); diff != "" {
		t.Errorf("-SDK +adapter:\n%s", diff)
	}
}
