package llm_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agency/internal/llm"
)

// drawMessage gives any message, also with text that is no UTF-8 and
// arguments that are no JSON.
func drawMessage(t *rapid.T) llm.Message {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant}).Draw(t, "role")}
	for range rapid.IntRange(0, 4).Draw(t, "blocks") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			m.Blocks = append(m.Blocks, llm.Text{Text: text.Draw(t, "text")})
		case 1:
			args, invalid := llm.CheckArgs(text.Draw(t, "args"))
			m.Blocks = append(m.Blocks, llm.ToolUse{ID: "i", Name: text.Draw(t, "name"), Args: args, Invalid: invalid})
		case 2:
			m.Blocks = append(m.Blocks, llm.ToolResult{ID: "i", Text: text.Draw(t, "result"), IsError: rapid.Bool().Draw(t, "error")})
		case 3:
			m.Blocks = append(m.Blocks, llm.Reasoning{Provider: "p", Opaque: json.RawMessage(`{"a":"<\\u003c\\\\u003c"}`), Text: text.Draw(t, "thought")})
		}
	}
	return m
}

// Encode of a request is a byte prefix of Encode of the longer one, and
// always the same bytes.
func TestEncodePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := llm.Request{Model: "m", System: rapid.String().Draw(t, "system"), Tools: []llm.Tool{{Name: "b"}, {Name: "a"}}}
		var before []byte
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			req.Messages = append(req.Messages, drawMessage(t))
			now := llm.Encode(req)
			if !bytes.HasPrefix(now, before) {
				t.Fatalf("%s\nis no prefix of\n%s", before, now)
			}
			if !bytes.Equal(now, llm.Encode(req)) {
				t.Fatal("two encodings differ")
			}
			before = now
		}
	})
}

// What was stored comes back, and its bytes are canonical: encoding it again
// gives the same.
func TestMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		first, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back llm.Message
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		var third llm.Message
		if err := json.Unmarshal(again, &third); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(back, third); diff != "" {
			t.Fatalf("a second storing changes it:\n%s", diff)
		}
		one, two := llm.Encode(llm.Request{Messages: []llm.Message{m}}), llm.Encode(llm.Request{Messages: []llm.Message{back}})
		if !bytes.Equal(one, two) {
			t.Fatalf("encoded live and stored:\n%s\n%s", one, two)
		}
		second, err := json.Marshal(back)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}

func TestMessageRefusesUnknownBlocks(t *testing.T) {
	var m llm.Message
	if err := json.Unmarshal([]byte(`{"role":"user","blocks":[{"type":"film"}]}`), &m); err == nil {
		t.Error("an unknown block is read")
	}
}

func TestSortedTools(t *testing.T) {
	in := []llm.Tool{{Name: "b", Schema: json.RawMessage("{ \"type\" : \"object\" }")}, {Name: "a", Schema: json.RawMessage("nonsense")}}
	want := []llm.Tool{
		{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "b", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	if diff := cmp.Diff(want, llm.SortedTools(in)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if in[0].Name != "b" {
		t.Error("the caller's list was sorted")
	}
}

// The reservation must not be below what a tokenizer can make of a request:
// its bytes are nearly all counted.
func TestBytesCoverTheRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 2000, -1).Draw(t, "text")
		req := llm.Request{System: text, Messages: []llm.Message{{Role: llm.User, Blocks: []llm.Block{
			llm.Text{Text: text}, llm.ToolResult{ID: "x", Text: text},
		}}}}
		if got := llm.Bytes(req); got < int64(3*len(text)) {
			t.Fatalf("%d bytes counted of %d", got, 3*len(text))
		}
	})
}
