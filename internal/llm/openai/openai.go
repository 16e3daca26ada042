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
	"iter"
	"net/url"
	"strings"
	"sync/atomic"

	"agency/internal/llm"
)

// Options name the server; BaseURL is with /v1.
type Options = llm.Options

// Model is an llm.Model; it is safe for concurrent use.
type Model struct {
	client *llm.Client

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
	return &Model{client: connect(opts), vendor: isVendor(opts.BaseURL)}
}

// connect makes the client of either of OpenAI's APIs.
func connect(opts Options) *llm.Client {
	c := llm.NewClient(opts, cmp.Or(opts.BaseURL, vendorURL), "Authorization", "Bearer ")
	c.Header.Set("Accept", "application/json")
	return c
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.Close() }

func isVendor(base string) bool {
	if base == "" {
		return true
	}
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com"))
}

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return m.client.Ask(ctx, req, llm.Wire{
		Path: "chat/completions", Body: m.body, Learn: m.learn,
		Reply: func(g llm.Gathering) llm.Reply { return &answer{Gathering: g, ends: &m.ends} },
	})
}

// learn looks for a parameter that the server refuses and that can be left
// out or named otherwise. It answers true at most once for each.
func (m *Model) learn(detail string) bool {
	switch {
	case strings.Contains(detail, "stream_options"):
		return m.noStreamOptions.CompareAndSwap(false, true)
	case strings.Contains(detail, "max_tokens"), strings.Contains(detail, "max_completion_tokens"):
		return m.otherLimit.CompareAndSwap(false, true)
	}
	return false
}
