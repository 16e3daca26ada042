package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"agency/internal/llm"
)

// Responses is an llm.Model over OpenAI's responses API. It uses the API
// without its state: nothing is stored there, every request holds the whole
// conversation, and what the model thought goes back as the encrypted items
// in which it came. It is safe for concurrent use.
type Responses struct {
	server
	tools llm.Memo

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
	return &Responses{server: connect(opts)}
}

// Ask streams one answer.
func (m *Responses) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return llm.Exchange(ctx, m.at, req,
		func() (*http.Response, error) { return m.post(ctx, req) },
		func(res *http.Response) llm.Reply {
			return &response{at: m.at, req: req, requestID: res.Header.Get("X-Request-Id")}
		})
}

// post sends the request; a second time when the server's error says that the
// model gives no encrypted reasoning.
func (m *Responses) post(ctx context.Context, req llm.Request) (*http.Response, error) {
	for {
		res, err := m.client.Post(ctx, "responses", func(dst []byte) []byte { return m.body(dst, req) })
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
