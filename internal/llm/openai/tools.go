package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync/atomic"

	"agency/internal/llm"
)

// tool is a function tool on this wire.
type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// toolsKept is how many sets of tools are kept in their encoded form: one for
// each kind of session that asks the same model at the same time.
const toolsKept = 8

// toolMemo keeps the sets of tools that were sent last, in their encoded form.
// A session sends the same set with every request, and its schemas are most of
// a short request. What is kept is never changed, only replaced, so that
// concurrent requests share it; the zero value is empty.
type toolMemo struct {
	sets atomic.Pointer[[]toolSet]
}

type toolSet struct {
	tools []llm.Tool // a copy of its own, for the caller may change his
	json  []byte
}

// encode gives the tools as a JSON list, to be read only.
func (m *toolMemo) encode(tools []llm.Tool) []byte {
	var kept []toolSet
	if p := m.sets.Load(); p != nil {
		kept = *p
	}
	for _, s := range kept {
		if slices.EqualFunc(s.tools, tools, sameTool) {
			return s.json
		}
	}
	sets := make([]toolSet, 1, toolsKept)
	sets[0] = toolSet{cloneTools(tools), encodeTools(tools)}
	sets = append(sets, kept[:min(len(kept), toolsKept-1)]...)
	m.sets.Store(&sets) // of two at once one is lost, and encoded again
	return sets[0].json
}

func sameTool(a, b llm.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}

func cloneTools(in []llm.Tool) []llm.Tool {
	out := slices.Clone(in)
	for i := range out {
		out[i].Schema = bytes.Clone(out[i].Schema)
	}
	return out
}

func encodeTools(in []llm.Tool) []byte {
	out := []byte{'['}
	for _, t := range llm.SortedTools(in) {
		w := tool{Type: "function"}
		w.Function.Name, w.Function.Description, w.Function.Parameters = t.Name, t.Description, t.Schema
		raw, err := json.Marshal(w)
		if err != nil {
			continue // cannot happen: SortedTools has made the schema valid
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, ']')
}
