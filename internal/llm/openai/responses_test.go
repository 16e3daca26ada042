package openai_test

import (
	"testing"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/openai"
)

func newResponses(t *testing.T, url string, opts llm.HTTPOptions) llm.Model {
	m := openai.NewResponses(openai.Options{Name: "test", BaseURL: url, APIKey: key, KeyEnv: "OPENAI_API_KEY", HTTP: opts})
	t.Cleanup(m.Close)
	return m
}

func TestResponsesSuite(t *testing.T) {
	t.Parallel()
	llmtest.Suite{
		Serve: serve,
		New:   newResponses,
		Quirks: []string{
			"no_stream", "no_id", "no_usage", "no_cache_usage", "no_done", "no_index", "no_call_id", "whole_args", "object_args", "comments",
		},
		Unmark: func(b []byte) []byte { return b },
	}.Run(t)
}
