package openai

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
	wire.New(rehearsal.NewPlayer(s), wire.Options{}).ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions",
		bytes.NewReader([]byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}`))))
	return w.Body.Bytes()
}

func take(data []byte) (llm.Answer, error) { return read(data, &ends{}) }

func read(data []byte, learned *ends) (llm.Answer, error) {
	a := &answer{at: llm.Endpoint{Provider: "p"}, ends: learned}
	res := &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(data))}
	if _, err := llm.Receive(a.at, res, a, func(llm.Event, error) bool { return true }); err != nil {
		return llm.Answer{}, err
	}
	return a.Answer(), nil
}

// A stream that ends at any byte is the whole answer or a named fault.
func TestCutAtEveryByte(t *testing.T) {
	for _, quirks := range []string{"", "no_finish, no_usage", "no_index", "no_stream", "comments, no_done"} {
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

// A server that never marks an end is believed from the third such end on; one
// that has marked an end never is.
func TestUnmarkedEnds(t *testing.T) {
	unmarked, marked := streamed(t, "no_finish, no_done, no_usage"), streamed(t, "")
	for name, tc := range map[string]struct {
		streams [][]byte
		want    []bool
	}{
		"never marks":  {[][]byte{unmarked, unmarked, unmarked, unmarked}, []bool{false, false, true, true}},
		"marks":        {[][]byte{marked, unmarked, unmarked, unmarked, unmarked}, []bool{true, false, false, false, false}},
		"marked later": {[][]byte{unmarked, marked, unmarked, unmarked, unmarked}, []bool{false, true, false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			learned := &ends{}
			for i, data := range tc.streams {
				_, err := read(data, learned)
				if (err == nil) != tc.want[i] {
					t.Errorf("answer %d: %v", i+1, err)
				}
			}
		})
	}
}

// FuzzStream: nothing that a server sends makes the adapter panic, and what it
// takes for an answer can be stored and sent back.
func FuzzStream(f *testing.F) {
	for _, quirks := range []string{"", "no_index, no_call_id", "object_args", "no_stream", "comments, null_content"} {
		f.Add(streamed(f, quirks))
	}
	f.Add([]byte("data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":[{\"text\":\"x\"}]}}]}\n\ndata: [DONE]"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1,\"function\":{\"arguments\":\"\"}}]},\"finish_reason\":7}]}\n\n"))
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
		if body := m.body(nil, req); !json.Valid(body) {
			t.Fatalf("no JSON: %s", body)
		}
	})
}
