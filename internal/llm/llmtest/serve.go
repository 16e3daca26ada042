package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/llm"
)

// Environment points what an SDK may look up at a wrong place: a test that
// reaches it fails. The names that end in URL get an address where nobody is.
func Environment(names ...string) {
	for _, name := range append(names, "HTTP_PROXY_URL") {
		value := "from-the-environment"
		switch {
		case name == "HTTP_PROXY_URL":
			name, value = "HTTP_PROXY", "http://127.0.0.1:1/"
		case strings.HasSuffix(name, "_URL"):
			value = "http://127.0.0.1:1/"
		case strings.HasSuffix(name, "_HEADERS"):
			value = "X-Canary: from-the-environment"
		}
		_ = os.Setenv(name, value) // only a bad name fails
	}
}

// Start serves h until the test ends; path is what an adapter's base URL has
// after the host.
func Start(t *testing.T, h http.Handler, path string, bodies func() [][]byte) Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return Server{URL: srv.URL + path, Bodies: bodies}
}

// Odd is the address of a server that answers every request with one body.
func Odd(t *testing.T, status int, contentType, body string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// StreamScript is answered with text and two calls, in the form of a quirk.
func StreamScript(quirks string) string {
	return fmt.Sprintf("version: 1\nrules:\n  - {text: \"t é 🙂\", reasoning: r, calls: [{tool: a, args: {p: \"x\\\"<ü\"}}, {tool: b, args: {}}], quirks: [%s]}\n", quirks)
}

// Take reads an answer from memory.
func Take(r llm.Reply, data []byte) (llm.Answer, error) {
	res := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(data))}
	if err := llm.Receive(llm.Endpoint{Provider: "p"}, res, r, func(error) bool { return true }); err != nil {
		return llm.Answer{}, err
	}
	return r.Answer(), nil
}

// CutAtEveryByte: a stream that ends at any byte is the whole answer or a named
// fault.
func CutAtEveryByte(t *testing.T, all []byte, reply func() llm.Reply) {
	t.Helper()
	want, err := Take(reply(), all)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for i := range all {
		got, err := Take(reply(), all[:i])
		var f *llm.Fault
		switch {
		case err == nil:
			whole++
			if diff := cmp.Diff(want.Message, got.Message); diff != "" {
				t.Fatalf("cut at %d of %d (-want +got):\n%s", i, len(all), diff)
			}
		case !errors.As(err, &f) || f.Kind != llm.StreamCut && f.Kind != llm.BadAnswer:
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	t.Logf("%d of %d cuts hold the whole answer", whole, len(all))
}

// Fuzzed: nothing that a server sends makes an adapter panic, and what it takes
// for an answer can be stored and sent back; body writes a request.
func Fuzzed(t *testing.T, r llm.Reply, data []byte, body func(llm.Request) ([]byte, error)) {
	t.Helper()
	a, err := Take(r, data)
	if err != nil {
		var fault *llm.Fault
		if !errors.As(err, &fault) {
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	if _, err := json.Marshal(a.Message); err != nil {
		t.Fatal(err)
	}
	sent, err := body(llm.Request{Messages: []llm.Message{a.Message}})
	if err != nil || !json.Valid(sent) {
		t.Fatalf("no JSON: %v: %s", err, sent)
	}
}

// Served is what became of one odd answer.
type Served struct {
	Stop  llm.StopReason // of an answer
	Fault llm.FaultKind  // or of none
	Words string         // the answer's text, or what the fault's words hold
	Calls int
	Args  string // of the first call, where it is named
}

// Check asks m once and compares.
func (want Served) Check(t *testing.T, m llm.Model) {
	t.Helper()
	a, err := llm.Collect(m.Ask(t.Context(), Ask()))
	var f *llm.Fault
	if errors.As(err, &f) {
		if f.Kind != want.Fault || !strings.Contains(f.Error(), want.Words) {
			t.Errorf("fault %v, want %q with %q", err, want.Fault, want.Words)
		}
		return
	}
	if err != nil || want.Fault != "" || a.Stop != want.Stop || a.Message.Words() != want.Words {
		t.Errorf("error %v, stop %q, words %q; want %+v", err, a.Stop, a.Message.Words(), want)
	}
	calls := a.Message.Calls()
	if len(calls) != want.Calls || want.Args != "" && string(calls[0].Args) != want.Args {
		t.Errorf("calls %+v, want %+v", calls, want)
	}
	if a.Usage.In <= 0 {
		t.Errorf("usage %+v", a.Usage)
	}
}
