// Package openai asks models over the OpenAI chat completions wire (Model):
// OpenAI itself and every server that is compatible with it, also where it
// leaves out what the protocol calls required; and over OpenAI's responses API
// (Responses).
//
// It sends what it is given; retries, fallback and budgets are others' work.
package openai

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"agency/internal/llm"
)

// Options name the server. BaseURL is what the vendor's SDK takes, with /v1;
// empty is OpenAI's own.
type Options struct {
	Name    string // the provider's configured name, for faults and reasoning blocks
	BaseURL string
	APIKey  string
	KeyEnv  string // environment variable named in the mending step of a refused key
	HTTP    llm.HTTPOptions
}

// Model is an llm.Model; it is safe for concurrent use.
type Model struct {
	server
	tools llm.Memo

	// What this server turned out to refuse, learned from its own error.
	noStreamOptions atomic.Bool
	otherLimit      atomic.Bool // the other of max_tokens and max_completion_tokens
	ends            ends
	vendor          bool // OpenAI's own server, or its twin at Azure
}

// vendorURL is where requests go without a base URL.
const vendorURL = "https://api.openai.com/v1/"

// New makes the adapter; it does no I/O and reads no environment.
func New(opts Options) *Model {
	return &Model{server: connect(opts), vendor: isVendor(opts.BaseURL)}
}

// server is what both of OpenAI's APIs ask.
type server struct {
	at     llm.Endpoint
	client *llm.Client
}

func connect(opts Options) server {
	at := llm.Endpoint{Provider: opts.Name, KeyEnv: opts.KeyEnv, BaseURL: opts.BaseURL}
	header := http.Header{"Accept": {"application/json"}}
	if opts.APIKey != "" {
		header.Set("Authorization", "Bearer "+opts.APIKey)
	}
	return server{at, &llm.Client{HTTP: llm.NewHTTPClient(at, opts.HTTP), Base: cmp.Or(opts.BaseURL, vendorURL), Header: header}}
}

// Close drops idle connections; a model can be asked again afterwards.
func (s *server) Close() { s.client.Close() }

func isVendor(base string) bool {
	if base == "" {
		return true
	}
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com"))
}

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return llm.Exchange(ctx, m.at, req,
		func() (*http.Response, error) { return m.post(ctx, req) },
		func(res *http.Response) llm.Reply {
			return &answer{at: m.at, req: req, ends: &m.ends, requestID: res.Header.Get("X-Request-Id")}
		})
}

// post sends the request; a second time when the server's error says which
// parameter it does not know.
func (m *Model) post(ctx context.Context, req llm.Request) (*http.Response, error) {
	for {
		res, err := m.client.Post(ctx, "chat/completions", func(dst []byte) []byte { return m.body(dst, req) })
		if err == nil {
			return res, nil
		}
		if !m.learn(err) {
			return nil, err
		}
	}
}

// learn looks for a parameter that the server refuses and that can be left
// out or named otherwise. It answers true at most once for each.
func (m *Model) learn(err error) bool {
	var f *llm.Fault
	if !errors.As(err, &f) || f.Kind != llm.InvalidRequest {
		return false
	}
	switch {
	case strings.Contains(f.Detail, "stream_options"):
		return m.noStreamOptions.CompareAndSwap(false, true)
	case strings.Contains(f.Detail, "max_tokens"), strings.Contains(f.Detail, "max_completion_tokens"):
		return m.otherLimit.CompareAndSwap(false, true)
	}
	return false
}
