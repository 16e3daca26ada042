package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync/atomic"
)

// toolsKept is how many sets of tools are kept in their encoded form: one for
// each kind of session that asks the same model at the same time.
const toolsKept = 8

// Memo keeps the sets of tools that were sent last, in their encoded form.
// A session sends the same set with every request, and its schemas are most of
// a short request. What is kept is never changed, only replaced, so that
// concurrent requests share it; the zero value is empty.
type Memo struct {
	sets atomic.Pointer[[]toolSet]
}

type toolSet struct {
	tools []Tool // a copy of its own, for the caller may change his
	json  []byte
}

// Encode gives the list of the tools, sorted by name, to be read only. form is a
// tool as the adapter's wire has it; it is always the same function.
func (m *Memo) Encode(tools []Tool, form func(Tool) any) []byte {
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
	sets[0] = toolSet{cloneTools(tools), encodeTools(tools, form)}
	sets = append(sets, kept[:min(len(kept), toolsKept-1)]...)
	m.sets.Store(&sets) // of two at once one is lost, and encoded again
	return sets[0].json
}

func encodeTools(in []Tool, form func(Tool) any) []byte {
	out := make([]any, 0, len(in))
	for _, t := range SortedTools(in) {
		out = append(out, form(t))
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return []byte("[]") // cannot happen: SortedTools has made the schemas valid
	}
	return raw
}

func sameTool(a, b Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}

func cloneTools(in []Tool) []Tool {
	out := slices.Clone(in)
	for i := range out {
		out[i].Schema = bytes.Clone(out[i].Schema)
	}
	return out
}
