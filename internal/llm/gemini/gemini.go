// Package gemini asks models over the Gemini API's own wire, generateContent,
// streamed.
//
// It sends what it is given; retries, fallback and budgets are others' work.
package gemini

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"strings"

	"agency/internal/llm"
)

// Options name the server; BaseURL is without the version.
type Options = llm.Options

// Model is an llm.Model; it is safe for concurrent use.
type Model struct{ client *llm.Client }

const (
	vendorURL = "https://generativelanguage.googleapis.com"
	version   = "v1beta"
)

// New makes the adapter; it does no I/O and reads no environment.
func New(opts Options) *Model {
	base := cmp.Or(strings.TrimRight(opts.BaseURL, "/"), vendorURL)
	if !strings.HasSuffix(base, "/"+version) && !strings.HasSuffix(base, "/v1") {
		base += "/" + version
	}
	return &Model{llm.NewClient(opts, base, "X-Goog-Api-Key", "")}
}

// Close drops idle connections; a model can be asked again afterwards.
func (m *Model) Close() { m.client.Close() }

// Ask streams one answer.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return m.client.Ask(ctx, req, llm.Wire{
		Path: "models/" + url.PathEscape(strings.TrimPrefix(req.Model, "models/")) + ":streamGenerateContent?alt=sse", Body: m.body,
		Reply: func(g llm.Gathering) llm.Reply { return &answer{Gathering: g} },
	})
}
