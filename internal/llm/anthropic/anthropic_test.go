package anthropic_test

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"

	"agency/internal/llm"
	"agency/internal/llm/anthropic"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// What the environment says is not for this package to read.
func TestMain(m *testing.M) {
	llmtest.Environment("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS")
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
	return llmtest.Start(t, h, "", h.Recorder().Bodies)
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
