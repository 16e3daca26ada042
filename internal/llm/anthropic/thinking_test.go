package anthropic_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/llm"
	"agency/internal/llm/anthropic"
	"agency/internal/llm/llmtest"
)

const thinkingScript = `
version: 1
rules:
  - {name: first, when: {turn: 1}, reasoning: "deep <&> \u2028 thought", text: one, calls: [{tool: read_file, args: {path: a}}, {tool: read_file, args: {path: b}}], quirks: [redacted_thinking]}
  - {name: second, when: {turn: 2}, reasoning: again, calls: [{tool: read_file, args: {path: c}}]}
  - {name: third, when: {turn: 3}, reasoning: more, text: done}
`

// sentMessages are the messages of a body, with the kinds of their blocks.
func sentMessages(t *testing.T, body []byte) (thinking bool, kinds [][]string, blocks []json.RawMessage) {
	t.Helper()
	var in struct {
		Thinking json.RawMessage `json:"thinking"`
		Messages []struct {
			Content []json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatal(err)
	}
	for _, m := range in.Messages {
		var of []string
		for _, b := range m.Content {
			var k struct {
				Type string `json:"type"`
			}
			if err := json.Unmarshal(b, &k); err != nil {
				t.Fatal(err)
			}
			of = append(of, k.Type)
			if k.Type == "thinking" || k.Type == "redacted_thinking" {
				blocks = append(blocks, b)
			}
		}
		kinds = append(kinds, of)
	}
	return in.Thinking != nil, kinds, blocks
}

func results(a llm.Answer) llm.Message {
	m := llm.Message{Role: llm.User}
	for _, c := range a.Message.Calls() {
		m.Blocks = append(m.Blocks, llm.ToolResult{ID: c.ID, Text: "done"})
	}
	return m
}

// What the model thought between its calls goes back word for word and in its
// place, also after it was stored.
func TestThinkingIsGivenBack(t *testing.T) {
	server := serve(t, thinkingScript)
	m := anthropic.New(anthropic.Options{Name: "test", BaseURL: server.URL, APIKey: key}, anthropic.Thinking{Budget: 4000})
	t.Cleanup(m.Close)
	req := llmtest.Ask()
	req.MaxOutput = 8000
	for range 3 {
		a, err := llm.Collect(m.Ask(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(a.Message)
		if err != nil {
			t.Fatal(err)
		}
		var back llm.Message
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, back, results(a))
	}
	bodies := server.Bodies()
	asked, kinds, blocks := sentMessages(t, bodies[2])
	want := [][]string{{"text"}, {"thinking", "redacted_thinking", "text", "tool_use", "tool_use"}, {"tool_result", "tool_result"}, {"thinking", "tool_use"}, {"tool_result"}}
	if diff := cmp.Diff(want, kinds); diff != "" || !asked {
		t.Errorf("thinking asked for: %v; blocks (-want +got):\n%s", asked, diff)
	}
	_, _, before := sentMessages(t, bodies[1])
	if len(blocks) != 3 || len(before) != 2 || !bytes.Equal(blocks[0], before[0]) || !bytes.Equal(blocks[1], before[1]) {
		t.Errorf("blocks %s then %s", before, blocks)
	}
}

// Another model made the open calls, of this provider or of another one: its
// thoughts are dropped, and thinking is asked for again only when a call of
// this one may be open.
func TestThinkingAfterAnotherModel(t *testing.T) {
	for name, by := range map[string]llm.Reasoning{
		"other provider": {Provider: "other", Model: "rehearsal"}, "other model": {Provider: "test", Model: "rehearsal-2"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, thinkingScript)
			m := anthropic.New(anthropic.Options{Name: "test", BaseURL: server.URL, APIKey: key}, anthropic.Thinking{Budget: 4000})
			t.Cleanup(m.Close)
			by.Opaque = json.RawMessage(`{"type":"thinking","thinking":"x","signature":"rehearsal/x"}`)
			req := llmtest.Ask()
			req.MaxOutput = 8000
			call := llm.ToolUse{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"path":"x"}`)}
			req.Messages = append(req.Messages,
				llm.Message{Role: llm.Assistant, Blocks: []llm.Block{by, call}},
				llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ToolResult{ID: "c1", Text: "done"}}})
			for range 2 {
				a, err := llm.Collect(m.Ask(t.Context(), req))
				if err != nil {
					t.Fatal(err)
				}
				req.Messages = append(req.Messages, a.Message, results(a))
			}
			for i, want := range []bool{false, true} {
				if asked, kinds, _ := sentMessages(t, server.Bodies()[i]); asked != want || kinds[1][0] != "tool_use" {
					t.Errorf("request %d: thinking asked for: %v, blocks %v", i+1, asked, kinds)
				}
			}
		})
	}
}

// A small answer leaves no room to think in.
func TestThinkingNeedsRoom(t *testing.T) {
	server := serve(t, thinkingScript)
	m := anthropic.New(anthropic.Options{Name: "test", BaseURL: server.URL, APIKey: key}, anthropic.Thinking{Budget: 4000})
	t.Cleanup(m.Close)
	for _, room := range []int64{1000, 2047, 2048} {
		req := llmtest.Ask()
		req.MaxOutput = room
		if _, err := llm.Collect(m.Ask(t.Context(), req)); err != nil {
			t.Fatalf("max output %d: %v", room, err)
		}
	}
	for i, want := range []bool{false, false, true} {
		if asked, _, _ := sentMessages(t, server.Bodies()[i]); asked != want {
			t.Errorf("request %d: thinking asked for: %v", i, asked)
		}
	}
}
