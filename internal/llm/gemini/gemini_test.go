package gemini_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"os"
	"testing"

	"go.uber.org/goleak"

	"agency/internal/llm"
	"agency/internal/llm/gemini"
	"agency/internal/llm/llmtest"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// TestMain points the environment's keys and addresses at a wrong place: a
// test that reaches it fails.
func TestMain(m *testing.M) {
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"} {
		_ = os.Setenv(name, "from-the-environment")
	}
	_ = os.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1/")
	_ = os.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	_ = os.Setenv("HTTP_PROXY", "http://127.0.0.1:1/")
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
		Unmark:       func(b []byte) []byte { return b },
		Brand:        brand,
	}.Run(t)
}
