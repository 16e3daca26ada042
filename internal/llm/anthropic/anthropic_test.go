package anthropic_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"testing"

	"go.uber.org/goleak"

	"agency/internal/llm"
	"agency/internal/llm/anthropic"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// TestMain points every look-up of the SDK's environment at a wrong place: a
// test that reaches it fails.
func TestMain(m *testing.M) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"} {
		_ = os.Setenv(name, "from-the-environment")
	}
	_ = os.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
	_ = os.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Canary: from-the-environment")
	_ = os.Setenv("HTTP_PROXY", "http://127.0.0.1:1/")
	goleak.VerifyTestMain(m)
}

const key = "sk-test-key"

func serve(t *testing.T, script string) llmtest.Server {
	t.Helper()
	s, err := rehearsal.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	h := wire.New(rehearsal.NewPlayer(s), wire.Options{Key: key, KeepBodies: true})
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return llmtest.Server{URL: srv.URL, Bodies: func() [][]byte {
		var out [][]byte
		for _, r := range h.Recorder().Records() {
			out = append(out, r.Body)
		}
		return out
	}}
}

func newModel(t *testing.T, url string, opts llm.HTTPOptions) llm.Model {
	m := anthropic.New(anthropic.Options{Name: "test", BaseURL: url, APIKey: key, KeyEnv: "ANTHROPIC_API_KEY", HTTP: opts})
	t.Cleanup(m.Close)
	return m
}

func TestSuite(t *testing.T) {
	t.Parallel()
	llmtest.Suite{
		Serve:  serve,
		New:    newModel,
		Quirks: []string{"no_stream", "no_id", "no_usage", "no_cache_usage", "no_finish", "no_done", "whole_args"},
		Unmark: func(b []byte) []byte { return bytes.ReplaceAll(b, mark, nil) },
	}.Run(t)
}

var mark = []byte(`,"cache_control":{"type":"ephemeral"}`)
