// Package anthropic asks models over the Anthropic messages wire. It marks
// what the provider shall cache: the tools, the system prompt and the end of
// the conversation.
//
// It sends what it is given; retries, fallback and budgets are others' work.
package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"agency/internal/llm"
)

// Options name the server. BaseURL is what the vendor's SDK takes, without
// /v1; empty is Anthropic's own.
type Options struct {
	Name    string // the provider's configured name, for faults and reasoning blocks
	BaseURL string
	APIKey  string
	KeyEnv  string // environment variable named in the mending step of a refused key
	HTTP    llm.HTTPOptions
	// Thinking is how many tokens of an answer the model may think, also
	// between its calls; below 1024 it does not.
	Thinking int64
}

// Model is an llm.Model; it is safe for concurrent use.
type Model struct {
	at       llm.Endpoint
	client   *llm.Client
	tools    llm.Memo
	thinking int64
}

// vendorURL is where requests go without a base URL.
const vendorURL = "https://api.anthropic.com/"

// New makes the adapter; it does no I/O and reads no environment.
func New(opts Options) *Model {
	at := llm.Endpoint{Provider: opts.Name, KeyEnv: opts.KeyEnv, BaseURL: opts.BaseURL}
	header := http.Header{"Accept": {"application/json"}, "Anthropic-Version": {"2023-06-01"}}
	if opts.APIKey != "" {
		header.Set("X-Api-Key", opts.APIKey)
	}
	if opts.Thinking >= minThinking {
		header.Set("Anthropic-Beta", "interleaved-thinking-2025-05-14")
	}
	client := &llm.Client{HTTP: llm.NewHTTPClient(at, opts.HTTP), Base: cmp.Or(opts.BaseURL, vendorURL), Header: header}
	return &Model{at: at, client: client, thinking: opts.Thinking}
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.Close() }

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	post := func() (*http.Response, error) {
		return m.client.Post(ctx, "v1/messages", func(dst []byte) []byte { return m.body(dst, req) })
	}
	return llm.Exchange(ctx, m.at, req, post, func(res *http.Response) llm.Reply {
		return &answer{at: m.at, req: req, requestID: res.Header.Get("Request-Id")}
	})
}
