package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, script string, opts wire.Options) (*wire.Server, string) {
	t.Helper()
	s, err := rehearsal.Parse("t.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	h := wire.New(rehearsal.NewPlayer(s), opts)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return h, srv.URL
}

func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	out, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(out)
}

// The server refuses what the vendors refuse, so that an adapter or a session
// that sends it is found out.
func TestRefusals(t *testing.T) {
	_, url := serve(t, "version: 1\nrules: [{text: x}]", wire.Options{})
	for name, tc := range map[string]struct{ path, body, want string }{
		"no JSON":             {"/v1/chat/completions", `{`, "unexpected end"},
		"call without result": {"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"t","arguments":"{}"}}]},{"role":"assistant","content":"x"}]}`, `call \"a\" has no result`},
		"open at the end":     {"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"t","arguments":"{}"}}]}]}`, `call \"a\" has no result`},
		"result without call": {"/v1/chat/completions", `{"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`, "answers no open call"},
		"id twice":            {"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"t"}},{"id":"a","function":{"name":"t"}}]}]}`, "used twice"},
		"role":                {"/v1/chat/completions", `{"messages":[{"role":"robot","content":"x"}]}`, "unknown role"},
		"max_tokens":          {"/v1/messages", `{"messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		"blank text":          {"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]}`, "non-whitespace"},
		"empty content":       {"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[]}]}`, "content is empty"},
		"text before result":  {"/v1/messages", `{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]},{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}]}`, "has no result"},
		"input no object":     {"/v1/messages", `{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":"x"}]}]}`, "want an object"},
		"five marks":          {"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4) + `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`, "maximum of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := ask(t, "POST", url+tc.path, tc.body)
			if status != 400 || !strings.Contains(body, tc.want) {
				t.Errorf("status %d, body %s; want 400 and %q", status, body, tc.want)
			}
		})
	}
}

func TestModelsAndKey(t *testing.T) {
	_, url := serve(t, "version: 1\nrules: [{text: x}]", wire.Options{Key: "k"})
	if status, body := ask(t, "GET", url+"/v1/models", ""); status != 200 || !strings.Contains(body, `"id":"rehearsal"`) {
		t.Errorf("models: %d %s", status, body)
	}
	if status, _ := ask(t, "POST", url+"/v1/chat/completions", `{}`); status != 401 {
		t.Errorf("without the key: %d", status)
	}
}

// The recorder finds a question that is asked again after it was answered,
// and does not mind one that is asked again after a fault.
func TestRecorderFindsRepeatedQuestions(t *testing.T) {
	h, url := serve(t, "version: 1\nrules: [{text: x, fault: {kind: server, times: 1}}]", wire.Options{})
	const body = `{"model":"m","messages":[{"role":"user","content":"go"}]}`
	for range 2 {
		ask(t, "POST", url+"/v1/chat/completions", body)
	}
	if again := h.Recorder().Repeated(); len(again) != 0 {
		t.Errorf("asked again: %v", again)
	}
	ask(t, "POST", url+"/v1/chat/completions", body)
	recs := h.Recorder().Records()
	if diff := cmp.Diff([]string{recs[0].Hash}, h.Recorder().Repeated()); diff != "" {
		t.Errorf("asked again (-want +got):\n%s", diff)
	}
	if recs[0].Fault != "server" || recs[1].Fault != "" || !recs[1].Finished || recs[1].Rule != "rule 1" {
		t.Errorf("records %+v", recs)
	}
}
