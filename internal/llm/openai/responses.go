package openai

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"

	"agency/internal/llm"
)

// Responses is an llm.Model over OpenAI's responses API. It uses the API
// without its state: nothing is stored there, every request holds the whole
// conversation, and what the model thought goes back as the encrypted items
// in which it came. It is safe for concurrent use.
type Responses struct {
	client *llm.Client

	// noEncrypted is learned from the server's error: models that do not reason
	// refuse to be asked for what they thought.
	noEncrypted atomic.Bool
	vendor      bool // as in Model
}

// responseBytes bounds the body of an answer, in which every text stands up to
// five times: in pieces, and as the end of each thing that it is a part of.
const responseBytes = 80 << 20

// NewResponses makes the adapter; it does no I/O and reads no environment.
func NewResponses(opts Options) *Responses {
	if opts.HTTP.MaxBytes <= 0 {
		opts.HTTP.MaxBytes = responseBytes
	}
	return &Responses{client: connect(opts), vendor: isVendor(opts.BaseURL)}
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Responses) Close() { m.client.Close() }

// Ask streams one answer.
func (m *Responses) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return m.client.Ask(ctx, req, llm.Wire{
		Path: "responses", Body: m.body, Learn: m.learn,
		Reply: func(g llm.Gathering) llm.Reply { return &response{Gathering: g} },
	})
}

// learn hears that the model gives no encrypted reasoning.
func (m *Responses) learn(detail string) bool {
	return strings.Contains(strings.ToLower(detail), "encrypted") && m.noEncrypted.CompareAndSwap(false, true)
}
