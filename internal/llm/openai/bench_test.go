package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
)

// longTalk is a conversation of so many turns, each with a call and 2 KiB of code.
func longTalk(turns int) llm.Request {
	code := strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"read %q: %w\", path, err)\n\t}\n", 30)
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"` +
		strings.Repeat("A file of the repository. ", 20) + `"},"n":{"type":"integer","minimum":1}},"required":["path"]}`)
	req := llm.Request{Model: "m", System: strings.Repeat("You write code. ", 200)}
	for i := range 12 {
		req.Tools = append(req.Tools, llm.Tool{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("Does a thing. ", 20), Schema: schema})
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: "Mend it."}}})
	for i := range turns {
		id := fmt.Sprintf("call_%d", i)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, Blocks: []llm.Block{
				llm.Text{Text: "I look."},
				llm.ToolUse{ID: id, Name: "tool_1", Args: json.RawMessage(`{"path":"internal/a/b.go","n":7}`)},
			}},
			llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ToolResult{ID: id, Text: code}}})
	}
	return req
}

// BenchmarkRequest is one request from the canonical form to the transport:
// written by the adapter, and by the SDK for comparison.
func BenchmarkRequest(b *testing.B) {
	m := New(Options{Name: "p", APIKey: "k", BaseURL: "http://127.0.0.1:1/v1"})
	m.client.HTTP = llmtest.Capture(new(llmtest.Sent))
	for _, turns := range []int{5, 50} {
		req := longTalk(turns)
		b.Run(fmt.Sprintf("turn=%d/by=sdk", turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (reference{m}).send(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("turn=%d/by=adapter", turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.client.Post(b.Context(), "chat/completions", func(dst []byte) []byte { return m.body(dst, req) }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("turn=%d/by=encoder", turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(len(m.body(nil, req))))
			}
		})
	}
}
