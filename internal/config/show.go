package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"agency/internal/regexp"
)

// Show is the effective configuration as YAML, with where each value came from
// and a mark where a key has no effect in this version. Secrets are masked; references are shown, and
// whether they are set.
func Show(l *Loaded) []byte {
	p := &printer{loaded: l, absents: l.Config.absent()}
	p.object(reflect.ValueOf(l.Config), "", "")
	return []byte(p.b.String())
}

type printer struct {
	b       strings.Builder
	loaded  *Loaded
	absents []absent
}

func (p *printer) object(v reflect.Value, key, indent string) {
	for _, f := range fieldsOf(v.Type()) {
		fv := v.Field(f.index)
		if strings.HasSuffix(string(v.Type().Field(f.index).Tag.Get("json")), ",omitempty") && fv.IsZero() {
			continue
		}
		p.value(fv, f, f.name, join(key, f.name), indent)
	}
}

func (p *printer) value(v reflect.Value, f field, name, key, indent string) {
	label := indent + quoteKey(name) + ":"
	switch {
	case v.Kind() == reflect.Struct:
		p.line(label, "")
		p.object(v, key, indent+"  ")
	case v.Kind() == reflect.Map && v.Len() == 0:
		p.line(label+" {}", p.comment(key, f))
	case v.Kind() == reflect.Map:
		p.line(label, "")
		for _, k := range mapKeys(v, f) {
			p.value(v.MapIndex(reflect.ValueOf(k)), f.elem(), k, join(key, k), indent+"  ")
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		p.line(label, p.comment(key, f))
		for i := range v.Len() {
			p.line(indent+"  -", "")
			p.object(v.Index(i), fmt.Sprintf("%s[%d]", key, i), indent+"    ")
		}
	default:
		p.line(label+" "+plainValue(v), p.comment(key, f))
	}
}

func (p *printer) line(text, comment string) {
	p.b.WriteString(text)
	if comment != "" {
		p.b.WriteString("  # " + comment)
	}
	p.b.WriteByte('\n')
}

func (p *printer) comment(key string, f field) string {
	var parts []string
	if m := p.loaded.mark(key, p.absents); m != "" {
		parts = append(parts, m)
	}
	if f.expand == "secret" {
		if s := p.loaded.secretState(key); s != "" {
			parts = append(parts, s)
		}
	}
	parts = append(parts, p.loaded.state.shownOrigin(key).String())
	return strings.ReplaceAll(strings.Join(parts, "; "), "\n", " ")
}

func (s *state) shownOrigin(key string) Origin {
	if o, ok := s.origins[key]; ok {
		return o
	}
	if i := strings.IndexByte(key, '['); i > 0 {
		return s.origin(key[:i])
	}
	return s.origin(key)
}

// secretState tells whether a reference leads somewhere.
func (l *Loaded) secretState(key string) string {
	raw := l.state.raw[key]
	if rest, ok := strings.CutPrefix(key, "providers."); ok && raw == "" {
		raw = string(l.Config.Providers[strings.TrimSuffix(rest, ".api_key")].APIKey)
	}
	if !strings.Contains(raw, "${") {
		return ""
	}
	if _, unset := expand(raw, l.env); len(unset) > 0 {
		return unset[0] + " is not set"
	}
	return "set"
}

// mapKeys keeps the order of a closed set and sorts an open one.
func mapKeys(v reflect.Value, f field) []string {
	var keys []string
	for _, k := range f.keys {
		if v.MapIndex(reflect.ValueOf(k)).IsValid() {
			keys = append(keys, k)
		}
	}
	if keys == nil {
		for _, k := range v.MapKeys() {
			keys = append(keys, k.String())
		}
		slices.Sort(keys)
	}
	return keys
}

func plainValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = plainValue(v.Index(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.Map:
		var parts []string
		for _, k := range mapKeys(v, field{}) {
			parts = append(parts, k+": "+plainValue(v.MapIndex(reflect.ValueOf(k))))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.String:
		if s, ok := v.Interface().(Secret); ok {
			if s.safe() == Literal {
				return `"********"`
			}
			return quote(string(s.safe()))
		}
		return quote(v.String())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	default:
		return fmt.Sprint(v.Interface())
	}
}

var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./+-]*( [A-Za-z0-9_./+=-]+)*$`)

// quote writes a text so that any YAML reader takes it as that text.
func quote(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf":
		if s != "off" { // text in YAML 1.2, and what the manual writes
			return strconv.Quote(s)
		}
	}
	if plainText.MatchString(s) {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b) // a JSON text is a YAML text
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

func quoteKey(s string) string {
	if plainText.MatchString(s) && !strings.Contains(s, " ") {
		return s
	}
	return quote(s)
}
