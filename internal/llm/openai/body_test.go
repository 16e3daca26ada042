package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
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
	if res, err = m.client.Post(ctx, "chat/completions", func(dst []byte) []byte { return m.body(dst, req) }); err != nil {
		return got, want, err
	}
	return got, want, res.Body.Close()
}

// The adapter sends what the SDK would send, whatever the conversation.
func TestBodyIsTheSDKs(t *testing.T) {
	models := []*Model{
		New(Options{Name: "p", APIKey: "k"}),
		New(Options{Name: "p", BaseURL: "http://127.0.0.1:1/v1"}),
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(models).Draw(t, "model")
		m.otherLimit.Store(rapid.Bool().Draw(t, "other limit"))
		m.noStreamOptions.Store(rapid.Bool().Draw(t, "no stream options"))
		req := llmtest.AnyRequest().Draw(t, "request")
		got, want, err := both(context.Background(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-SDK +adapter:\n%s", diff)
		}
		for range 2 { // the second time with the tools that were kept
			if body := string(m.body(nil, req)); body != want.Body {
				t.Fatalf("again:\n%s\n%s", want.Body, body)
			}
		}
	})
}

// A base URL is taken as the SDK takes it.
func TestBaseURLIsTheSDKs(t *testing.T) {
	for _, base := range llmtest.BaseURLs() {
		got, want, err := both(t.Context(), New(Options{Name: "p", BaseURL: base}), llm.Request{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -SDK +adapter:\n%s", base, err, diff)
		}
	}
}

// Each kind of message once and as it stands on the wire, so that a change of
// the SDK is not taken over without a look at it.
func TestBody(t *testing.T) {
	req := llm.Request{Model: "m", System: "s<\u2028\xff", MaxOutput: 5, Messages: []llm.Message{
		{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: "a"}, llm.Text{Text: "b"}}},
		{Role: llm.Assistant, Blocks: []llm.Block{
			llm.Reasoning{Provider: "p", Model: "m", Opaque: json.RawMessage(`{"reasoning": "<", "reasoning_content":null}`)},
			llm.Reasoning{Provider: "other", Model: "m", Opaque: json.RawMessage(`{"reasoning":"secret"}`)},
			llm.Reasoning{Provider: "p", Model: "other", Opaque: json.RawMessage(`{"reasoning":"secret"}`)},
			llm.ToolUse{ID: "1", Name: "f", Args: json.RawMessage(`{"a":"\n"}`)},
			llm.ToolUse{ID: "2", Name: "g h", Args: json.RawMessage(`"x"`), Invalid: "no object"},
		}},
		{Role: llm.User, Blocks: []llm.Block{llm.ToolResult{ID: "1"}, llm.Text{}, llm.ToolResult{ID: "2", Text: "r", IsError: true}}},
		{Role: llm.Assistant},
		{Role: llm.Assistant, Blocks: []llm.Block{llm.Text{Text: "t"}}},
	}, Tools: []llm.Tool{{Name: "f", Schema: json.RawMessage(`{ }`)}}}
	want := strings.Join([]string{
		`{"messages":[{"content":"s<\u2028` + "\uFFFD" + `","role":"system"}`,
		`{"content":"a\n\nb","role":"user"}`,
		`{"tool_calls":[{"id":"1","function":{"arguments":"{\"a\":\"\\n\"}","name":"f"},"type":"function"}`,
		`{"id":"2","function":{"arguments":"{\"invalid_arguments\":\"x\"}","name":"g_h"},"type":"function"}]`,
		`"role":"assistant","content":null,"reasoning":"\u003c","reasoning_content":null}`,
		`{"content":"","tool_call_id":"1","role":"tool"}`,
		`{"content":"r","tool_call_id":"2","role":"tool"}`,
		`{"content":"","role":"user"}`,
		`{"content":"t","role":"assistant"}]`,
		`"model":"m","max_tokens":5,"stream_options":{"include_usage":true}`,
		`"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"stream":true}`,
	}, ",")
	got, sdks, err := both(t.Context(), New(Options{Name: "p", BaseURL: "http://127.0.0.1:1/v1"}), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Body); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(sdks, got); diff != "" {
		t.Errorf("-SDK +adapter:\n%s", diff)
	}
}

// Requests of concurrent sessions share nothing that is written, also where
// each brings tools of its own and changes them afterwards.
func TestBodiesAreSeparate(t *testing.T) {
	m := New(Options{Name: "p"})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			req := llm.Request{Tools: []llm.Tool{{Name: "f", Schema: json.RawMessage(`{"n":0}`)}}}
			for n := range 20 {
				req.Tools[0].Name = fmt.Sprintf("tool_%d", i)
				req.Tools[0].Schema[5] = byte('0' + n%10)
				body := m.body(nil, req)
				want := fmt.Sprintf(`{"messages":[],"max_completion_tokens":8192,"stream_options":{"include_usage":true},`+
					`"tools":[{"type":"function","function":{"name":"tool_%d","parameters":{"n":%d}}}],"stream":true}`, i, n%10)
				if string(body) != want {
					t.Errorf("%s\n%s", body, want)
				}
				clear(body[:cap(body)])
			}
		})
	}
	wg.Wait()
}

// FuzzQuote: a string is written as encoding/json writes it.
func FuzzQuote(f *testing.F) {
	for _, s := range llmtest.Nasty() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := string(llm.AppendQuoted(nil, s)) + "\n"; got != want.String() || string(llm.AppendQuoted(nil, []byte(s)))+"\n" != got {
			t.Fatalf("%q: %s, not %s", s, got, want.String())
		}
	})
}

// The vendor alone is told what requests have in common.
func TestCacheKeyIsTheVendors(t *testing.T) {
	for base, want := range map[string]bool{"": true, "https://api.openai.com/v1": true, "http://127.0.0.1:1/v1": false} {
		req := llm.Request{Model: "m", Cache: "the key"}
		for name, body := range map[string][]byte{"responses": NewResponses(Options{BaseURL: base}).body(nil, req), "chat": New(Options{BaseURL: base}).body(nil, req)} {
			if !json.Valid(body) || bytes.Contains(body, []byte(`"prompt_cache_key":"the key"`)) != want {
				t.Errorf("%s at %q sends %s", name, base, body)
			}
		}
	}
}
