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
		Tellings: map[string]string{
			"a sum above":      responseOf(`{}`, `{"input_tokens":7000,"output_tokens":100,"total_tokens":10000}`),
			"zero afterwards":  responseOf(`{"input_tokens":7000,"output_tokens":3000}`, `{"input_tokens":0,"output_tokens":0}`),
			"empty afterwards": responseOf(`{"input_tokens":7000,"output_tokens":3000}`, `null`),
			"names of chat":    responseOf(`null`, `{"prompt_tokens":7000,"completion_tokens":3000}`),
			"beside":           responseOf(`null`, `null},"usage":{"input_tokens":7000,"output_tokens":3000`),
		},
		Halves: map[string]string{
			"failed with output": `{"model":"other","status":"failed","output":[` + half + `],"error":{"type":"server_is_overloaded","message":"busy"}}`,
			"error with output":  `{"model":"other","output":[` + half + `],"error":{"type":"server_is_overloaded","message":"busy"},"usage":{"input_tokens":7000,"output_tokens":3000}}`,
		},
		Unmark: func(b []byte) []byte { return b },
	}.Run(t)
}

const half = `{"type":"message","id":"m","content":[{"type":"output_text","text":"half of"}]}`

// responseOf is an answer that tells its count at its begin and at its end.
func responseOf(first, last string) string {
	return events(`{"type":"response.created","response":{"id":"r","status":"in_progress","usage":`+first+`}}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+half+`}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","output":[`+half+`],"usage":`+last+`}}`)
}
