package config

import (
	"reflect"
	"strconv"
	"strings"
)

// field is what the tags of a struct field say.
type field struct {
	name     string
	index    int
	typ      reflect.Type
	doc      string
	enum     []string
	keys     []string
	alias    map[string]string
	form     string
	min, max string // inclusive
	above    string // exclusive
	expand   string // "", "true" or "secret"
	fixed    string // the only value that is allowed
	required string // as the tag
}

// fieldsOf reads a struct's tags, in the order of the struct.
func fieldsOf(t reflect.Type) []field {
	fs := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		fs = append(fs, fieldAt(t, i))
	}
	return fs
}

func fieldAt(t reflect.Type, i int) field {
	sf := t.Field(i)
	f := field{
		name: jsonName(sf), index: i, typ: sf.Type, doc: sf.Tag.Get("doc"), form: sf.Tag.Get("form"),
		min: sf.Tag.Get("min"), max: sf.Tag.Get("max"), above: sf.Tag.Get("above"),
		expand: sf.Tag.Get("expand"), fixed: sf.Tag.Get("fixed"), required: sf.Tag.Get("required"),
	}
	if f.form == "runtime" {
		f.doc += ": " + strings.Join(runtimes(), ", ") + " or acp:COMMAND"
	}
	if e, ok := sf.Tag.Lookup("enum"); ok {
		f.enum = strings.Split(e, ",")
	}
	if k, ok := sf.Tag.Lookup("keys"); ok {
		f.keys = strings.Split(k, ",")
	}
	if a, ok := sf.Tag.Lookup("alias"); ok {
		f.alias = map[string]string{}
		for pair := range strings.SplitSeq(a, ",") {
			from, to, _ := strings.Cut(pair, "=")
			f.alias[from] = to
		}
	}
	return f
}

func jsonName(sf reflect.StructField) string {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	return name
}

func fieldNamed(t reflect.Type, name string) (field, bool) {
	for i := range t.NumField() {
		if jsonName(t.Field(i)) == name {
			return fieldAt(t, i), true
		}
	}
	return field{}, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range fieldsOf(t) {
		names = append(names, f.name)
	}
	return names
}

// elem is the field of a list's items or a map's values: the same rules, one
// level down.
func (f field) elem() field {
	e := f
	e.typ = f.typ.Elem()
	e.keys, e.alias = nil, nil
	return e
}

// money tells whether a number is one of US dollars.
func (f field) money() bool {
	return strings.HasSuffix(f.name, "usd") || strings.HasPrefix(f.doc, "USD ")
}

// outOfRange says which bound a number breaks, or "".
func (f field) outOfRange(v float64) string {
	bound := func(s string) float64 { n, _ := strconv.ParseFloat(s, 64); return n }
	switch {
	case f.min != "" && f.max != "" && (v < bound(f.min) || v > bound(f.max)):
		if f.min == f.max {
			return "must be " + f.min
		}
		return "must be from " + f.min + " to " + f.max
	case f.min != "" && v < bound(f.min):
		return "must be at least " + f.min
	case f.above != "" && v <= bound(f.above):
		return "must be more than " + f.above
	case f.max != "" && v > bound(f.max):
		return "must be at most " + f.max
	}
	return ""
}

// RoleNamed is the role that another name of it means; false where it is none.
func RoleNamed(alias string) (string, bool) {
	f, _ := fieldNamed(reflect.TypeFor[Config](), "agents")
	role, ok := f.alias[alias]
	return role, ok
}

// roles are the role ids, from the tag of Config.Agents.
func roles() []string {
	f, _ := fieldNamed(reflect.TypeFor[Config](), "agents")
	return f.keys
}
