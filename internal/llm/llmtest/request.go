package llmtest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"pgregory.net/rapid"

	"agency/internal/llm"
)

// Nasty are texts that are hard to write as JSON.
func Nasty() []string {
	var control []byte
	for c := range byte(' ') {
		control = append(control, c)
	}
	return []string{
		"", " ", "plain", "<a href=\"x\">&amp;</a>", "\\ \" / '", string(control), "\x7f", "é 🙂 \uFFFD \u2027\u2028\u2029\u202a",
		"\xff", "a\xff\xfeb", "\xe2\x80", "\xe2\x80\xa8", "\xf0\x9f\x99", "\xed\xa0\x80", "\n\n", "a\nb\tc", "null", "{}", "[DONE]",
	}
}

func anyText() *rapid.Generator[string] {
	bits := rapid.SliceOfN(rapid.SampledFrom(Nasty()), 0, 4)
	return rapid.OneOf(
		rapid.SampledFrom(Nasty()),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		rapid.Map(bits, func(s []string) string { return strings.Join(s, "") }),
	)
}

// anyJSON is also what is none.
func anyJSON() *rapid.Generator[json.RawMessage] {
	field := rapid.SampledFrom([]string{"reasoning", "reasoning_content", "content", "Reasoning", "a", "<"})
	object := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		b.WriteString(" {")
		for i := range rapid.IntRange(0, 3).Draw(t, "fields") {
			if i > 0 {
				b.WriteString(" , ")
			}
			value := rapid.SampledFrom([]string{"null", "1e3", "[ 1, {\"<\" : \"\xff\"} ]", "\"<&\u2028\xff\\u003c\"", `""`, "true"})
			fmt.Fprintf(&b, `"%s" : %s`, field.Draw(t, "field"), value.Draw(t, "value"))
		}
		return b.String() + "}\n"
	})
	quoted := rapid.Map(anyText(), func(s string) string { return string(llm.AppendQuoted(nil, s)) })
	said := rapid.Map(quoted, func(s string) string { return `{"reasoning_content":` + s + `}` })
	return rapid.Map(rapid.OneOf(object, object, said, quoted, anyText()), func(s string) json.RawMessage {
		return json.RawMessage(s)
	})
}

func anyBlock() *rapid.Generator[llm.Block] {
	return rapid.Custom(func(t *rapid.T) llm.Block {
		text := anyText()
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			return llm.Text{Text: text.Draw(t, "text")}
		case 2:
			return llm.ToolResult{ID: text.Draw(t, "id"), Text: text.Draw(t, "result"), IsError: rapid.Bool().Draw(t, "error")}
		case 4:
			return llm.Image{
				Name: text.Draw(t, "picture"), Of: rapid.OneOf(rapid.Just(""), text).Draw(t, "of call"), Media: "image/png",
				Width: 1, Height: 1, Data: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "data"),
			}
		case 3:
			return llm.Reasoning{Provider: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "provider"), Model: rapid.SampledFrom([]string{"m", "n", ""}).Draw(t, "of"), Opaque: anyJSON().Draw(t, "opaque"), Text: "t"}
		}
		return llm.ToolUse{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Args: anyJSON().Draw(t, "args"), Invalid: text.Draw(t, "invalid")}
	})
}

// AnyRequest is any request, also one that no session would send.
func AnyRequest() *rapid.Generator[llm.Request] {
	message := rapid.Custom(func(t *rapid.T) llm.Message {
		return llm.Message{
			Role:   rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant, ""}).Draw(t, "role"),
			Blocks: rapid.SliceOfN(anyBlock(), 0, 5).Draw(t, "blocks"),
		}
	})
	tool := rapid.Custom(func(t *rapid.T) llm.Tool {
		return llm.Tool{Name: anyText().Draw(t, "name"), Description: anyText().Draw(t, "description"), Schema: anyJSON().Draw(t, "schema")}
	})
	return rapid.Custom(func(t *rapid.T) llm.Request {
		return llm.Request{
			Model:     rapid.OneOf(rapid.SampledFrom([]string{"m", "n"}), anyText()).Draw(t, "model"),
			System:    anyText().Draw(t, "system"),
			Tools:     rapid.SliceOfN(tool, 0, 4).Draw(t, "tools"),
			Messages:  rapid.SliceOfN(message, 0, 6).Draw(t, "messages"),
			MaxOutput: rapid.OneOf(rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}), rapid.Int64()).Draw(t, "max output"),
			Session:   anyText().Draw(t, "session"),
			Cache:     rapid.SampledFrom([]string{"", "a key"}).Draw(t, "cache"),
		}
	})
}
