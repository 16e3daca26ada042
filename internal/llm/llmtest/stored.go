package llmtest

import (
	"bytes"
	"encoding/json"
	"testing"

	"agency/internal/llm"
)

// stored: a conversation that was stored and read again is sent in the same
// bytes, also where a tool's output was no UTF-8.
func (s Suite) stored(t *testing.T) {
	server := s.Serve(t, script("    reasoning: \"a < b & c \\u2028\""))
	m := s.New(t, server.URL, llm.HTTPOptions{})
	req := Ask()
	a, err := llm.Collect(m.Ask(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	answer := llm.Message{Role: llm.User}
	for _, c := range a.Message.Calls() {
		answer.Blocks = append(answer.Blocks, llm.ToolResult{ID: c.ID, Text: "bytes \xff\xfe\x00 \u2028 <é>"})
	}
	answer.Blocks = append(answer.Blocks, llm.Text{Text: "and \xc3\x28"})
	req.Messages = append(req.Messages, a.Message, answer)
	if _, err := llm.Collect(m.Ask(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	for i, msg := range req.Messages {
		data, err := json.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages[i] = llm.Message{}
		if err := json.Unmarshal(data, &req.Messages[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := llm.Collect(m.Ask(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if b := server.Bodies(); !bytes.Equal(b[1], b[2]) {
		t.Errorf("before and after storing:\n%s\n%s", b[1], b[2])
	}
}
