package openai

import (
	"encoding/json"

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
