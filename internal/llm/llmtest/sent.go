package llmtest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/llm"
)

// Sent is all of a request that reaches the transport, but for what tells only
// which client sends it.
type Sent struct {
	Method, URL, Host string
	Header            http.Header
	Length            int64
	Body              string
}

// Capture is a client that ends requests before the network and keeps what
// would be sent.
func Capture(to *Sent) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		*to = Sent{r.Method, r.URL.String(), r.Host, r.Header.Clone(), r.ContentLength, string(body)}
		if to.Host == "" {
			to.Host = r.URL.Host
		}
		for name := range to.Header {
			if name == "User-Agent" || strings.HasPrefix(name, "X-Stainless-") {
				delete(to.Header, name)
			}
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, errors.Join(err, r.Body.Close())
	})}
}

// transport is a function in the place of the network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// BaseURLs are the forms in which people write one.
func BaseURLs() []string {
	return []string{
		"", "http://h", "http://h/", "http://h:8080/v1", "http://h:8080/v1/", "http://h/v1//", "http://h/a/b/v1", "http://h/a/../v1",
		"http://h/a%2Fb/v1", "http://h/a%20b/v1/", "http://h/v1?key=x", "http://h/v1/?key=x#y", "http://user:word@h/v1", "https://[::1]:8443/v1",
	}
}

// Alike checks that the vendor's own client understood an answer as the adapter
// did: its text, and its calls with the text of their arguments.
func Alike(t *testing.T, m llm.Model, req llm.Request, text string, calls []llm.RawCall) {
	t.Helper()
	a, err := llm.Collect(m.Ask(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	var got []llm.RawCall
	for _, c := range a.Message.Calls() {
		got = append(got, llm.RawCall{ID: c.ID, Name: c.Name, Args: string(c.Args)})
	}
	for i, c := range calls {
		calls[i].Args = string(llm.CanonicalJSON(json.RawMessage(c.Args)))
	}
	if diff := cmp.Diff(calls, got); diff != "" || text != a.Message.Words() {
		t.Errorf("text %q and %q; calls -SDK +adapter:\n%s", text, a.Message.Words(), diff)
	}
}
