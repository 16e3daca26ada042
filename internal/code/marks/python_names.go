package marks

import (
	"strings"

	"agency/internal/code"
)

// bindPython notes what a statement of Python gives to names.
func (m *names) bindPython(n code.Node) {
	switch n.Kind() {
	case "import_statement":
		for _, p := range n.Parts() {
			switch p.Kind() {
			case "aliased_import":
				m.bind(p.Field("alias").Text(), binding{path: p.Field("name").Text()})
			case "dotted_name":
				first, _, _ := strings.Cut(p.Text(), ".")
				m.bind(first, binding{path: first})
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
			m.bind(alias, binding{path: m.whole(joinModule(from.Text(), name)).path})
		}
	case "assignment":
		m.bindPattern(n.Field("left"), n.Field("right"), "")
	case "augmented_assignment":
		m.grown[n.Field("left").Text()] = true
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
			m.bind(n.Field("name").Text(), binding{path: "=" + n.Field("name").Text()})
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
func (m *names) bindPattern(to, from code.Node, tail string) {
	switch to.Kind() {
	case "identifier":
		m.bind(to.Text(), binding{expr: from, tail: tail})
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

func (m *names) evalPython(n code.Node, depth int) []value {
	switch n.Kind() {
	case "identifier":
		return m.of(n.Text(), depth)
	case "attribute":
		name := n.Field("attribute").Text()
		if name == "__dict__" {
			return m.eval(n.Field("object"), depth)
		}
		return m.member(n.Field("object"), name, depth)
	case "subscript":
		return m.at(n.Field("value"), n.Field("subscript"), depth)
	case "call":
		return m.evalCall(n, depth)
	case "string":
		text := ""
		for _, p := range n.Parts() {
			switch p.Kind() {
			case "string_content":
				text += plain(p.Text())
			case "interpolation":
				t, ok := m.textOf(p.Field("expression"), depth)
				if !ok {
					return nil
				}
				text += t
			}
		}
		return []value{{text: text, isText: true}}
	case "concatenated_string":
		if v, ok := m.joined(n.Parts(), "", depth); ok {
			return []value{v}
		}
	case "binary_operator":
		if n.Field("operator").Text() == "+" {
			if v, ok := m.joined([]code.Node{n.Field("left"), n.Field("right")}, "", depth); ok {
				return []value{v}
			}
		}
	case "parenthesized_expression", "await":
		if p := n.Parts(); len(p) == 1 {
			return m.eval(p[0], depth)
		}
	case "named_expression":
		return m.eval(n.Field("value"), depth)
	case "conditional_expression":
		if p := n.Parts(); len(p) == 3 {
			return m.union(depth, p[0], p[2])
		}
	case "boolean_operator":
		return m.union(depth, n.Field("left"), n.Field("right"))
	}
	return nil
}

// evalCall is what a call of Python gives, where it reaches a name by its text.
func (m *names) evalCall(n code.Node, depth int) (out []value) {
	args := n.Field("arguments").Parts()
	arg := func(i int) code.Node {
		if i < len(args) {
			return args[i]
		}
		return code.Node{}
	}
	fn := n.Field("function")
	if fn.Is("attribute") && fn.Field("attribute").Text() == "join" {
		if by, ok := m.textOf(fn.Field("object"), depth); ok && arg(0).Is("list", "tuple") {
			if v, ok := m.joined(arg(0).Parts(), by, depth); ok {
				return []value{v}
			}
		}
		return nil
	}
	for _, f := range m.eval(fn, depth) {
		if f.isText {
			continue
		}
		switch f.path {
		case "getattr", "inspect.getattr_static", "object.__getattribute__":
			out = append(out, m.at(arg(0), arg(1), depth)...)
			continue
		case "vars":
			if len(args) > 0 {
				out = append(out, m.eval(arg(0), depth)...)
				continue
			}
		case "__import__", "importlib.import_module", "importlib.__import__", "pydoc.locate", "pkgutil.resolve_name":
			if t, ok := m.textOf(arg(0), depth); ok {
				out = add(out, value{path: strings.ReplaceAll(t, ":", ".")})
				continue
			}
		case "eval":
			if t, ok := m.textOf(arg(0), depth); ok && dotted.MatchString(t) {
				first, rest, more := strings.Cut(t, ".")
				for _, v := range m.of(first, depth) {
					if more {
						v = m.whole(v.path + "." + rest)
					}
					out = add(out, v)
				}
				continue
			}
		case "os.getenv":
			if t, ok := m.textOf(arg(0), depth); ok {
				out = add(out, value{path: "os.environ." + t})
				continue
			}
		}
		switch object := strings.TrimSuffix(f.path, ".get"); {
		case object != f.path && len(args) > 0, strings.HasSuffix(f.path, ".__getattribute__"), strings.HasSuffix(f.path, ".__getitem__"):
			object = f.path[:strings.LastIndexByte(f.path, '.')]
			if t, ok := m.textOf(arg(0), depth); ok {
				out = add(out, m.whole(object+"."+t))
				continue
			}
			out = add(out, value{path: object + ".?"})
		case f.path == "globals.get" || f.path == "globals()":
		default:
			out = add(out, value{path: f.path + "()"})
		}
	}
	return m.ofGlobals(out, depth)
}

// ofGlobals are paths with what globals() gives as the names that they are.
func (m *names) ofGlobals(out []value, depth int) []value {
	for i, v := range out {
		if rest, ok := strings.CutPrefix(v.path, "globals()."); ok && dotted.MatchString(rest) {
			first, more, _ := strings.Cut(rest, ".")
			for _, w := range m.of(first, depth) {
				out[i] = m.whole(strings.TrimSuffix(w.path+"."+more, "."))
			}
		}
	}
	return out
}
