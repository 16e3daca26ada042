package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"testing"

	"agency/internal/llm"
)

// PNG is a picture of this size.
func PNG(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err) // into memory
	}
	return b.Bytes()
}

// Picture is one as a message holds it, of the result of a call or, of "", the user's.
func Picture(t testing.TB, name, of string, width, height int) llm.Image {
	t.Helper()
	i, err := llm.ReadImage(name, PNG(width, height))
	if err != nil {
		t.Fatal(err)
	}
	i.Of = of
	return i
}

// images arrive whole, the user's and those of a result, beside all words; and a picture
// without its data is left out.
func (s Suite) images(t *testing.T) {
	mine, result := Picture(t, "mine.png", "", 40, 30), Picture(t, "shot.png", "c1", 20, 10)
	req := Ask()
	req.Messages = []llm.Message{
		{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: "look"}, mine}},
		{Role: llm.Assistant, Blocks: []llm.Block{llm.ToolUse{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"path":"shot.png"}`)}}},
		{Role: llm.User, Blocks: []llm.Block{llm.ToolResult{ID: "c1", Text: "the words of it"}, result, llm.Text{Text: "go on"}}},
	}
	seen := func(i llm.Image) string { return fmt.Sprintf("image/png %dx%d %s", i.Width, i.Height, i.Hash) }
	played := fmt.Sprintf("version: 1\nrules:\n  - {when: {image: '^%s$', result: {tool: read_file, matches: '^the words of it$'}, last: 'go on'}, text: sees the result}\n"+
		"  - {when: {image: '^%s$'}, text: sees mine}\n  - {text: sees nothing}\n", seen(result), seen(mine))
	for _, tt := range []struct {
		name, want string
		ask        func() []llm.Message
	}{
		{"of a result", "sees the result", func() []llm.Message { return req.Messages }},
		{"of the user", "sees mine", func() []llm.Message { return req.Messages[:1] }},
		{"without its data", "sees nothing", func() []llm.Message {
			gone := mine
			gone.Data = nil
			return []llm.Message{{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: "look"}, gone}}}
		}},
		{"for the blind", "sees nothing", func() []llm.Message { return llm.Blind(req.Messages) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ask := req
			ask.Messages = tt.ask()
			a, err := llm.Collect(s.start(t, played).Ask(t.Context(), ask))
			if err != nil || a.Message.Words() != tt.want {
				t.Errorf("%q, %v, want %q", a.Message.Words(), err, tt.want)
			}
		})
	}
}
