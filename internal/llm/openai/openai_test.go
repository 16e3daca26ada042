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
		Tellings: tellings(),
		Halves: map[string]string{
			"content and error":        `{"model":"other","choices":[{"index":0,"message":{"content":"half of"}}],"error":{"type":"server_is_overloaded","message":"busy"}}`,
			"content, error and usage": `{"model":"other","choices":[{"index":0,"message":{"content":"half of"}}],"error":{"type":"server_is_overloaded","message":"busy"},"usage":{"prompt_tokens":7000,"completion_tokens":3000}}`,
		},
		Unmark: func(b []byte) []byte { return b },
	}.Run(t)
}

// tellings are the ways in which compatible servers tell of 7000 and 3000
// tokens.
func tellings() map[string]string {
	const full = `{"prompt_tokens":7000,"completion_tokens":3000}`
	say := delta(`{"content":"hi"}`, `null`)
	end := delta(`{}`, `"stop"`)
	tail := func(usage string) string { return `{"choices":[],"usage":` + usage + `}` }
	return map[string]string{
		"zero afterwards":  events(say, end, tail(full), tail(`{"prompt_tokens":0,"completion_tokens":0}`), "[DONE]"),
		"less afterwards":  events(say, end, tail(full), tail(`{"completion_tokens":5}`), "[DONE]"),
		"empty afterwards": events(say, end, tail(full), tail(`{}`), tail(`null`), "[DONE]"),
		"at the beginning": events(tail(full), say, end, "[DONE]"),
		"in the choice":    events(say, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":`+full+`}]}`, "[DONE]"),
		"in x_groq":        events(say, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":`+full+`}}`, "[DONE]"),
		"other names":      events(say, end, tail(`{"input_tokens":7000,"output_tokens":3000}`), "[DONE]"),
		"a sum above":      events(say, end, tail(`{"prompt_tokens":7000,"completion_tokens":100,"total_tokens":10000,"completion_tokens_details":{"reasoning_tokens":2900}}`), "[DONE]"),
		"no prompt":        events(say, end, tail(`{"completion_tokens":3000,"total_tokens":10000}`), "[DONE]"),
		"a sum before":     events(say, end, tail(`{"total_tokens":10000}`), tail(full), "[DONE]"),
	}
}
