package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"agency/internal/llm"
)

// chunk is a piece of a streamed answer, or a whole unstreamed one. What
// compatible servers leave out or write in another type must not cost the answer.
type chunk struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        message `json:"delta"`
	Message      message `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

type message struct {
	Content          flexText  `json:"content"`
	Refusal          flexText  `json:"refusal"`
	ReasoningContent flexText  `json:"reasoning_content"`
	Reasoning        flexText  `json:"reasoning"`
	ToolCalls        []call    `json:"tool_calls"`
	FunctionCall     *function `json:"function_call"`
}

type call struct {
	Index    *int      `json:"index"`
	ID       flexText  `json:"id"`
	Function *function `json:"function"`
}

type function struct {
	Name      flexText `json:"name"`
	Arguments flexText `json:"arguments"`
}

// flexText is a string that may also come as null, as a list of text parts or
// as any other JSON, whose text is then taken.
type flexText string

// UnmarshalJSON never fails.
func (t *flexText) UnmarshalJSON(data []byte) error {
	var s string
	var parts []struct {
		Text string `json:"text"`
	}
	switch {
	case string(data) == "null":
	case json.Unmarshal(data, &s) == nil:
		*t = flexText(s)
	case json.Unmarshal(data, &parts) == nil:
		for _, p := range parts {
			*t += flexText(p.Text)
		}
	default:
		*t = flexText(data)
	}
	return nil
}

// reasoningFields are the two names under which servers show reasoning.
var reasoningFields = [...]string{"reasoning_content", "reasoning"}

// answer gathers one answer.
type answer struct {
	llm.Gathering
	ends      *ends
	text      strings.Builder
	refusal   strings.Builder
	reasoning [len(reasoningFields)]strings.Builder
	calls     []*gathered
	finished  string // the last finish_reason
	done      bool   // [DONE] came, or the answer was one document
	events    int
	choice    int // the one that is read: the lowest that came first
}

// gathered is a call whose pieces are still coming.
type gathered struct {
	index    int
	hasIndex bool
	id, name string
	args     strings.Builder
}

// Whole takes an answer in one document, or chunks that stand one after the
// other without being events.
func (a *answer) Whole(body []byte) error {
	docs := json.NewDecoder(bytes.NewReader(body))
	for n := 0; ; n++ {
		var one json.RawMessage
		err := docs.Decode(&one)
		if err == io.EOF {
			a.done = n == 1
			break
		}
		if err := llm.Parsed(a.At, body, err); err != nil {
			return err
		}
		if err := a.Take(one); err != nil {
			return err
		}
	}
	if a.events == 0 {
		return llm.BadBody(a.At, http.StatusOK, body)
	}
	return a.End(nil)
}

// Take reads one chunk.
func (a *answer) Take(data []byte) error {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		a.done = true
		return llm.ErrLeave
	}
	var c chunk
	if err := a.Parse(data, &c); err != nil {
		return err
	}
	defer a.Tally.Read(data)
	a.Named = cmp.Or(c.Model, a.Named)
	if llm.Some(c.Error) {
		if len(c.Choices) > 0 {
			a.Tally.Said()
		}
		return llm.FromEvent(a.At, data)
	}
	if len(c.Choices) > 0 && a.events == 0 {
		a.choice = slices.MinFunc(c.Choices, func(x, y choice) int { return x.Index - y.Index }).Index
	}
	if len(c.Choices) > 0 || llm.Some(c.Usage) {
		a.events++
	}
	for _, one := range c.Choices {
		if one.Index != a.choice {
			continue // nobody asked for a second answer
		}
		a.finished = cmp.Or(one.FinishReason, a.finished)
		if one.says() {
			a.Tally.Said()
		}
		a.add(one.Delta)
		a.add(one.Message)
	}
	return nil
}

// add takes a message or a piece of one.
func (a *answer) add(m message) {
	for i, piece := range [...]flexText{m.ReasoningContent, m.Reasoning} {
		a.reasoning[i].WriteString(string(piece))
		a.Say(llm.SaidThinking, string(piece))
	}
	a.refusal.WriteString(string(m.Refusal))
	a.text.WriteString(string(m.Content))
	a.Say(llm.SaidText, string(m.Refusal))
	a.Say(llm.SaidText, string(m.Content))
	if m.FunctionCall != nil {
		m.ToolCalls = append(m.ToolCalls, call{Function: m.FunctionCall})
	}
	for _, c := range m.ToolCalls {
		a.addCall(c)
	}
}

func (a *answer) addCall(c call) {
	var f function
	if c.Function != nil {
		f = *c.Function
	}
	i := a.place(c, f)
	if i < 0 {
		i = len(a.calls)
		g := &gathered{}
		if c.Index != nil {
			g.index, g.hasIndex = *c.Index, true
		}
		a.calls = append(a.calls, g)
	}
	g := a.calls[i]
	if g.id == "" {
		g.id = string(c.ID)
	}
	if g.name != string(f.Name) && g.args.Len() == 0 {
		g.name += string(f.Name)
		a.Say(llm.SaidCall, string(f.Name))
	}
	g.args.WriteString(string(f.Arguments))
	a.Say(llm.SaidArgs, string(f.Arguments))
}

// place finds the call that a piece belongs to, -1 for a new one. The index
// decides where there is one, except that some servers give every parallel
// call index 0 and only another id, or no id and each call whole. Without an index a piece with a name
// begins a call, unless it repeats that of a call still open.
func (a *answer) place(c call, f function) int {
	if c.Index != nil {
		for i := len(a.calls) - 1; i >= 0; i-- {
			g := a.calls[i]
			if g.hasIndex && g.index == *c.Index {
				if f.Name != "" && (c.ID != "" && g.id != "" && string(c.ID) != g.id || c.ID == "" && f.Arguments != "" && whole(g)) {
					return -1
				}
				return i
			}
		}
		return -1
	}
	if len(a.calls) == 0 {
		return -1
	}
	i := len(a.calls) - 1
	g := a.calls[i]
	switch {
	case f.Name == "" && c.ID == "":
		return i
	case c.ID != "" && string(c.ID) == g.id && (f.Name == "" || string(f.Name) == g.name) && !json.Valid([]byte(g.args.String())):
		return i
	case f.Name == "" && c.ID != "" && g.id == "":
		return i
	}
	return -1
}

// whole tells whether a call has all its arguments.
func whole(g *gathered) bool { return g.args.Len() > 0 && json.Valid([]byte(g.args.String())) }

// ends is what an adapter has learned about how its server ends a stream.
type ends struct {
	marked   atomic.Bool  // it has sent finish_reason, [DONE] or the usage
	unmarked atomic.Int32 // orderly ends with nothing of the kind
}

// unmarkedTrust is after how many ends without a mark a server is believed to
// never send one; until then such an answer is a cut stream and asked again.
const unmarkedTrust = 2

// End decides whether the answer is complete. An orderly end of the
// connection alone proves little: proxies write one when the server died.
func (a *answer) End(err error) error {
	if a.done || a.finished != "" || err == nil && a.Count().Usage.Out > 0 {
		a.ends.marked.Store(true)
		return nil
	}
	if err != nil {
		return err
	}
	if a.events > 0 && !a.ends.marked.Load() && a.ends.unmarked.Add(1) > unmarkedTrust {
		return nil
	}
	return llm.Unended(a.At, a.events, "finish_reason and [DONE]")
}

// says tells whether a piece holds something of the answer.
func (c choice) says() bool {
	for _, m := range [...]message{c.Delta, c.Message} {
		if m.Content != "" || m.Refusal != "" || m.ReasoningContent != "" || m.Reasoning != "" || len(m.ToolCalls) > 0 || m.FunctionCall != nil {
			return true
		}
	}
	return false
}

// Answer is what was gathered, in the common form.
func (a *answer) Answer() llm.Answer {
	return a.Settle(a.stop(), a.blocks())
}

func (a *answer) blocks() []llm.Block {
	var out []llm.Block
	for i := range a.reasoning {
		if a.reasoning[i].Len() == 0 {
			continue
		}
		text := a.reasoning[i].String()
		opaque, _ := json.Marshal(map[string]string{reasoningFields[i]: text}) // strings always encode
		out = append(out, a.Reasoning(opaque, text))
	}
	text := a.text.String()
	if text == "" {
		text = a.refusal.String()
	}
	if text != "" {
		out = append(out, llm.Text{Text: text})
	}
	raw := make([]llm.RawCall, 0, len(a.calls))
	for _, c := range a.calls {
		raw = append(raw, llm.RawCall{ID: c.id, Name: c.name, Args: c.args.String()})
	}
	for _, u := range llm.FinishCalls(a.Request, raw) {
		out = append(out, u)
	}
	return out
}

func (a *answer) stop() llm.StopReason {
	switch {
	case a.finished == "content_filter", a.refusal.Len() > 0:
		return llm.StopRefusal
	case a.finished == "length", a.finished == "max_tokens":
		return llm.StopLength
	}
	return llm.StopEndTurn
}
