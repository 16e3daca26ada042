// Package anthropic asks models over the Anthropic messages wire. It marks
// what the provider shall cache: the tools, the system prompt and the end of
// the conversation.
//
// It sends what it is given; retries, fallback and budgets are others' work.
package anthropic

import (
	"context"
	"iter"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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
	client   *http.Client
	messages sdk.MessageService
	thinking int64
}

// vendorURL is where the SDK goes without a base URL.
const vendorURL = "https://api.anthropic.com/"

// New makes the adapter; it does no I/O and reads no environment. The service
// is made directly, because the SDK's NewClient looks for credentials in the
// environment and in files.
func New(opts Options) *Model {
	at := llm.Endpoint{Provider: opts.Name, KeyEnv: opts.KeyEnv, BaseURL: opts.BaseURL}
	base := opts.BaseURL
	if base == "" {
		base = vendorURL
	}
	m := &Model{at: at, client: llm.NewHTTPClient(at, opts.HTTP), thinking: opts.Thinking}
	with := []option.RequestOption{
		option.WithBaseURL(base), option.WithHTTPClient(m.client), option.WithMaxRetries(0),
	}
	if opts.APIKey != "" {
		with = append(with, option.WithAPIKey(opts.APIKey))
	}
	if m.thinks() {
		with = append(with, option.WithHeader("anthropic-beta", "interleaved-thinking-2025-05-14"))
	}
	m.messages = sdk.NewMessageService(with...)
	return m
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.CloseIdleConnections() }

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	post := func() (*http.Response, error) {
		var res *http.Response
		err := m.messages.NewStreaming(ctx, m.params(req), option.WithResponseInto(&res)).Err()
		return res, err
	}
	return llm.Exchange(ctx, m.at, req, post, func(res *http.Response) llm.Reply {
		return &answer{at: m.at, req: req, requestID: res.Header.Get("Request-Id")}
	})
}
