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
	m := anthropic.New(anthropic.Options{Name: "test", BaseURL: url, APIKey: key, KeyEnv: "ANTHROPIC_API_KEY", HTTP: opts}, anthropic.Thinking{})
	t.Cleanup(m.Close)
	return m
}

func TestSuite(t *testing.T) {
	t.Parallel()
	llmtest.Suite{
		Serve:  serve,
		New:    newModel,
		Quirks: []string{"no_stream", "no_id", "no_usage", "no_cache_usage", "no_finish", "no_done", "whole_args"},
		Tellings: map[string]string{
			"zero afterwards":  message(`{"input_tokens":7000,"output_tokens":3000}`, `{"output_tokens":0}`),
			"less afterwards":  message(`{"input_tokens":7000,"output_tokens":3000}`, `{"input_tokens":0,"output_tokens":7}`),
			"empty afterwards": message(`{"input_tokens":7000,"output_tokens":3000}`, `{}`),
			"all at the end":   message(`{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":7000,"output_tokens":3000}`),
			"names of chat":    message(`{}`, `{"prompt_tokens":7000,"completion_tokens":3000}`),
			"a sum above":      message(`{"input_tokens":7000,"output_tokens":1}`, `{"output_tokens":100,"total_tokens":10000}`),
		},
		Halves: map[string]string{
			"content and error":        `{"type":"message","model":"other","content":[{"type":"text","text":"half of"}],"error":{"type":"overloaded_error","message":"busy"}}`,
			"content, error and usage": `{"type":"message","model":"other","content":[{"type":"text","text":"half of"}],"usage":{"input_tokens":7000,"output_tokens":3000},"error":{"type":"overloaded_error","message":"busy"}}`,
		},
		Unmark: func(b []byte) []byte { return bytes.ReplaceAll(b, mark, nil) },
	}.Run(t)
}

var mark = []byte(`,"cache_control":{"type":"ephemeral"}`)

// message is an answer that tells its count at its begin and at its end.
func message(first, last string) string {
	return `data: {"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":` + first + "}}\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + last + "}\n\n" +
		`data: {"type":"message_stop"}` + "\n\n"
}
