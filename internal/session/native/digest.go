package native

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/text"
	"agency/internal/tool"
)

// leastResult is how much of a call's result is left at least where results
// must be shortened, in bytes.
const leastResult = 400

// fitted shortens the results of a turn that together are more than a turn may
// have: a conversation must fit after its last turn.
func (c executor) fitted(say llm.Message) llm.Message {
	room, total, n := c.window.turnRoom(), 0, 0
	for _, b := range say.Blocks {
		if r, ok := b.(llm.ToolResult); ok {
			total, n = total+len(r.Text), n+1
		}
	}
	if total <= room {
		return say
	}
	return capResults([]llm.Message{say}, max(leastResult, room/n))[0]
}

// capResults is a copy of messages whose results have at most so many bytes
// each, their calls' ids and order kept.
func capResults(in []llm.Message, most int) []llm.Message {
	out := make([]llm.Message, len(in))
	for i, m := range in {
		out[i] = m
		out[i].Blocks = slices.Clone(m.Blocks)
		for j, b := range out[i].Blocks {
			if r, ok := b.(llm.ToolResult); ok {
				r.Text = tool.Cap(r.Text, most)
				out[i].Blocks[j] = r
			}
		}
	}
	return out
}

// show adds the pictures that results show, as far as a request has room for them; of one
// that has none the result says so.
func (c executor) show(calls []session.Call, say *llm.Message) {
	n, size, room := 0, int64(0), int64(c.window.turnRoom()/2)
	for _, m := range c.req.Messages {
		for _, i := range m.Pictures() {
			n, size = n+1, size+i.Bytes
		}
	}
	for at, k := range calls {
		for _, i := range k.Result.Shows {
			i.Of = k.Use.ID
			why := ""
			switch {
			case !c.lineup.Sees:
				why = "you do not see pictures"
			case n >= llm.MaxImages, size+i.Bytes > llm.MaxImagesBytes, room < 3*i.Tokens():
				why = fmt.Sprintf("not shown: a conversation holds at most %d pictures of together %d bytes, and a turn as many as leave room for the rest", llm.MaxImages, llm.MaxImagesBytes)
			case !bytes.Equal(c.DB.Redact(i.Data), i.Data):
				why = "not shown: it holds a secret of the host"
			}
			if why == "" {
				n, size, room = n+1, size+i.Bytes, room-3*i.Tokens()
				say.Blocks = append(say.Blocks, i)
				continue
			}
			r := say.Blocks[at].(llm.ToolResult)
			r.Text += "\n[" + why + "]"
			say.Blocks[at] = r
		}
	}
}

// digest shows a conversation as text of at most so many bytes, for the one
// who sums it up.
func digest(messages []llm.Message, room int) string {
	text := ""
	for _, each := range []int{4000, 1200, 400, 120} {
		if text = render(messages, each); len(text) <= room {
			return text
		}
	}
	return tool.Cap(text, room)
}

func render(messages []llm.Message, each int) string {
	var b strings.Builder
	names := map[string]string{}
	for _, m := range messages {
		for _, block := range m.Blocks {
			switch block := block.(type) {
			case llm.Text:
				who := "agent"
				if m.Role == llm.User {
					who = "told"
				}
				fmt.Fprintf(&b, "%s: %s\n", who, tool.Cap(block.Text, each))
			case llm.ToolUse:
				names[block.ID] = block.Name
				fmt.Fprintf(&b, "call %s %s\n", block.Name, tool.Cap(string(block.Args), each))
			case llm.ToolResult:
				fmt.Fprintf(&b, "result of %s: %s\n", names[block.ID], tool.Cap(block.Text, each))
			}
		}
	}
	return b.String()
}

// extract is a summary without a model: what was called on what and what came
// of it, a line each, after the summary before.
func extract(before string, messages []llm.Message) string {
	var b strings.Builder
	failed := map[string]string{}
	for _, m := range messages {
		for _, block := range m.Blocks {
			if r, ok := block.(llm.ToolResult); ok {
				failed[r.ID] = outcomeOf(r)
			}
		}
	}
	if before != "" {
		b.WriteString(before + "\n\n")
	}
	for _, m := range messages {
		if m.Role != llm.Assistant {
			continue
		}
		if words := strings.Join(strings.Fields(m.Words()), " "); words != "" {
			fmt.Fprintf(&b, "- %s\n", text.Head(words, 240))
		}
		for _, u := range m.Calls() {
			fmt.Fprintf(&b, "- %s%s: %s\n", u.Name, session.Gist(u.Args), failed[u.ID])
		}
	}
	return tool.Cap(b.String(), maxSummary)
}

// outcomeOf is a result in a few words.
func outcomeOf(r llm.ToolResult) string {
	if r.IsError {
		return text.FirstLine(r.Text, 160)
	}
	return cmp.Or(r.Outcome, "done")
}
