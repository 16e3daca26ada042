package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/option"
	"pgregory.net/rapid"

	"agency/internal/llm"
)

// sent is all of a request that reaches the transport.
type sent struct {
	Method, URL string
	Header      http.Header
	Length      int64
	Body        string
}

// capture ends a request before the network and keeps what would be sent.
func capture(to *sent) option.RequestOption {
	return option.WithHTTPClient(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		*to = sent{r.Method, r.URL.String(), r.Header.Clone(), r.ContentLength, string(body)}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, errors.Join(err, r.Body.Close())
	})})
}

// transport is a function in the place of the network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// both sends a request through the adapter and through the SDK alone.
func both(ctx context.Context, m *Model, req llm.Request) (got, want sent, err error) {
	res, err := reference{m}.send(ctx, req, capture(&want))
	if err != nil {
		return got, want, err
	}
	_ = res.Body.Close()
	asked := New(Options{Name: m.at.Provider})
	asked.sdk.Options = append(m.sdk.Options[:len(m.sdk.Options):len(m.sdk.Options)], capture(&got))
	asked.vendor = m.vendor
	asked.otherLimit.Store(m.otherLimit.Load())
	asked.noStreamOptions.Store(m.noStreamOptions.Load())
	if res, err = asked.post(ctx, req); err != nil {
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
		req := anyRequest().Draw(t, "request")
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
	for _, s := range nasty() {
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

func nasty() []string {
	var control []byte
	for c := range byte(' ') {
		control = append(control, c)
	}
	return []string{
		"", " ", "plain", "<a href=\"x\">&amp;</a>", "\\ \" / '", string(control), "\x7f", "é 🙂 \uFFFD \u2027\u2028\u2029\u202a",
		"\xff", "a\xff\xfeb", "\xe2\x80", "\xe2\x80\xa8", "\xf0\x9f\x99", "\xed\xa0\x80", "\n\n", "a\nb\tc", "null", "{}", "[DONE]",
	}
}

func anyText() *rapid.Generator[string] {
	bits := rapid.SliceOfN(rapid.SampledFrom(nasty()), 0, 4)
	return rapid.OneOf(
		rapid.SampledFrom(nasty()),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		rapid.Map(bits, func(s []string) string { return strings.Join(s, "") }),
	)
}

// anyJSON is also what is none.
func anyJSON() *rapid.Generator[json.RawMessage] {
	field := rapid.SampledFrom([]string{"reasoning", "reasoning_content", "content", "Reasoning", "a", "<"})
	object := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		b.WriteString(" {")
		for i := range rapid.IntRange(0, 3).Draw(t, "fields") {
			if i > 0 {
				b.WriteString(" , ")
			}
			value := rapid.SampledFrom([]string{"null", "1e3", "[ 1, {\"<\" : \"\xff\"} ]", "\"<&\u2028\xff\\u003c\"", `""`, "true"})
			fmt.Fprintf(&b, `"%s" : %s`, field.Draw(t, "field"), value.Draw(t, "value"))
		}
		return b.String() + "}\n"
	})
	quoted := rapid.Map(anyText(), func(s string) string { return string(llm.AppendQuoted(nil, s)) })
	said := rapid.Map(quoted, func(s string) string { return `{"reasoning_content":` + s + `}` })
	return rapid.Map(rapid.OneOf(object, object, said, quoted, anyText()), func(s string) json.RawMessage {
		return json.RawMessage(s)
	})
}

func anyBlock() *rapid.Generator[llm.Block] {
	return rapid.Custom(func(t *rapid.T) llm.Block {
		text := anyText()
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0, 1:
			return llm.Text{Text: text.Draw(t, "text")}
		case 2:
			return llm.ToolResult{ID: text.Draw(t, "id"), Text: text.Draw(t, "result"), IsError: rapid.Bool().Draw(t, "error")}
		case 3:
			return llm.Reasoning{Provider: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "provider"), Model: rapid.SampledFrom([]string{"m", "n", ""}).Draw(t, "of"), Opaque: anyJSON().Draw(t, "opaque"), Text: "t"}
		}
		return llm.ToolUse{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Args: anyJSON().Draw(t, "args"), Invalid: text.Draw(t, "invalid")}
	})
}

func anyRequest() *rapid.Generator[llm.Request] {
	message := rapid.Custom(func(t *rapid.T) llm.Message {
		return llm.Message{
			Role:   rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant, ""}).Draw(t, "role"),
			Blocks: rapid.SliceOfN(anyBlock(), 0, 5).Draw(t, "blocks"),
		}
	})
	tool := rapid.Custom(func(t *rapid.T) llm.Tool {
		return llm.Tool{Name: anyText().Draw(t, "name"), Description: anyText().Draw(t, "description"), Schema: anyJSON().Draw(t, "schema")}
	})
	return rapid.Custom(func(t *rapid.T) llm.Request {
		return llm.Request{
			Model:     rapid.OneOf(rapid.SampledFrom([]string{"m", "n"}), anyText()).Draw(t, "model"),
			System:    anyText().Draw(t, "system"),
			Tools:     rapid.SliceOfN(tool, 0, 4).Draw(t, "tools"),
			Messages:  rapid.SliceOfN(message, 0, 6).Draw(t, "messages"),
			MaxOutput: rapid.OneOf(rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}), rapid.Int64()).Draw(t, "max output"),
			Session:   anyText().Draw(t, "session"),
		}
	})
}
