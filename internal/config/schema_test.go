package config

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// generatedSchema makes schema.json from Config.
func generatedSchema() []byte {
	r := jsonschema.Reflector{RequiredFromJSONSchemaTags: true, Anonymous: true}
	s := r.Reflect(&Config{})
	s.Title = "agency.yaml"
	s.Description = "Configuration of agency at a repository's root"
	defaults := reflect.ValueOf(Defaults())
	annotate(s, defaults.Type(), defaults)
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // the type is fixed, and a test makes it
	}
	return append(b, '\n')
}

// annotate carries our tags over into the definitions, once for each struct
// type; defaults is invalid below maps and lists, whose entries have none.
func annotate(root *jsonschema.Schema, t reflect.Type, defaults reflect.Value) {
	def := root.Definitions[t.Name()]
	for _, f := range fieldsOf(t) {
		prop, ok := def.Properties.Get(f.name)
		if !ok {
			continue
		}
		if f.required == "true" {
			def.Required = append(def.Required, f.name)
		}
		var value reflect.Value
		if defaults.IsValid() {
			value = defaults.Field(f.index)
		}
		annotateField(root, prop, f, value)
	}
}

func annotateField(root, prop *jsonschema.Schema, f field, value reflect.Value) {
	prop.Description = f.doc
	switch f.typ.Kind() {
	case reflect.Struct:
		annotate(root, f.typ, value)
		return
	case reflect.Map:
		annotateMap(root, prop, f)
	case reflect.Slice:
		annotateList(root, prop, f)
	case reflect.Bool:
		if f.fixed != "" {
			prop.Const = f.fixed == "true"
		}
	case reflect.String:
		annotateText(prop, f)
	default:
		prop.Minimum, prop.Maximum, prop.ExclusiveMinimum = json.Number(f.min), json.Number(f.max), json.Number(f.above)
	}
	if value.IsValid() && f.expand != "secret" {
		prop.Default = value.Interface()
	}
}

func annotateText(s *jsonschema.Schema, f field) {
	if f.expand == "secret" {
		s.Examples = []any{"${NAME}"}
	}
	for _, e := range f.enum {
		s.Enum = append(s.Enum, e)
	}
	switch f.form {
	case "model":
		s.Pattern = `^[^/\s]+/\S+$`
	case "model_or_none":
		s.Pattern = `^$|^[^/\s]+/\S+$`
	case "resource":
		s.Pattern = resRule.String()
	case "level_or_model":
		s.Pattern = `^$|^(` + strings.Join(levels(), "|") + `)$|^[^/\s]+/\S+$`
	case "runtime":
		s.Pattern = `^(` + strings.Join(runtimes(), "|") + `|acp:.+)$`
	case "role", "role_or_agent":
		for _, r := range roles() {
			s.Enum = append(s.Enum, r)
		}
	}
}

func annotateMap(root, s *jsonschema.Schema, f field) {
	e := f.elem()
	names := &jsonschema.Schema{}
	switch {
	case f.keys != nil:
		for _, k := range f.keys {
			names.Enum = append(names.Enum, k)
		}
		for _, k := range sortedKeys(f.alias) {
			names.Enum = append(names.Enum, k)
		}
	case f.form == "model":
		names.Pattern = `^[^/\s]+/\S+$`
	case f.form == "resource":
		names.Pattern = resRule.String()
	default:
		names.Pattern = nameRule.String()
	}
	s.PropertyNames = names
	switch {
	case e.typ.Kind() == reflect.Struct:
		annotate(root, e.typ, reflect.Value{})
	case e.typ.Kind() == reflect.Slice && s.AdditionalProperties != nil:
		annotateList(root, s.AdditionalProperties, e)
	case s.AdditionalProperties != nil:
		s.AdditionalProperties.Minimum, s.AdditionalProperties.Maximum = json.Number(e.min), json.Number(e.max)
	}
}

func annotateList(root, s *jsonschema.Schema, f field) {
	e := f.elem()
	s.UniqueItems = f.form != "argv"
	if e.typ.Kind() == reflect.Struct {
		annotate(root, e.typ, reflect.Value{})
		return
	}
	if s.Items != nil {
		annotateText(s.Items, e)
	}
}
