// Package gemini asks models over the Gemini API's own wire, generateContent,
// streamed.
//
// It sends what it is given; retries, fallback and budgets are others' work.
package gemini

import (
	"cmp"
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
	client *llm.Client
	tools  llm.Memo
}

const (
	vendorURL = "https://generativelanguage.googleapis.com"
	version   = "v1beta"
)

// New makes the adapter; it does no I/O and reads no environment.
func New(opts Options) *Model {
	at := llm.Endpoint{Provider: opts.Name, KeyEnv: opts.KeyEnv, BaseURL: opts.BaseURL}
	base := cmp.Or(strings.TrimRight(opts.BaseURL, "/"), vendorURL)
	if !strings.HasSuffix(base, "/"+version) && !strings.HasSuffix(base, "/v1") {
		base += "/" + version
	}
	header := http.Header{}
	if opts.APIKey != "" {
		header.Set("X-Goog-Api-Key", opts.APIKey)
	}
	return &Model{at: at, client: &llm.Client{HTTP: llm.NewHTTPClient(at, opts.HTTP), Base: base, Header: header}}
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.Close() }

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	path := "models/" + url.PathEscape(strings.TrimPrefix(req.Model, "models/")) + ":streamGenerateContent?alt=sse"
	return llm.Exchange(ctx, m.at, req,
		func() (*http.Response, error) {
			return m.client.Post(ctx, path, func(dst []byte) []byte { return m.body(dst, req) })
		},
		func(*http.Response) llm.Reply { return &answer{at: m.at, req: req} })
}
