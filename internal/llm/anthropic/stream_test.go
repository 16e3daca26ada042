package anthropic

import (
	"net/http/httptest"
	"strings"
	"testing"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// streamed is what a server sends for an answer with text and two calls.
func streamed(t testing.TB, quirks string) []byte {
	t.Helper()
	s, err := rehearsal.Parse("t.yaml", []byte(llmtest.StreamScript(quirks)))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	wire.New(rehearsal.NewPlayer(s), wire.Options{}).ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages",
		strings.NewReader(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"go"}]}`)))
	return w.Body.Bytes()
}

func fresh() llm.Reply { return &answer{Gathering: llm.Gathering{At: llm.Endpoint{Provider: "p"}}} }

func TestCutAtEveryByte(t *testing.T) {
	for _, quirks := range []string{"", "no_finish, no_usage", "no_stream", "no_done", "whole_args"} {
		t.Run(quirks, func(t *testing.T) { llmtest.CutAtEveryByte(t, streamed(t, quirks), fresh) })
	}
}

// FuzzStream: nothing that a server sends makes the adapter panic, and what it
// takes for an answer can be stored and sent back.
func FuzzStream(f *testing.F) {
	for _, quirks := range []string{"", "no_stream", "whole_args, no_id"} {
		f.Add(streamed(f, quirks))
	}
	f.Add([]byte("data: {\"type\":\"content_block_delta\",\"index\":-1,\"delta\":{\"type\":\"input_json_delta\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add([]byte("{\"error\":{\"message\":\"x\"}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		llmtest.Fuzzed(t, fresh(), data, func(req llm.Request) ([]byte, error) { return New(Options{Name: "p"}, Thinking{}).body(nil, req), nil })
	})
}
