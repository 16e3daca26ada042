package gemini_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"agency/internal/llm"
	"agency/internal/llm/gemini"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// What the environment says is not for this package to read.
func TestMain(m *testing.M) {
	llmtest.Environment("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GEMINI_BASE_URL")
	goleak.VerifyTestMain(m)
}

const key = "g-test-key"

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
	m := gemini.New(gemini.Options{Name: "test", BaseURL: url, APIKey: key, KeyEnv: "GEMINI_API_KEY", HTTP: opts})
	t.Cleanup(m.Close)
	return m
}

// brand makes a signature, and the id that comes with it, one of its own: this
// wire gives back nothing else of what was thought.
func brand(r *llm.Reasoning, word string) string {
	var m map[string]string
	if json.Unmarshal(r.Opaque, &m) != nil {
		return word
	}
	sign := base64.StdEncoding.EncodeToString([]byte("rehearsal/" + word))
	m["thoughtSignature"] = sign
	if m["id"] != "" {
		m["id"] = word
	}
	r.Opaque, _ = json.Marshal(m) // strings always encode
	return sign
}

func TestSuite(t *testing.T) {
	t.Parallel()
	llmtest.Suite{
		Serve:        serve,
		New:          newModel,
		Quirks:       []string{"no_stream", "no_id", "no_usage", "no_cache_usage", "no_call_id", "comments"},
		NoCacheWrite: true,
		Tellings: map[string]string{
			"a sum above":      generated(`{}`, `{"promptTokenCount":7000,"candidatesTokenCount":100,"totalTokenCount":10000}`),
			"less afterwards":  generated(`{"promptTokenCount":7000,"candidatesTokenCount":3000}`, `{"promptTokenCount":7000,"totalTokenCount":7000}`),
			"zero afterwards":  generated(`{"promptTokenCount":7000,"candidatesTokenCount":3000}`, `{"promptTokenCount":0}`),
			"empty afterwards": generated(`{"promptTokenCount":7000,"candidatesTokenCount":3000}`, `{}`),
			"no prompt":        generated(`null`, `{"candidatesTokenCount":1000,"thoughtsTokenCount":2000,"totalTokenCount":10000}`),
		},
		Halves: map[string]string{
			"content and error":        `{"modelVersion":"other","candidates":[{"content":{"parts":[{"text":"half of"}]}}],"error":{"code":503,"status":"UNAVAILABLE","message":"busy"}}`,
			"content, error and usage": `{"modelVersion":"other","candidates":[{"content":{"parts":[{"text":"half of"}]}}],"error":{"code":503,"status":"UNAVAILABLE","message":"busy"},"usageMetadata":{"promptTokenCount":7000,"candidatesTokenCount":3000}}`,
			"a list":                   `[{"modelVersion":"other","candidates":[{"content":{"parts":[{"text":"half of"}]}}]},{"error":{"code":503,"status":"UNAVAILABLE","message":"busy"}}]`,
		},
		Unmark: func(b []byte) []byte { return b },
		Brand:  brand,
	}.Run(t)
}

// generated is an answer that tells its count twice.
func generated(first, last string) string {
	return `data: {"candidates":[{"content":{"parts":[{"text":"hi"}]}}],"usageMetadata":` + first + "}\n\n" +
		`data: {"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}],"usageMetadata":` + last + "}\n\n"
}
