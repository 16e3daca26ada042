package python

import (
	"strings"

	"agency/internal/awareness/symbols"
	"agency/internal/code"
)

// awareNames reads what names stand for in Python.
type awareNames struct{ *symbols.Table }

// bind notes what a statement of Python gives to names.
func (m awareNames) bind(n code.Node) {
	switch n.Kind() {
	case "import_statement":
		for _, p := range n.Parts() {
			switch p.Kind() {
			case "aliased_import":
				m.Bind(p.Field("alias").Text(), symbols.Binding{Path: p.Field("name").Text()})
			case "dotted_name":
				first, _, _ := strings.Cut(p.Text(), ".")
				m.Bind(first, symbols.Binding{Path: first})
			}
		}
	case "import_from_statement":
		from := n.Field("module_name")
		for _, p := range n.Parts() {
			if p.Start() == from.Start() {
				continue
			}
			name, alias := p.Text(), p.Text()
			if p.Is("aliased_import") {
				name, alias = p.Field("name").Text(), p.Field("alias").Text()
			}
			m.Bind(alias, symbols.Binding{Path: m.Whole(joinModule(from.Text(), name)).Path})
		}
	case "assignment":
		m.bindPattern(n.Field("left"), n.Field("right"), "")
	case "augmented_assignment":
		m.Grow(n.Field("left").Text())
	case "named_expression":
		m.bindPattern(n.Field("name"), n.Field("value"), "")
	case "as_pattern":
		if p := n.Parts(); len(p) == 2 && !n.Parent().Is("except_clause") {
			m.bindPattern(p[1], p[0], "")
		}
	case "for_statement", "for_in_clause":
		m.bindPattern(n.Field("left"), n.Field("right"), "[]")
	case "default_parameter", "typed_default_parameter":
		m.bindPattern(n.Field("name"), n.Field("value"), "")
	case "function_definition", "class_definition":
		if !n.Parent().Parent().Is("class_definition") && !n.Parent().Parent().Parent().Is("class_definition") {
			m.Bind(n.Field("name").Text(), symbols.Binding{Path: "=" + n.Field("name").Text()})
		}
	}
}

func joinModule(from, name string) string {
	if strings.HasSuffix(from, ".") {
		return from + name
	}
	return from + "." + name
}

// bindPattern gives an expression to a name, or its parts to several.
func (m awareNames) bindPattern(to, from code.Node, tail string) {
	switch to.Kind() {
	case "identifier":
		m.Bind(to.Text(), symbols.Binding{Expr: from, Tail: tail})
	case "as_pattern_target":
		for _, p := range to.Parts() {
			m.bindPattern(p, from, tail)
		}
	case "pattern_list", "tuple_pattern", "list_pattern":
		given := from.Parts()
		whole := from.Is("expression_list", "tuple", "list") && tail == ""
		for i, p := range to.Parts() {
			switch {
			case whole && i < len(given) && len(given) == len(to.Parts()):
				m.bindPattern(p, given[i], "")
			default:
				m.bindPattern(p, from, tail+"[]")
			}
		}
	}
}

// eval is what an expression may stand for.
func (m awareNames) eval(n code.Node, depth int) []symbols.Value {
	switch n.Kind() {
	case "identifier":
		return m.Of(n.Text(), depth)
	case "attribute":
		name := n.Field("attribute").Text()
		if name == "__dict__" {
			return m.Eval(n.Field("object"), depth)
		}
		return m.Member(n.Field("object"), name, depth)
	case "subscript":
		return m.At(n.Field("value"), n.Field("subscript"), depth)
	case "call":
		return m.evalCall(n, depth)
	case "string":
		text := ""
		for _, p := range n.Parts() {
			switch p.Kind() {
			case "string_content":
				text += symbols.Plain(p.Text())
			case "interpolation":
				t, ok := m.TextOf(p.Field("expression"), depth)
				if !ok {
					return nil
				}
				text += t
			}
		}
		return []symbols.Value{{Text: text, IsText: true}}
	case "concatenated_string":
		if v, ok := m.Joined(n.Parts(), "", depth); ok {
			return []symbols.Value{v}
		}
	case "binary_operator":
		if n.Field("operator").Text() == "+" {
			if v, ok := m.Joined([]code.Node{n.Field("left"), n.Field("right")}, "", depth); ok {
				return []symbols.Value{v}
			}
		}
	case "parenthesized_expression", "await":
		if p := n.Parts(); len(p) == 1 {
			return m.Eval(p[0], depth)
		}
	case "named_expression":
		return m.Eval(n.Field("value"), depth)
	case "conditional_expression":
		if p := n.Parts(); len(p) == 3 {
			return m.Union(depth, p[0], p[2])
		}
	case "boolean_operator":
		return m.Union(depth, n.Field("left"), n.Field("right"))
	}
	return nil
}

// evalCall is what a call of Python gives, where it reaches a name by its text.
func (m awareNames) evalCall(n code.Node, depth int) (out []symbols.Value) {
	args := n.Field("arguments").Parts()
	fn := n.Field("function")
	if fn.Is("attribute") && fn.Field("attribute").Text() == "join" {
		if by, ok := m.TextOf(fn.Field("object"), depth); ok && symbols.Argument(n, 0).Is("list", "tuple") {
			if v, ok := m.Joined(symbols.Argument(n, 0).Parts(), by, depth); ok {
				return []symbols.Value{v}
			}
		}
		return nil
	}
	for _, f := range m.Eval(fn, depth) {
		if f.IsText {
			continue
		}
		switch f.Path {
		case "getattr", "inspect.getattr_static", "object.__getattribute__":
			out = append(out, m.At(symbols.Argument(n, 0), symbols.Argument(n, 1), depth)...)
			continue
		case "vars":
			if len(args) > 0 {
				out = append(out, m.Eval(symbols.Argument(n, 0), depth)...)
				continue
			}
		case "__import__", "importlib.import_module", "importlib.__import__", "pydoc.locate", "pkgutil.resolve_name":
			if t, ok := m.TextOf(symbols.Argument(n, 0), depth); ok {
				out = symbols.Add(out, symbols.Value{Path: strings.ReplaceAll(t, ":", ".")})
				continue
			}
		case "eval":
			if t, ok := m.TextOf(symbols.Argument(n, 0), depth); ok && symbols.IsDotted(t) {
				first, rest, more := strings.Cut(t, ".")
				for _, v := range m.Of(first, depth) {
					if more {
						v = m.Whole(v.Path + "." + rest)
					}
					out = symbols.Add(out, v)
				}
				continue
			}
		case "os.getenv":
			if t, ok := m.TextOf(symbols.Argument(n, 0), depth); ok {
				out = symbols.Add(out, symbols.Value{Path: "os.environ." + t})
				continue
			}
		}
		switch object := strings.TrimSuffix(f.Path, ".get"); {
		case object != f.Path && len(args) > 0, strings.HasSuffix(f.Path, ".__getattribute__"), strings.HasSuffix(f.Path, ".__getitem__"):
			object = f.Path[:strings.LastIndexByte(f.Path, '.')]
			if t, ok := m.TextOf(symbols.Argument(n, 0), depth); ok {
				out = symbols.Add(out, m.Whole(object+"."+t))
				continue
			}
			out = symbols.Add(out, symbols.Value{Path: object + ".?"})
		case f.Path == "globals.get" || f.Path == "globals()":
		default:
			out = symbols.Add(out, symbols.Value{Path: f.Path + "()"})
		}
	}
	return m.ofGlobals(out, depth)
}

// ofGlobals are paths with what globals() gives as the names that they are.
func (m awareNames) ofGlobals(out []symbols.Value, depth int) []symbols.Value {
	for i, v := range out {
		if rest, ok := strings.CutPrefix(v.Path, "globals()."); ok && symbols.IsDotted(rest) {
			first, more, _ := strings.Cut(rest, ".")
			for _, w := range m.Of(first, depth) {
				out[i] = m.Whole(strings.TrimSuffix(w.Path+"."+more, "."))
			}
		}
	}
	return out
}

// spell gives a path its one spelling.
func (awareNames) spell(p string) string {
	if rest, ok := strings.CutPrefix(p, "__builtins__."); ok {
		p = "builtins." + rest
	}
	if rest, ok := strings.CutPrefix(p, "builtins."); ok && reachingBuiltins[rest] {
		p = rest
	}
	return strings.ReplaceAll(p, ".__dict__", "")
}

// reachingBuiltins are functions by which other names are reached.
var reachingBuiltins = map[string]bool{
	"getattr": true, "setattr": true, "vars": true, "eval": true, "exec": true, "compile": true, "__import__": true, "object": true, "type": true,
	"globals": true, "locals": true, "exit": true, "quit": true, "SystemExit": true, "open": true,
}
