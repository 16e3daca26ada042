package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"sync"

	"agency/internal/bug"
	"agency/internal/text"

	"github.com/invopop/jsonschema"
)

// Define makes a tool from a function over typed arguments. The description is
// the file NAME.md of texts.
func Define[A any](texts fs.FS, name string, access Access, fn func(context.Context, *Env, A) (Result, error)) Tool {
	text, err := fs.ReadFile(texts, name+".md")
	if err != nil {
		panic(bug.Errorf("tool %s has no description: %v", name, err))
	}
	s := shapeOf[A]()
	t := Tool{
		Name: name, Description: strings.TrimSpace(string(text)),
		Schema: s.schema, Access: access, form: s.form,
	}
	t.run = func(ctx context.Context, t Tool, env *Env, raw json.RawMessage) (Result, error) {
		var args A
		if err := s.Decode(raw, &args); err != nil {
			return t.Malformed(err.Error()), nil
		}
		return fn(ctx, env, args)
	}
	return t
}

// Outside makes a tool of a server that is not ours, whose schema and words it brings. A call
// whose host has ended is not made again: nobody knows what it has done.
func Outside(name, description string, schema json.RawMessage, fn func(context.Context, json.RawMessage) (Result, error)) Tool {
	return Tool{
		Name: name, Description: description, Schema: schema, Access: Write, Scope: Elsewhere, form: "by its schema",
		run: func(ctx context.Context, t Tool, _ *Env, raw json.RawMessage) (Result, error) {
			if !json.Valid(raw) || bytes.TrimSpace(raw)[0] != '{' {
				return t.Malformed("the arguments are not a JSON object"), nil
			}
			return fn(ctx, raw)
		},
	}
}

// Ends marks a tool that ends or parks its session.
func (t Tool) Ends() Tool {
	t.Last, t.Scope = true, Board
	return t
}

// Concludes marks a tool with which an agent ends its work, which it cannot before it has
// read what a person wrote to it meanwhile: it would not have done what was asked.
func (t Tool) Concludes() Tool {
	run := t.run
	t.run = func(ctx context.Context, t Tool, env *Env, raw json.RawMessage) (Result, error) {
		if env.Mail != nil {
			if n, err := env.Mail.Unheard(ctx); n > 0 || err != nil {
				return Refuse("a person has written to you meanwhile. It stands below, in your next turn: read it, and call " + t.Name + " again once your work fits it"), err
			}
		}
		return run(ctx, t, env, raw)
	}
	return t.Ends()
}

// OnBoard marks a tool that touches nothing but the board.
func (t Tool) OnBoard() Tool {
	t.Scope = Board
	return t
}

// Joining marks a tool of which several calls of one turn park the session
// together.
func (t Tool) Joining() Tool {
	t = t.Ends()
	t.Joins = true
	return t
}

// Unless refuses arguments, before they are decoded, for the reason that a look at
// them gives.
func (t Tool) Unless(refused func(raw json.RawMessage) string) Tool {
	run := t.run
	t.run = func(ctx context.Context, t Tool, env *Env, raw json.RawMessage) (Result, error) {
		if why := refused(raw); why != "" {
			return Refuse(why), nil
		}
		return run(ctx, t, env, raw)
	}
	return t
}

// Named is the same tool under another name, with what is said before its description.
func (t Tool) Named(name, about string) Tool {
	t.Name, t.Description = name, strings.TrimSpace(about+"\n\n"+t.Description)
	return t
}

// Choosing has the schema list the values of an argument, which is a text. Whether a call
// keeps to them is the tool's to look at.
func (t Tool) Choosing(argument string, values []string) Tool {
	sc := &jsonschema.Schema{}
	if err := json.Unmarshal(t.Schema, sc); err != nil { // it was made from a type
		panic(bug.Errorf("schema of %s: %v", t.Name, err))
	}
	p, ok := sc.Properties.Get(argument)
	if !ok {
		panic(bug.Errorf("tool %s has no argument %s", t.Name, argument))
	}
	p.Enum = make([]any, len(values))
	for i, v := range values {
		p.Enum[i] = v
	}
	raw, err := json.Marshal(sc)
	if err != nil {
		panic(bug.Errorf("schema of %s: %v", t.Name, err))
	}
	t.Schema = raw
	return t
}

// Shape is the form of a tool's arguments.
type Shape struct {
	schema   json.RawMessage
	form     string // {"path": string, "offset"?: integer}
	Names    []string
	Required []string
	nested   map[string]byte // names whose values are lists or objects: how those begin
}

// SchemaOf is the schema of a type, for a place within that of a tool's arguments.
func SchemaOf[A any]() *jsonschema.Schema { return schemaOf(reflect.TypeFor[A]()) }

func schemaOf(of reflect.Type) *jsonschema.Schema {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, AllowAdditionalProperties: true}
	s := r.ReflectFromType(of)
	s.Version = ""
	return s
}

// shapes are those that were made, by type: tools are defined anew for each agent.
var shapes sync.Map

// shapeOf is the shape of a type. It is shared: nobody changes it.
func shapeOf[A any]() Shape {
	of := reflect.TypeFor[A]()
	if made, ok := shapes.Load(of); ok {
		return made.(Shape)
	}
	s := newShape(of)
	shapes.Store(of, s)
	return s
}

func newShape(of reflect.Type) Shape {
	sc := schemaOf(of)
	if sc.Properties == nil {
		sc.Properties = jsonschema.NewProperties()
	}
	raw, err := json.Marshal(sc)
	if err != nil {
		panic(bug.Errorf("schema of %v: %v", of, err))
	}
	if sc.Properties.Len() == 0 {
		raw = json.RawMessage(`{"properties":{},"type":"object"}`)
	}
	out := Shape{schema: raw, form: objectForm(sc), Required: sc.Required, nested: map[string]byte{}}
	for p := sc.Properties.Oldest(); p != nil; p = p.Next() {
		out.Names = append(out.Names, p.Key)
		switch p.Value.Type {
		case "array":
			out.nested[p.Key] = '['
		case "object":
			out.nested[p.Key] = '{'
		}
	}
	return out
}

// objectForm shows the names of an object and what their values must be.
func objectForm(s *jsonschema.Schema) string {
	var parts []string
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		mark := "?"
		if slices.Contains(s.Required, p.Key) {
			mark = ""
		}
		parts = append(parts, fmt.Sprintf("%q%s: %s", p.Key, mark, kindOf(p.Value)))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// kindOf says in a word what a value must be.
func kindOf(s *jsonschema.Schema) string {
	switch {
	case len(s.OneOf) > 0:
		var alternatives []string
		for _, o := range s.OneOf {
			alternatives = append(alternatives, kindOf(o))
		}
		return strings.Join(alternatives, " or ")
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprintf("%q", v))
		}
		return strings.Join(values, "|")
	case s.Type == "array" && s.Items != nil:
		return "[" + kindOf(s.Items) + ", ...]"
	case s.Type == "object" && s.Properties != nil:
		return objectForm(s)
	default:
		return s.Type
	}
}

// maxFaults bounds how many faults of the names of a call are told.
const maxFaults = 20

// Decode is strict where encoding/json is lenient: names must match in case,
// occur once and be known, required ones must be there, null is no value. An
// optional argument that is null is one that is not there: many models fill in
// every name that a schema holds. A list or an object that comes as a string
// with its JSON, as many models write what is nested, is taken for what it says.
// Where names are at fault, what else can be read is there beside the error.
func (s Shape) Decode(raw json.RawMessage, into any) error {
	fields, err := objectFields(raw)
	if err != nil {
		return err
	}
	var faults []string // all at once: each costs whoever calls a turn
	for _, f := range fields {
		switch {
		case !slices.Contains(s.Names, f.name):
			faults = append(faults, "unknown argument "+QuoteName(f.name)+text.Suggestion(f.name, s.Names))
		case f.null && slices.Contains(s.Required, f.name):
			faults = append(faults, fmt.Sprintf("argument %q is null", f.name))
		}
	}
	for _, name := range s.Required {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			faults = append(faults, fmt.Sprintf("argument %q is missing", name))
		}
	}
	if len(faults) > maxFaults {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", len(faults)-maxFaults))
	}
	if len(faults) > 0 {
		_ = json.Unmarshal(raw, into) // for who wants to tell of the rest, too
		return errors.New(strings.Join(faults, "; "))
	}
	if raw, err = s.meant(raw, fields); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return sayDecode(err, into)
	}
	return nil
}

// meant is what the arguments were meant to be: without those that are null,
// which a decoder of the caller's would take for values, and with what a string
// holds where a list or an object is wanted.
func (s Shape) meant(raw json.RawMessage, fields []field) (json.RawMessage, error) {
	changes := map[string]json.RawMessage{}
	for _, f := range fields {
		if f.null {
			changes[f.name] = nil
		} else if inner := unwrapped(f.value, s.nested[f.name]); inner != nil {
			changes[f.name] = inner
		}
	}
	if len(changes) == 0 {
		return raw, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	for name, value := range changes {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return json.Marshal(all)
}

// unwrapped is the list or object whose JSON a string holds, or nil.
func unwrapped(value json.RawMessage, opening byte) json.RawMessage {
	var text string
	if opening == 0 || json.Unmarshal(value, &text) != nil {
		return nil
	}
	inner := json.RawMessage(strings.TrimSpace(text))
	if len(inner) == 0 || inner[0] != opening || !json.Valid(inner) {
		return nil
	}
	return inner
}

type field struct {
	name  string
	value json.RawMessage
	null  bool
}

// objectFields lists the names of a JSON object, once each.
func objectFields(raw json.RawMessage) ([]field, error) {
	if !json.Valid(raw) {
		return nil, errors.New("the arguments are not valid JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("the arguments are not a JSON object")
	}
	var out []field
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		name, _ := key.(string) // keys of an object are strings
		if slices.ContainsFunc(out, func(f field) bool { return f.name == name }) {
			return nil, fmt.Errorf("argument %s occurs twice", QuoteName(name))
		}
		out = append(out, field{name, value, string(value) == "null"})
	}
	return out, nil
}

// sayDecode puts an error of encoding/json into the words of the caller; into is what it
// was read into.
func sayDecode(err error, into any) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		where := wrong.Field
		if where == "" {
			return fmt.Errorf("the arguments are %s, not an object", jsonKind(wrong.Value))
		}
		return fmt.Errorf("argument %q is %s, not %s", where, jsonKind(wrong.Value), goKind(wrong.Type))
	}
	what := strings.TrimPrefix(err.Error(), "json: ")
	var name string
	if _, quoted, unknown := strings.Cut(what, "unknown field "); unknown && json.Unmarshal([]byte(quoted), &name) == nil {
		what += text.Suggestion(name, fieldNames(reflect.TypeOf(into), 0))
	}
	return errors.New(what)
}

// fieldNames are the names of the fields of a type, and of those in them.
func fieldNames(t reflect.Type, depth int) (out []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth > deepest {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, name)
		}
		out = append(out, fieldNames(f.Type, depth+1)...)
	}
	return out
}

// deepest bounds how deep fields of arguments are named.
const deepest = 8

// jsonKind names a value as encoding/json does, in the words of goKind.
func jsonKind(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "a boolean"
	default: // string, number, and "number" with its text
		return "a " + value
	}
}

func goKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}
