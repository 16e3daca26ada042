package config

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"agency/internal/text"
)

// decoder lays one file or the flags over a Config.
type decoder struct {
	state  *state
	layer  Layer
	text   *lines
	faults *collector
	env    Env
}

// state is what the layers build up.
type state struct {
	config  Config
	origins map[string]Origin
	// raw are the texts behind expanded keys as they stand in the file, by
	// dotted key: what trust is bound to, and where secrets are kept.
	raw      map[string]string
	warnings []Warning
	modelsIn bool // some layer has a models key
}

func (d *decoder) fault(n *node, format string, args ...any) {
	d.faults.add(d.text, n.line, n.col, format, args...)
}

func (d *decoder) origin(n *node) Origin {
	return Origin{Layer: d.layer, File: d.text.path, Line: n.line, Col: n.col}
}

// value decodes n into v under the rules of f; key is the dotted key.
func (d *decoder) value(v reflect.Value, n *node, f field, key string) {
	switch v.Kind() {
	case reflect.Struct:
		d.object(v, n, key)
	case reflect.Map:
		d.dict(v, n, f, key)
	case reflect.Slice:
		d.list(v, n, f, key)
	default:
		if d.scalar(v, n, f, key) {
			d.state.origins[key] = d.origin(n)
		}
	}
}

// want checks a value's shape; a mapping without a value counts as empty,
// because a file with all of a mapping's lines commented out looks like that.
func (d *decoder) want(n *node, s shape, key string) bool {
	if n.shape == s {
		return true
	}
	if n.shape == isNull {
		if s != isMap {
			d.fault(n, "%s has no value: want %s", key, shapeNames[s])
		}
		return false
	}
	d.fault(n, "%s must be %s, not %s", key, shapeNames[s], n.describe())
	return false
}

func (n *node) describe() string {
	if n.shape == isText || n.shape == isInt || n.shape == isFloat || n.shape == isBool {
		return fmt.Sprintf("%s (%s)", shapeNames[n.shape], clip(n.text))
	}
	return shapeNames[n.shape]
}

func clip(s string) string {
	return fmt.Sprintf("%q", text.Head(maskKnown(s), 40))
}

func (d *decoder) object(v reflect.Value, n *node, key string) {
	if !d.want(n, isMap, key) {
		return
	}
	for _, e := range n.entries {
		f, ok := fieldNamed(v.Type(), e.key)
		if !ok {
			d.unknown(e, v.Type(), key)
			continue
		}
		d.value(v.Field(f.index), e.value, f, join(key, e.key))
	}
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func (d *decoder) unknown(e entry, t reflect.Type, key string) {
	hint := text.Suggestion(e.key, fieldNames(t))
	if hint == "" {
		hint = elsewhere(e.key)
	}
	d.faults.add(d.text, e.line, e.col, "unknown key %s%s", clipKey(join(key, e.key)), hint)
}

func clipKey(s string) string {
	if len(s) > 80 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return clip(s)
	}
	return s
}

// elsewhere finds a known key that stands in another mapping.
func elsewhere(name string) string {
	for _, f := range fieldsOf(reflect.TypeFor[Config]()) {
		t := f.typ
		if t.Kind() == reflect.Map || t.Kind() == reflect.Slice {
			continue
		}
		if t.Kind() == reflect.Struct {
			if _, ok := fieldNamed(t, name); ok {
				return fmt.Sprintf(" (it stands under %s:)", f.name)
			}
		}
	}
	if _, ok := fieldNamed(reflect.TypeFor[Config](), name); ok {
		return " (it stands at the top level)"
	}
	return ""
}

// dict merges into a map, entry by entry.
func (d *decoder) dict(v reflect.Value, n *node, f field, key string) {
	if key == "models" {
		d.state.modelsIn = true
	}
	if !d.want(n, isMap, key) {
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	seen := map[string]bool{}
	for _, e := range n.entries {
		name, ok := d.mapKey(e, f, key)
		if !ok {
			continue
		}
		if seen[name] {
			d.faults.add(d.text, e.line, e.col, "%s twice: %s is another name of it", join(key, name), e.key)
			continue
		}
		seen[name] = true
		d.dictEntry(v, name, e, f, join(key, name))
	}
}

func (d *decoder) mapKey(e entry, f field, key string) (string, bool) {
	name := e.key
	if to, ok := f.alias[name]; ok {
		name = to
	}
	var what string
	switch {
	case f.keys != nil:
		if !slices.Contains(f.keys, name) {
			d.faults.add(d.text, e.line, e.col, "unknown key %s%s", clipKey(join(key, name)), text.Suggestion(name, f.keys))
			return "", false
		}
	case unprintable(name, false) != 0:
		what = "contains a character that does not print"
	case f.form != "":
		what = checkForm(f.form, name)
	}
	if what != "" {
		d.faults.add(d.text, e.line, e.col, "%s: %s %s", key, clip(name), what)
		return "", false
	}
	return name, true
}

func (d *decoder) dictEntry(v reflect.Value, name string, e entry, f field, key string) {
	elem := reflect.New(v.Type().Elem()).Elem()
	old := v.MapIndex(reflect.ValueOf(name))
	if old.IsValid() && !d.replaces(old, e.value, key) {
		elem.Set(old)
	} else {
		old = reflect.Value{}
	}
	before := len(d.faults.faults)
	d.value(elem, e.value, f.elem(), key)
	if elem.Kind() == reflect.Struct {
		d.state.origins[key] = Origin{Layer: d.layer, File: d.text.path, Line: e.line, Col: e.col}
		if !old.IsValid() && len(d.faults.faults) == before {
			d.required(elem.Type(), e.value, key)
		}
	}
	v.SetMapIndex(reflect.ValueOf(name), elem)
}

// replaces tells whether a provider changes its type, and then forgets what
// belonged to the old one.
func (d *decoder) replaces(old reflect.Value, n *node, key string) bool {
	p, ok := old.Interface().(Provider)
	if !ok || n.shape != isMap {
		return false
	}
	for _, e := range n.entries {
		if e.key == "type" && e.value.text != p.Type {
			within := func(k string) bool { return strings.HasPrefix(k, key+".") }
			maps.DeleteFunc(d.state.origins, func(k string, _ Origin) bool { return within(k) })
			maps.DeleteFunc(d.state.raw, func(k, _ string) bool { return within(k) })
			return true
		}
	}
	return false
}

func (d *decoder) required(t reflect.Type, n *node, key string) {
	for _, f := range fieldsOf(t) {
		has := slices.ContainsFunc(n.entries, func(e entry) bool { return e.key == f.name })
		if f.required != "" && !has {
			d.fault(n, "%s has no %s: %s", key, f.name, f.doc)
		}
	}
}

// list replaces the list of a weaker layer.
func (d *decoder) list(v reflect.Value, n *node, f field, key string) {
	if !d.want(n, isList, key) {
		return
	}
	maps.DeleteFunc(d.state.raw, func(k, _ string) bool { return strings.HasPrefix(k, key+"[") })
	maps.DeleteFunc(d.state.origins, func(k string, _ Origin) bool { return strings.HasPrefix(k, key+"[") })
	out := reflect.MakeSlice(v.Type(), 0, len(n.items))
	seen := map[string]bool{}
	for i, item := range n.items {
		elem := reflect.New(v.Type().Elem()).Elem()
		at := fmt.Sprintf("%s[%d]", key, i)
		before := len(d.faults.faults)
		d.value(elem, item, f.elem(), at)
		if len(d.faults.faults) > before {
			continue
		}
		if elem.Kind() == reflect.Struct {
			d.required(elem.Type(), item, at)
		} else if s := elem.String(); f.form != "argv" && seen[s] {
			d.fault(item, "%s: %s twice", key, clip(s))
		} else {
			seen[s] = true
			if s == "" && f.form != "argv" {
				d.fault(item, "%s is empty", at)
			}
		}
		out = reflect.Append(out, elem)
	}
	d.state.origins[key] = d.origin(n)
	v.Set(out)
}

// scalar tells whether it set the value.
func (d *decoder) scalar(v reflect.Value, n *node, f field, key string) bool {
	switch v.Kind() {
	case reflect.Bool:
		return d.boolean(v, n, f, key)
	case reflect.Int, reflect.Int64, reflect.Float64:
		return d.number(v, n, f, key)
	default:
		return d.string(v, n, f, key)
	}
}

func (d *decoder) boolean(v reflect.Value, n *node, f field, key string) bool {
	if n.shape != isBool {
		switch strings.ToLower(n.text) {
		case "yes", "on", "y":
			d.fault(n, "%s must be true or false: write true", key)
		case "no", "off", "n":
			d.fault(n, "%s must be true or false: write false", key)
		default:
			d.want(n, isBool, key)
		}
		return false
	}
	if f.fixed != "" && f.fixed != fmt.Sprint(n.bool) {
		d.fault(n, "%s: %s", key, f.doc)
		return false
	}
	v.SetBool(n.bool)
	return true
}

func (d *decoder) number(v reflect.Value, n *node, f field, key string) bool {
	whole := v.Kind() != reflect.Float64
	switch {
	case f.money() && (n.shape != isInt && n.shape != isFloat || n.shape == isFloat && (math.IsNaN(n.float) || math.IsInf(n.float, 0)) || n.tooBig):
		given := n.describe()
		if n.shape == isNull {
			given = "empty"
		}
		d.fault(n, "%s must be a number of US dollars, such as 5 or 5.00, not %s", key, given)
		return false
	case n.shape == isFloat && whole:
		d.fault(n, "%s must be a whole number, not %s", key, clip(n.text))
		return false
	case n.shape == isFloat && (math.IsNaN(n.float) || math.IsInf(n.float, 0)):
		d.fault(n, "%s must be a number, not %s", key, clip(n.text))
		return false
	case n.shape == isInt && n.tooBig:
		d.fault(n, "%s is too large", key)
		return false
	case n.shape != isInt && n.shape != isFloat:
		s := isInt
		if !whole {
			s = isFloat
		}
		d.want(n, s, key)
		return false
	}
	if what := f.outOfRange(n.float); what != "" {
		d.fault(n, "%s %s (%s), not %s", key, what, f.doc, n.text)
		return false
	}
	if whole {
		v.SetInt(n.int)
	} else {
		v.SetFloat(n.float)
	}
	return true
}

func (d *decoder) string(v reflect.Value, n *node, f field, key string) bool {
	if n.shape == isInt || n.shape == isFloat || n.shape == isBool {
		d.fault(n, "%s must be text: write %q in quotes", key, n.text)
		return false
	}
	if !d.want(n, isText, key) {
		return false
	}
	if r := unprintable(n.text, f.form == "command"); r != 0 {
		d.fault(n, "%s contains the character %U, which does not print", key, r)
		return false
	}
	if f.expand != "" {
		d.state.raw[key] = n.text // whether this layer expands it or not: a weaker one's is gone
	}
	value, done := n.text, false
	if d.expands(f) {
		if value, done = d.expanded(n, f, key); !done {
			return false
		}
	}
	if what := d.badText(value, f); what != "" {
		d.fault(n, "%s: %s %s", key, shownText(value, f), what)
		return false
	}
	v.SetString(value)
	return true
}

func shownText(value string, f field) string {
	if f.expand == "secret" || f.form == "url" {
		return "the value"
	}
	return clip(value)
}

func (d *decoder) badText(value string, f field) string {
	if f.enum != nil {
		return checkWord(value, f.enum)
	}
	if value == "" && f.typ.Kind() == reflect.String && f.form != "ref" && f.form != "glob" {
		return ""
	}
	if f.expand != "" && strings.Contains(value, "${") {
		return "" // not set: said when something needs it
	}
	return checkForm(f.form, value)
}

// expands: everything in the user's own file except commands, whose ${NAME}
// is the shell's; in what comes with a repository only the keys that need trust.
func (d *decoder) expands(f field) bool {
	switch d.layer {
	case LayerUser, LayerProfile:
		return f.form != "command"
	case LayerRepo, LayerTeam:
		return f.expand != ""
	default:
		return false
	}
}

// expanded replaces references. A secret stays a reference in the Config.
func (d *decoder) expanded(n *node, f field, key string) (string, bool) {
	if bad := badRef(n.text); bad != "" {
		what := clip(bad)
		if f.expand == "secret" {
			what = "a reference" // it may be a piece of the key
		}
		d.fault(n, "%s: %s is no ${NAME}; a plain ${ is written $${", key, what)
		return "", false
	}
	if f.expand == "secret" {
		return string(Secret(n.text).safe()), true
	}
	value, unset := expand(n.text, d.env)
	if len(unset) > 0 && f.expand == "" {
		d.state.warnings = append(d.state.warnings, Warning{
			Origin: d.origin(n), Text: fmt.Sprintf("%s is not set, so ${%[1]s} stays as it is", unset[0]),
		})
	}
	return value, true
}
