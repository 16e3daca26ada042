package marks

import (
	"strings"

	"agency/internal/code"
)

// bindScript notes what a statement of JavaScript gives to names.
func (m *names) bindScript(n code.Node) {
	switch n.Kind() {
	case "import_statement":
		from := scriptModule(plainString(n.Field("source")))
		clause := n.Child("import_clause")
		for _, p := range clause.Parts() {
			switch p.Kind() {
			case "identifier":
				m.bind(p.Text(), binding{path: from})
			case "namespace_import":
				m.bind(p.Child("identifier").Text(), binding{path: from})
			case "named_imports":
				for _, s := range p.Parts() {
					alias := s.Field("alias")
					if !alias.OK() {
						alias = s.Field("name")
					}
					m.bind(alias.Text(), binding{path: m.whole(from + "." + strings.Trim(s.Field("name").Text(), `"'`)).path})
				}
			}
		}
	case "variable_declarator":
		if n.Field("value").OK() {
			m.bindScriptPattern(n.Field("name"), n.Field("value"), "")
		}
	case "assignment_expression":
		m.bindScriptPattern(n.Field("left"), n.Field("right"), "")
	case "augmented_assignment_expression":
		m.grown[n.Field("left").Text()] = true
	case "for_in_statement":
		m.bindScriptPattern(n.Field("left"), n.Field("right"), "[]")
	case "assignment_pattern":
		m.bindScriptPattern(n.Field("left"), n.Field("right"), "")
	case "function_declaration", "generator_function_declaration", "class_declaration", "abstract_class_declaration":
		m.bind(n.Field("name").Text(), binding{path: "=" + n.Field("name").Text()})
	}
}

func plainString(n code.Node) string {
	s := ""
	for _, p := range n.Parts() {
		s += p.Text()
	}
	if s == "" {
		return strings.Trim(n.Text(), "\"'`")
	}
	return plain(s)
}

func (m *names) bindScriptPattern(to, from code.Node, tail string) {
	switch to.Kind() {
	case "identifier", "shorthand_property_identifier_pattern":
		if to.Is("shorthand_property_identifier_pattern") {
			tail += "." + to.Text()
		}
		m.bind(to.Text(), binding{expr: from, tail: tail})
	case "object_assignment_pattern":
		m.bindScriptPattern(to.Field("left"), from, tail)
	case "assignment_pattern":
		m.bindScriptPattern(to.Field("left"), from, tail)
	case "pair_pattern":
		key := to.Field("key")
		name := strings.Trim(key.Text(), `"'`)
		if key.Is("computed_property_name") {
			name = "?"
			if p := key.Parts(); len(p) == 1 {
				if t, ok := m.textOf(p[0], 1); ok {
					name = t
				}
			}
		}
		m.bindScriptPattern(to.Field("value"), from, tail+"."+name)
	case "object_pattern":
		for _, p := range to.Parts() {
			m.bindScriptPattern(p, from, tail)
		}
	case "array_pattern":
		for _, p := range to.Parts() {
			m.bindScriptPattern(p, from, tail+"[]")
		}
	case "rest_pattern":
		for _, p := range to.Parts() {
			m.bindScriptPattern(p, from, tail)
		}
	}
}

// scriptModule is the path of a module of node, or of a file or package.
func scriptModule(name string) string {
	bare := strings.TrimPrefix(name, "node:")
	switch bare {
	case "process", "console":
		return bare
	case "module":
		return "Module"
	}
	if first, rest, ok := strings.Cut(bare, "/"); scriptBuiltins[first] {
		if ok {
			return "node:" + first + "." + rest
		}
		return "node:" + bare
	}
	return name
}

var scriptBuiltins = words(`assert async_hooks buffer child_process cluster crypto dgram diagnostics_channel dns events fs http http2 https inspector net os
	path perf_hooks querystring readline repl stream string_decoder test timers tls tty url util v8 vm worker_threads zlib`)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

func (m *names) evalScript(n code.Node, depth int) []value {
	switch n.Kind() {
	case "identifier", "shorthand_property_identifier":
		return m.of(n.Text(), depth)
	case "this", "super":
		return []value{{path: n.Text()}}
	case "meta_property":
		return []value{{path: n.Text()}}
	case "member_expression":
		return m.member(n.Field("object"), n.Field("property").Text(), depth)
	case "subscript_expression":
		return m.at(n.Field("object"), n.Field("index"), depth)
	case "call_expression":
		return m.evalScriptCall(n, depth)
	case "new_expression":
		var out []value
		for _, v := range m.eval(n.Field("constructor"), depth) {
			out = add(out, value{path: "new " + v.path})
		}
		return out
	case "string":
		return []value{{text: plainString(n), isText: true}}
	case "template_string":
		text := ""
		for _, p := range n.Parts() {
			if !p.Is("template_substitution") {
				text += plain(p.Text())
				continue
			}
			in := p.Parts()
			if len(in) != 1 {
				return nil
			}
			t, ok := m.textOf(in[0], depth)
			if !ok {
				return nil
			}
			text += t
		}
		return []value{{text: text, isText: true}}
	case "binary_expression":
		switch n.Field("operator").Text() {
		case "+":
			if v, ok := m.joined([]code.Node{n.Field("left"), n.Field("right")}, "", depth); ok {
				return []value{v}
			}
		case "&&":
			return m.eval(n.Field("right"), depth)
		case "||", "??":
			return m.union(depth, n.Field("left"), n.Field("right"))
		}
	case "ternary_expression":
		return m.union(depth, n.Field("consequence"), n.Field("alternative"))
	case "assignment_expression":
		return m.eval(n.Field("right"), depth)
	case "parenthesized_expression", "await_expression", "as_expression", "non_null_expression", "satisfies_expression", "sequence_expression":
		if p := n.Parts(); len(p) > 0 {
			if n.Is("as_expression", "satisfies_expression") {
				return m.eval(p[0], depth)
			}
			return m.eval(p[len(p)-1], depth)
		}
	}
	return nil
}

// loaders give the module that their text names.
var loaders = words(`require import module.require process.getBuiltinModule Module._load Module.createRequire() Module.prototype.require process.mainModule.require
	require.main.require Module.require`)

// evalScriptCall is what a call of JavaScript gives, where it reaches a name by
// its text.
func (m *names) evalScriptCall(n code.Node, depth int) (out []value) {
	args := n.Field("arguments").Parts()
	arg := func(i int) code.Node {
		if i < len(args) {
			return args[i]
		}
		return code.Node{}
	}
	fn := n.Field("function")
	if fn.Is("import") {
		if t, ok := m.textOf(arg(0), depth); ok {
			return []value{{path: scriptModule(t)}}
		}
		return nil
	}
	if fn.Is("member_expression") && fn.Field("object").Is("array") && fn.Field("property").Text() == "join" {
		if by, ok := m.textOf(arg(0), depth); ok {
			if v, ok := m.joined(fn.Field("object").Parts(), by, depth); ok {
				return []value{v}
			}
		}
		return nil
	}
	for _, f := range m.eval(fn, depth) {
		if f.isText {
			continue
		}
		if loaders[f.path] {
			if t, ok := m.textOf(arg(0), depth); ok {
				out = add(out, value{path: scriptModule(t)})
				continue
			}
		}
		switch f.path {
		case "Reflect.get", "Object.getOwnPropertyDescriptor", "Reflect.getOwnPropertyDescriptor":
			out = append(out, m.at(arg(0), arg(1), depth)...)
			continue
		case "Object.assign", "Object.freeze", "Object", "Object.entries", "Object.values":
			if f.path != "Object.entries" && f.path != "Object.values" {
				out = append(out, m.eval(arg(0), depth)...)
				continue
			}
		case "Object.getPrototypeOf", "Reflect.getPrototypeOf":
			for _, v := range m.eval(arg(0), depth) {
				if v.path == "module" {
					out = add(out, value{path: "Module.prototype"})
				}
			}
			continue
		case "eval":
			if t, ok := m.textOf(arg(0), depth); ok && dotted.MatchString(t) {
				out = add(out, m.whole(t))
				continue
			}
		}
		if object, ok := strings.CutSuffix(f.path, ".bind"); ok {
			out = add(out, value{path: object})
			continue
		}
		out = add(out, value{path: f.path + "()"})
	}
	return out
}
