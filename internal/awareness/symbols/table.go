package symbols

import (
	"slices"
	"strconv"
	"strings"

	"agency/internal/code"
	"agency/internal/regexp"
)

// Value is what an expression may stand for: a path from something that the file
// did not make, such as "sys.modules" or "process.argv", or a text. In a path
// "()" is the result of a call, "[0]" an element, and "?" what is not known;
// names of the file's own begin with "=".
type Value struct {
	Path, Text string
	IsText     bool
}

// Binding is one thing that a name is given.
type Binding struct {
	Path string    // else
	Expr code.Node // of which
	Tail string    // this part is taken
}

// most bounds how many values an expression can have, and deepest how far one is
// followed.
const (
	most    = 12
	deepest = 40
	// maxSteps bounds how many expressions of a file are followed: what people
	// write needs a fraction of it.
	maxSteps = 4 << 20
)

// Table knows what the names of a file stand for.
type Table struct {
	lang  *Language
	bound map[string][]Binding
	grown map[string]bool
	memo  map[string][]Value
	busy  map[string]bool
	left  int // how much may still be followed
}

func newTable(root code.Node, lang *Language) *Table {
	m := &Table{lang: lang, bound: map[string][]Binding{}, grown: map[string]bool{}, memo: map[string][]Value{}, busy: map[string]bool{}, left: maxSteps}
	for n := range root.All() {
		lang.Bind(m, n)
	}
	return m
}

// Bind notes one thing that a name is given.
func (m *Table) Bind(name string, b Binding) {
	if name != "" && len(m.bound[name]) < most {
		m.bound[name] = append(m.bound[name], b)
	}
}

// Grow notes a name whose text is put together in steps.
func (m *Table) Grow(name string) { m.grown[name] = true }

// Of is what a name stands for; one that the file gives nothing stands for
// itself.
func (m *Table) Of(name string, depth int) []Value {
	if got, ok := m.memo[name]; ok {
		return got
	}
	if m.busy[name] {
		return nil
	}
	given := m.bound[name]
	if len(given) == 0 {
		return []Value{{Path: name}}
	}
	m.busy[name] = true
	var out []Value
	for _, b := range given {
		if b.Path != "" {
			out = Add(out, Value{Path: b.Path + b.Tail})
			continue
		}
		for _, v := range m.Eval(b.Expr, depth+1) {
			if b.Tail == "" {
				out = Add(out, v)
			} else if !v.IsText {
				out = Add(out, m.Whole(v.Path+b.Tail))
			}
		}
	}
	if m.grown[name] {
		out = slices.DeleteFunc(out, func(v Value) bool { return v.IsText })
	}
	delete(m.busy, name)
	if depth < deepest/2 {
		m.memo[name] = out
	}
	return out
}

// Add adds a value that is new, up to a bound.
func Add(all []Value, v Value) []Value {
	if len(all) >= most || slices.Contains(all, v) || len(v.Path)+len(v.Text) > 400 {
		return all
	}
	return append(all, v)
}

// Eval is what an expression may stand for; nothing where it is not known.
func (m *Table) Eval(n code.Node, depth int) []Value {
	if m.left--; !n.OK() || depth > deepest || m.left < 0 {
		return nil
	}
	return m.lang.Eval(m, n, depth+1)
}

// Paths are the paths that an expression may stand for.
func (m *Table) Paths(n code.Node) (out []string) {
	for _, v := range m.Eval(n, 0) {
		if !v.IsText {
			out = append(out, v.Path)
		}
	}
	return out
}

// TextOf is the text that an expression is, where there is one only.
func (m *Table) TextOf(n code.Node, depth int) (string, bool) {
	v := m.Eval(n, depth)
	if len(v) == 1 && v[0].IsText {
		return v[0].Text, true
	}
	return "", false
}

// Member is what an expression has under a name.
func (m *Table) Member(object code.Node, name string, depth int) (out []Value) {
	all := m.Eval(object, depth)
	for _, v := range all {
		if !v.IsText {
			out = Add(out, m.Whole(v.Path+"."+name))
		}
	}
	if len(out) == 0 {
		out = Add(out, Value{Path: "?." + name})
	}
	return out
}

// At is what an expression has under a key.
func (m *Table) At(object, key code.Node, depth int) []Value {
	if !key.OK() {
		return m.Member(object, "?", depth)
	}
	if key.Is("integer", "number") {
		return m.element(object, "["+key.Text()+"]", depth)
	}
	if key.Is("slice") {
		return m.element(object, "["+strings.ReplaceAll(key.Text(), " ", "")+"]", depth)
	}
	if text, ok := m.TextOf(key, depth); ok {
		return m.Member(object, text, depth)
	}
	return m.Member(object, "?", depth)
}

func (m *Table) element(object code.Node, which string, depth int) (out []Value) {
	for _, v := range m.Eval(object, depth) {
		if !v.IsText {
			out = Add(out, Value{Path: v.Path + which})
		}
	}
	return out
}

// Whole is a path in its one spelling.
func (m *Table) Whole(p string) Value { return Value{Path: m.lang.Spell(p)} }

// Joined is the text of parts that are all known.
func (m *Table) Joined(parts []code.Node, by string, depth int) (Value, bool) {
	var texts []string
	for _, p := range parts {
		t, ok := m.TextOf(p, depth)
		if !ok {
			return Value{}, false
		}
		texts = append(texts, t)
	}
	return Value{Text: strings.Join(texts, by), IsText: true}, true
}

// Union is what either of several expressions may stand for.
func (m *Table) Union(depth int, all ...code.Node) (out []Value) {
	for _, n := range all {
		for _, v := range m.Eval(n, depth) {
			out = Add(out, v)
		}
	}
	return out
}

// Plain undoes the escapes of a text.
func Plain(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	s = jsEscape.ReplaceAllString(s, `\U$1`)
	if got, err := strconv.Unquote(`"` + strings.NewReplacer(`\'`, `'`, `"`, `\"`, `\"`, `\"`).Replace(s) + `"`); err == nil {
		return got
	}
	return s
}

var (
	jsEscape = regexp.MustCompile(`\\u\{0*([0-9A-Fa-f]{8})\}`)
	dotted   = regexp.MustCompile(`^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$`)
)

// IsDotted tells of a text that is nothing but names and dots.
func IsDotted(s string) bool { return dotted.MatchString(s) }

// RootOf is the first name of a path.
func RootOf(p string) string {
	if i := strings.IndexAny(p, ".[("); i >= 0 {
		return p[:i]
	}
	return p
}

// Last is the last member that a path names.
func Last(p string) string { return p[strings.LastIndexByte(p, '.')+1:] }
