package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
)

// A server that does not know a parameter which can be left out is asked
// again without it, and from then on never with it.
func TestParametersAreLearned(t *testing.T) {
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		for _, unknown := range []string{"stream_options", "max_tokens"} {
			if strings.Contains(string(b), `"`+unknown+`"`) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"Unrecognized request argument supplied: `+unknown+`"}}`)
				return
			}
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"fine"}}]}`)
	}))
	t.Cleanup(srv.Close)
	m := newModel(t, srv.URL, llm.HTTPOptions{})
	for range 2 {
		a, err := llm.Collect(m.Ask(t.Context(), llmtest.Ask()))
		if err != nil || a.Message.Words() != "fine" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if len(bodies) != 4 || !strings.Contains(bodies[3], `"max_completion_tokens":1000`) {
		t.Errorf("%d requests, last %s", len(bodies), bodies[len(bodies)-1])
	}
}
