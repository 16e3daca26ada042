package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"agency/internal/llm"
)

// Responses is an llm.Model over OpenAI's responses API. It uses the API
// without its state: nothing is stored there, every request holds the whole
// conversation, and what the model thought goes back as the encrypted items
// in which it came. It is safe for concurrent use.
type Responses struct {
	at     llm.Endpoint
	client *http.Client
	sdk    sdk.Client // with its options alone: transport, authentication, errors
	tools  llm.Memo
	bodies llm.Bodies

	// noEncrypted is learned from the server's error: models that do not reason
	// refuse to be asked for what they thought.
	noEncrypted atomic.Bool
}

// responseBytes bounds the body of an answer, in which every text stands up to
// five times: in pieces, and as the end of each thing that it is a part of.
const responseBytes = 80 << 20

// NewResponses makes the adapter; it does no I/O and reads no environment.
func NewResponses(opts Options) *Responses {
	if opts.HTTP.MaxBytes <= 0 {
		opts.HTTP.MaxBytes = responseBytes
	}
	at, client, with := connect(opts)
	return &Responses{at: at, client: client, sdk: sdk.Client{Options: with}}
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Responses) Close() { m.client.CloseIdleConnections() }

// Ask streams one answer.
func (m *Responses) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		res, err := m.post(ctx, req)
		if err != nil {
			yield(nil, llm.Explain(ctx, m.at, req.Model, err))
			return
		}
		defer func() { _ = res.Body.Close() }()
		a := &response{at: m.at, req: req, requestID: res.Header.Get("X-Request-Id")}
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

// post sends the request; a second time when the server's error says that the
// model gives no encrypted reasoning.
func (m *Responses) post(ctx context.Context, req llm.Request) (*http.Response, error) {
	for {
		var res *http.Response
		err := m.sdk.Post(ctx, "responses", nil, &res, option.WithMiddleware(
			func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
				m.bodies.Set(r, func(dst []byte) []byte { return m.body(dst, req) })
				return next(r)
			}))
		if err == nil {
			return res, nil
		}
		var f *llm.Fault
		if !errors.As(err, &f) || f.Kind != llm.InvalidRequest || !strings.Contains(strings.ToLower(f.Detail), "encrypted") ||
			!m.noEncrypted.CompareAndSwap(false, true) {
			return nil, err
		}
	}
}
