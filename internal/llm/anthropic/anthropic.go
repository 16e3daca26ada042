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

	"agency/internal/llm"
)

// Options name the server; BaseURL is without /v1.
type Options = llm.Options

// Model is an llm.Model; it is safe for concurrent use.
type Model struct {
	client   *llm.Client
	thinking Thinking
}

// Thinking is how the model is told to think.
type Thinking struct {
	Budget int64 // how many tokens of an answer, also between its calls; below 1024: not
	// Adaptive leaves it to the model how much, whatever Budget says.
	Adaptive bool
}

// vendorURL is where requests go without a base URL.
const vendorURL = "https://api.anthropic.com/"

// New makes the adapter; it does no I/O and reads no environment.
func New(opts Options, thinking Thinking) *Model {
	c := llm.NewClient(opts, cmp.Or(opts.BaseURL, vendorURL), "X-Api-Key", "")
	c.Header.Set("Accept", "application/json")
	c.Header.Set("Anthropic-Version", "2023-06-01")
	if !thinking.Adaptive && thinking.Budget >= minThinking {
		c.Header.Set("Anthropic-Beta", "interleaved-thinking-2025-05-14")
	}
	return &Model{client: c, thinking: thinking}
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.Close() }

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return m.client.Ask(ctx, req, llm.Wire{
		Path: "v1/messages", Body: m.body,
		Reply: func(g llm.Gathering) llm.Reply { return &answer{Gathering: g} },
	})
}
