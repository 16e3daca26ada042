package openai_test

import (
	"testing"

	"go.uber.org/goleak"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/openai"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// What the environment says is not for this package to read.
func TestMain(m *testing.M) {
	llmtest.Environment("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL", "OPENAI_CUSTOM_HEADERS")
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
	return llmtest.Start(t, h, "/v1", h.Recorder().Bodies)
}

func newModel(t *testing.T, url string, opts llm.HTTPOptions) llm.Model {
	m := openai.New(openai.Options{Name: "test", BaseURL: url, APIKey: key, KeyEnv: "OPENAI_API_KEY", HTTP: opts})
	t.Cleanup(m.Close)
	return m
}

func TestSuite(t *testing.T) {
	t.Parallel()
	llmtest.Suite{
		Serve: serve,
		New:   newModel,
		Quirks: []string{
			"no_stream", "no_id", "no_usage", "no_cache_usage", "no_finish", "no_done", "no_index", "no_call_id",
			"index_zero", "null_content", "whole_args", "object_args", "comments",
		},
		Unmark: func(b []byte) []byte { return b },
	}.Run(t)
}
