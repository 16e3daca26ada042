// Package gemini asks models over the Gemini API's own wire, generateContent,
// streamed.
//
// It speaks REST itself: the vendor's SDK brings gRPC with it, which made the
// program a tenth larger and doubled the time it takes to start.
//
// It sends what it is given; retries, fallback and budgets are others' work.
package gemini

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"agency/internal/llm"
)

// Options name the server. BaseURL is what the vendor's SDK takes, without the
// version; empty is Google's own.
type Options struct {
	Name    string // the provider's configured name, for faults and reasoning blocks
	BaseURL string
	APIKey  string
	KeyEnv  string // environment variable named in the mending step of a refused key
	HTTP    llm.HTTPOptions
}

// Model is an llm.Model; it is safe for concurrent use.
type Model struct {
	at     llm.Endpoint
	client *http.Client
	base   string // with the version, without a slash at the end
	key    string
	bodies llm.Bodies
	tools  llm.Memo
}

const (
	vendorURL = "https://generativelanguage.googleapis.com"
	version   = "v1beta"
)

// New makes the adapter; it does no I/O and reads no environment.
func New(opts Options) *Model {
	at := llm.Endpoint{Provider: opts.Name, KeyEnv: opts.KeyEnv, BaseURL: opts.BaseURL}
	base := strings.TrimRight(opts.BaseURL, "/")
	if base == "" {
		base = vendorURL
	}
	if !strings.HasSuffix(base, "/"+version) && !strings.HasSuffix(base, "/v1") {
		base += "/" + version
	}
	return &Model{at: at, client: llm.NewHTTPClient(at, opts.HTTP), base: base, key: opts.APIKey}
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.CloseIdleConnections() }

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return llm.Exchange(ctx, m.at, req,
		func() (*http.Response, error) { return m.post(ctx, req) },
		func(*http.Response) llm.Reply { return &answer{at: m.at, req: req} })
}

func (m *Model) post(ctx context.Context, req llm.Request) (*http.Response, error) {
	at := m.base + "/models/" + url.PathEscape(strings.TrimPrefix(req.Model, "models/")) + ":streamGenerateContent?alt=sse"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, nil)
	if err != nil {
		return nil, err
	}
	if m.key != "" {
		r.Header.Set("X-Goog-Api-Key", m.key)
	}
	m.bodies.Set(r, func(dst []byte) []byte { return m.body(dst, req) })
	return m.client.Do(r)
}
