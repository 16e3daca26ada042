package marks

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agency/internal/code"
)

// value is what an expression may stand for: a path from something that the file
// did not make, such as "sys.modules" or "process.argv", or a text. In a path
// "()" is the result of a call, "[0]" an element, and "?" what is not known;
// names of the file's own begin with "=".
type value struct {
	path, text string
	isText     bool
}

// binding is one thing that a name is given.
type binding struct {
	path string    // else
	expr code.Node // of which
	tail string    // this part is taken
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

// names knows what the names of a file stand for.
type names struct {
	script bool // JavaScript or TypeScript, else Python
	bound  map[string][]binding
	grown  map[string]bool // names whose texts are put together in steps
	memo   map[string][]value
	busy   map[string]bool
	left   int // how much may still be followed
}

func readNames(root code.Node, script bool) *names {
	m := &names{script: script, bound: map[string][]binding{}, grown: map[string]bool{}, memo: map[string][]value{}, busy: map[string]bool{}, left: maxSteps}
	for n := range root.All() {
		if script {
			m.bindScript(n)
		} else {
			m.bindPython(n)
		}
	}
	return m
}

func (m *names) bind(name string, b binding) {
	if name != "" && len(m.bound[name]) < most {
		m.bound[name] = append(m.bound[name], b)
	}
}

// of is what a name stands for; one that the file gives nothing stands for
// itself.
func (m *names) of(name string, depth int) []value {
	if got, ok := m.memo[name]; ok {
		return got
	}
	if m.busy[name] {
		return nil
	}
	given := m.bound[name]
	if len(given) == 0 {
		return []value{{path: name}}
	}
	m.busy[name] = true
	var out []value
	for _, b := range given {
		if b.path != "" {
			out = add(out, value{path: b.path + b.tail})
			continue
		}
		for _, v := range m.eval(b.expr, depth+1) {
			if b.tail == "" {
				out = add(out, v)
			} else if !v.isText {
				out = add(out, m.whole(v.path+b.tail))
			}
		}
	}
	if m.grown[name] {
		out = slices.DeleteFunc(out, func(v value) bool { return v.isText })
	}
	delete(m.busy, name)
	if depth < deepest/2 {
		m.memo[name] = out
	}
	return out
}

func add(all []value, v value) []value {
	if len(all) >= most || slices.Contains(all, v) || len(v.path)+len(v.text) > 400 {
		return all
	}
	return append(all, v)
}

// eval is what an expression may stand for; nothing where it is not known.
func (m *names) eval(n code.Node, depth int) []value {
	if m.left--; !n.OK() || depth > deepest || m.left < 0 {
		return nil
	}
	if m.script {
		return m.evalScript(n, depth+1)
	}
	return m.evalPython(n, depth+1)
}

// paths are the paths that an expression may stand for.
func (m *names) paths(n code.Node) (out []string) {
	for _, v := range m.eval(n, 0) {
		if !v.isText {
			out = append(out, v.path)
		}
	}
	return out
}

// textOf is the text that an expression is, where there is one only.
func (m *names) textOf(n code.Node, depth int) (string, bool) {
	v := m.eval(n, depth)
	if len(v) == 1 && v[0].isText {
		return v[0].text, true
	}
	return "", false
}

// member is what an expression has under a name.
func (m *names) member(object code.Node, name string, depth int) (out []value) {
	all := m.eval(object, depth)
	for _, v := range all {
		if !v.isText {
			out = add(out, m.whole(v.path+"."+name))
		}
	}
	if len(out) == 0 {
		out = add(out, value{path: "?." + name})
	}
	return out
}

// at is what an expression has under a key.
func (m *names) at(object, key code.Node, depth int) []value {
	if !key.OK() {
		return m.member(object, "?", depth)
	}
	if key.Is("integer", "number") {
		return m.element(object, "["+key.Text()+"]", depth)
	}
	if key.Is("slice") {
		return m.element(object, "["+strings.ReplaceAll(key.Text(), " ", "")+"]", depth)
	}
	if text, ok := m.textOf(key, depth); ok {
		return m.member(object, text, depth)
	}
	return m.member(object, "?", depth)
}

func (m *names) element(object code.Node, which string, depth int) (out []value) {
	for _, v := range m.eval(object, depth) {
		if !v.isText {
			out = add(out, value{path: v.path + which})
		}
	}
	return out
}

// whole gives a path its one spelling.
func (m *names) whole(p string) value {
	if m.script {
		for _, own := range []string{"globalThis.", "global.", "window.", "self."} {
			if rest, ok := strings.CutPrefix(p, own); ok && rest != "?" {
				p = rest
			}
		}
		p = strings.TrimSuffix(p, ".default")
		p = moduleOf.Replace(p)
		return value{path: p}
	}
	if rest, ok := strings.CutPrefix(p, "__builtins__."); ok {
		p = "builtins." + rest
	}
	if rest, ok := strings.CutPrefix(p, "builtins."); ok && pythonBuiltins[rest] {
		p = rest
	}
	return value{path: strings.ReplaceAll(p, ".__dict__", "")}
}

// moduleOf are other ways to the class of modules.
var moduleOf = strings.NewReplacer("node:module.Module", "Module", "node:module", "Module", "module.constructor", "Module", "require(module)", "Module",
	"node:process", "process", "module.__proto__", "Module.prototype", "node:console", "console")

// pythonBuiltins are functions by which other names are reached.
var pythonBuiltins = map[string]bool{
	"getattr": true, "setattr": true, "vars": true, "eval": true, "exec": true, "compile": true, "__import__": true, "object": true, "type": true,
	"globals": true, "locals": true, "exit": true, "quit": true, "SystemExit": true, "open": true,
}

// joined is the text of parts that are all known.
func (m *names) joined(parts []code.Node, by string, depth int) (value, bool) {
	var texts []string
	for _, p := range parts {
		t, ok := m.textOf(p, depth)
		if !ok {
			return value{}, false
		}
		texts = append(texts, t)
	}
	return value{text: strings.Join(texts, by), isText: true}, true
}

// union is what either of several expressions may stand for.
func (m *names) union(depth int, all ...code.Node) (out []value) {
	for _, n := range all {
		for _, v := range m.eval(n, depth) {
			out = add(out, v)
		}
	}
	return out
}

// plain undoes the escapes of a text.
func plain(s string) string {
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

// root is the first name of a path.
func rootOf(p string) string {
	if i := strings.IndexAny(p, ".[("); i >= 0 {
		return p[:i]
	}
	return p
}

// last is the last member that a path names.
func last(p string) string { return p[strings.LastIndexByte(p, '.')+1:] }
