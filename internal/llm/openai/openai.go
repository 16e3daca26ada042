// Package openai asks models over the OpenAI chat completions wire (Model):
// OpenAI itself and every server that is compatible with it, also where it
// leaves out what the protocol calls required; and over OpenAI's responses API
// (Responses).
//
// It sends what it is given; retries, fallback and budgets are others' work.
package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

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
	at     llm.Endpoint
	client *http.Client
	sdk    sdk.Client // with its options alone: transport, authentication, errors
	tools  llm.Memo
	bodies llm.Bodies

	// What this server turned out to refuse, learned from its own error.
	noStreamOptions atomic.Bool
	otherLimit      atomic.Bool // the other of max_tokens and max_completion_tokens
	ends            ends
	vendor          bool // OpenAI's own server, or its twin at Azure
}

// vendorURL is where the SDK goes without a base URL.
const vendorURL = "https://api.openai.com/v1/"

// New makes the adapter; it does no I/O and reads no environment. The client
// is made directly, because the SDK's NewClient looks into the environment.
func New(opts Options) *Model {
	at, client, with := connect(opts)
	return &Model{at: at, client: client, vendor: isVendor(opts.BaseURL), sdk: sdk.Client{Options: with}}
}

// connect makes what both of OpenAI's APIs need.
func connect(opts Options) (llm.Endpoint, *http.Client, []option.RequestOption) {
	at := llm.Endpoint{Provider: opts.Name, KeyEnv: opts.KeyEnv, BaseURL: opts.BaseURL}
	base := opts.BaseURL
	if base == "" {
		base = vendorURL
	}
	client := llm.NewHTTPClient(at, opts.HTTP)
	with := []option.RequestOption{
		option.WithBaseURL(base), option.WithHTTPClient(client), option.WithMaxRetries(0),
	}
	if opts.APIKey != "" {
		with = append(with, option.WithAPIKey(opts.APIKey))
	}
	return at, client, with
}

func isVendor(base string) bool {
	if base == "" {
		return true
	}
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com"))
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.CloseIdleConnections() }

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		res, err := m.post(ctx, req)
		if err != nil {
			yield(nil, llm.Explain(ctx, m.at, req.Model, err))
			return
		}
		defer func() { _ = res.Body.Close() }()
		a := &answer{at: m.at, req: req, ends: &m.ends, requestID: res.Header.Get("X-Request-Id")}
		left, err := a.read(res, yield)
		switch {
		case left:
		case err != nil:
			yield(nil, llm.Explain(ctx, m.at, req.Model, err))
		default:
			yield(llm.Done{Answer: a.finish()}, nil)
		}
	}
}

// post sends the request; a second time when the server's error says which
// parameter it does not know.
func (m *Model) post(ctx context.Context, req llm.Request) (*http.Response, error) {
	for {
		var res *http.Response
		err := m.sdk.Post(ctx, "chat/completions", nil, &res, option.WithMiddleware(
			func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
				m.bodies.Set(r, func(dst []byte) []byte { return m.body(dst, req) })
				return next(r)
			}))
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

// read takes the answer in whatever form it came. left says that the caller
// has left the loop.
func (a *answer) read(res *http.Response, yield func(llm.Event, error) bool) (left bool, err error) {
	form, err := llm.Sniff(a.at, res)
	if err != nil {
		return false, err
	}
	if form == llm.FormJSON {
		return a.readJSON(res, yield)
	}
	events := ssestream.NewDecoder(&http.Response{Body: res.Body, Header: http.Header{}})
	for events.Next() {
		data := strings.TrimSpace(string(events.Event().Data))
		if strings.HasPrefix(data, "[DONE]") {
			a.done = true
			break
		}
		left, err := a.take([]byte(data), yield)
		if left || err != nil {
			return left, err
		}
	}
	return false, a.end(events.Err())
}
