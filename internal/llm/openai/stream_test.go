package openai

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
	wire.New(rehearsal.NewPlayer(s), wire.Options{}).ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions",
		strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}`)))
	return w.Body.Bytes()
}

func fresh() llm.Reply {
	return &answer{Gathering: llm.Gathering{At: llm.Endpoint{Provider: "p"}}, ends: &ends{}}
}

func TestCutAtEveryByte(t *testing.T) {
	for _, quirks := range []string{"", "no_finish, no_usage", "no_index", "no_stream", "comments, no_done"} {
		t.Run(quirks, func(t *testing.T) { llmtest.CutAtEveryByte(t, streamed(t, quirks), fresh) })
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
				_, err := llmtest.Take(&answer{Gathering: llm.Gathering{At: llm.Endpoint{Provider: "p"}}, ends: learned}, data)
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
		llmtest.Fuzzed(t, fresh(), data, func(req llm.Request) ([]byte, error) { return New(Options{Name: "p"}).body(nil, req), nil })
	})
}
