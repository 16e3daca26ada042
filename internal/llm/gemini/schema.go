package gemini

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agency/internal/llm"
)

// declaration is a tool on this wire.
type declaration struct {
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Parameters  *schema `json:"parameters,omitempty"`
}

// schema is the part of JSON schema that the wire knows. What it does not know
// is left out or said in the description: the tool itself checks its arguments.
type schema struct {
	Type        string             `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Description string             `json:"description,omitempty"`
	Nullable    bool               `json:"nullable,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	MinItems    json.Number        `json:"minItems,omitempty"`
	MaxItems    json.Number        `json:"maxItems,omitempty"`
	MinLength   json.Number        `json:"minLength,omitempty"`
	MaxLength   json.Number        `json:"maxLength,omitempty"`
	Minimum     json.Number        `json:"minimum,omitempty"`
	Maximum     json.Number        `json:"maximum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Ordering    []string           `json:"propertyOrdering,omitempty"`
	Required    []string           `json:"required,omitempty"`
}

// source is JSON schema as tools write it.
type source struct {
	Ref         string                     `json:"$ref"`
	Defs        map[string]json.RawMessage `json:"$defs"`
	Definitions map[string]json.RawMessage `json:"definitions"`
	Type        words                      `json:"type"`
	Format      string                     `json:"format"`
	Description string                     `json:"description"`
	Enum        []json.RawMessage          `json:"enum"`
	Const       json.RawMessage            `json:"const"`
	Items       json.RawMessage            `json:"items"`
	MinItems    json.Number                `json:"minItems"`
	MaxItems    json.Number                `json:"maxItems"`
	MinLength   json.Number                `json:"minLength"`
	MaxLength   json.Number                `json:"maxLength"`
	Minimum     json.Number                `json:"minimum"`
	Maximum     json.Number                `json:"maximum"`
	Pattern     string                     `json:"pattern"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	AllOf       []json.RawMessage          `json:"allOf"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
}

// words is a string or a list of strings.
type words []string

func (w *words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

func declare(t llm.Tool) any {
	d := declaration{Name: llm.WireName(t.Name), Description: llm.Clean(t.Description)}
	// An object without properties is refused; a tool without parameters has none.
	if s := translate(t.Schema); s != nil && len(s.Properties) > 0 {
		d.Parameters = s
	}
	return d
}

// maxDepth bounds a schema that refers to itself.
const maxDepth = 8

// translate gives a schema in the wire's terms, nil where it is none.
func translate(raw json.RawMessage) *schema {
	t := &translator{defs: map[string]json.RawMessage{}}
	return t.schema(raw, 0)
}

type translator struct {
	defs map[string]json.RawMessage
}

func (t *translator) schema(raw json.RawMessage, depth int) *schema {
	var in source
	if depth > maxDepth || json.Unmarshal(raw, &in) != nil {
		return nil
	}
	maps.Copy(t.defs, in.Defs)
	maps.Copy(t.defs, in.Definitions)
	if in.Ref != "" {
		return t.refer(in, depth)
	}
	if len(in.AllOf) == 1 {
		if out := t.schema(in.AllOf[0], depth+1); out != nil {
			out.Description = cmp.Or(in.Description, out.Description)
			return out
		}
	}
	out := &schema{
		Description: in.Description, MinItems: in.MinItems, MaxItems: in.MaxItems, MinLength: in.MinLength,
		MaxLength: in.MaxLength, Minimum: in.Minimum, Maximum: in.Maximum, Pattern: in.Pattern,
	}
	t.kind(out, in, depth)
	t.values(out, in)
	t.choices(out, append(in.AnyOf, in.OneOf...), depth)
	switch out.Type {
	case "OBJECT":
		t.properties(out, in, depth)
	case "ARRAY":
		if out.Items = t.schema(in.Items, depth+1); out.Items == nil {
			out.Items = &schema{Type: "STRING"} // the wire demands some
		}
	}
	return out
}

func (t *translator) refer(in source, depth int) *schema {
	name := in.Ref[strings.LastIndexByte(in.Ref, '/')+1:]
	out := t.schema(t.defs[name], depth+1)
	if out != nil {
		out.Description = cmp.Or(in.Description, out.Description)
	}
	return out
}

// kind settles the type; of several the first that is not null, the others are
// choices.
func (t *translator) kind(out *schema, in source, depth int) {
	var kinds []string
	for _, k := range in.Type {
		if k == "null" {
			out.Nullable = true
			continue
		}
		kinds = append(kinds, k)
	}
	switch {
	case len(kinds) == 0 && len(in.Properties) > 0:
		kinds = []string{"object"}
	case len(kinds) > 1:
		for _, k := range kinds {
			raw, _ := json.Marshal(map[string]string{"type": k}) // strings always encode
			out.AnyOf = append(out.AnyOf, t.schema(raw, depth+1))
		}
		return
	case len(kinds) == 0:
		return
	}
	out.Type = strings.ToUpper(kinds[0])
	if out.Type == "STRING" && in.Format == "date-time" {
		out.Format = in.Format // others are refused
	}
}

// values keeps the allowed values of strings; of others they are said.
func (t *translator) values(out *schema, in source) {
	if len(in.Const) > 0 {
		in.Enum = []json.RawMessage{in.Const}
	}
	var texts []string
	for _, v := range in.Enum {
		var s string
		if json.Unmarshal(v, &s) != nil || s == "" {
			texts = nil
			break
		}
		texts = append(texts, s)
	}
	switch {
	case len(in.Enum) == 0:
	case texts != nil && (out.Type == "STRING" || out.Type == ""):
		out.Type, out.Enum = "STRING", texts
	default:
		raw, _ := json.Marshal(in.Enum) // was decoded
		out.Description = strings.TrimSpace(out.Description + " One of " + string(raw) + ".")
	}
}

func (t *translator) choices(out *schema, in []json.RawMessage, depth int) {
	for _, raw := range in {
		c := t.schema(raw, depth+1)
		switch {
		case c == nil:
		case c.Type == "" && c.Nullable && len(c.AnyOf) == 0: // null
			out.Nullable = true
		default:
			out.AnyOf = append(out.AnyOf, c)
		}
	}
	if len(out.AnyOf) == 1 && out.Type == "" {
		only := out.AnyOf[0]
		only.Nullable = only.Nullable || out.Nullable
		only.Description = cmp.Or(out.Description, only.Description)
		*out = *only
	}
}

func (t *translator) properties(out *schema, in source, depth int) {
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		p := t.schema(in.Properties[name], depth+1)
		if p == nil {
			p = &schema{}
		}
		if p.Type == "" && len(p.AnyOf) == 0 {
			p.Type = "STRING" // anything at all is no type here
		}
		if out.Properties == nil {
			out.Properties = map[string]*schema{}
		}
		out.Properties[name] = p
	}
	for _, name := range in.Required {
		if out.Properties[name] != nil {
			out.Required = append(out.Required, name)
		}
	}
	slices.Sort(out.Required)
	out.Required = slices.Compact(out.Required)
}
