package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// streamed is what a server sends for an answer with text and two calls.
func streamed(t testing.TB, quirks string) []byte {
	t.Helper()
	s, err := rehearsal.Parse("t.yaml", []byte(fmt.Sprintf(
		"version: 1\nrules:\n  - {text: \"t é 🙂\", reasoning: r, calls: [{tool: a, args: {p: \"x\\\"<ü\"}}, {tool: b, args: {}}], quirks: [%s]}\n", quirks)))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	wire.New(rehearsal.NewPlayer(s), wire.Options{}).ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages",
		bytes.NewReader([]byte(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"go"}]}`))))
	return w.Body.Bytes()
}

func take(data []byte) (llm.Answer, error) {
	a := &answer{at: llm.Endpoint{Provider: "p"}}
	res := &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(data))}
	if _, err := llm.Receive(a.at, res, a, func(llm.Event, error) bool { return true }); err != nil {
		return llm.Answer{}, err
	}
	return a.Answer(), nil
}

// A stream that ends at any byte is the whole answer or a named fault.
func TestCutAtEveryByte(t *testing.T) {
	for _, quirks := range []string{"", "no_finish, no_usage", "no_stream", "no_done", "whole_args"} {
		t.Run(quirks, func(t *testing.T) {
			all := streamed(t, quirks)
			want, err := take(all)
			if err != nil {
				t.Fatal(err)
			}
			whole := 0
			for i := range all {
				got, err := take(all[:i])
				var f *llm.Fault
				switch {
				case err == nil:
					whole++
					if diff := cmp.Diff(want.Message, got.Message); diff != "" {
						t.Fatalf("cut at %d of %d (-want +got):\n%s", i, len(all), diff)
					}
				case !errors.As(err, &f) || f.Kind != llm.StreamCut && f.Kind != llm.BadAnswer:
					t.Fatalf("cut at %d: %v", i, err)
				}
			}
			t.Logf("%d of %d cuts hold the whole answer", whole, len(all))
		})
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
		a, err := take(data)
		if err != nil {
			var fault *llm.Fault
			if !errors.As(err, &fault) && err.Error() != "bufio.Scanner: token too long" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if _, err := json.Marshal(a.Message); err != nil {
			t.Fatal(err)
		}
		m := New(Options{Name: "p"})
		req := llm.Request{Messages: []llm.Message{a.Message}}
		if _, err := json.Marshal(m.params(req)); err != nil {
			t.Fatal(err)
		}
	})
}
