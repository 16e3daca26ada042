package node

import (
	"strings"

	"agency/internal/awareness/symbols"
	"agency/internal/code"
)

// awareNames reads what names stand for in JavaScript.
type awareNames struct{ *symbols.Table }

// bind notes what a statement of JavaScript gives to names.
func (m awareNames) bind(n code.Node) {
	switch n.Kind() {
	case "import_statement":
		from := modulePath(plainString(n.Field("source")))
		clause := n.Child("import_clause")
		for _, p := range clause.Parts() {
			switch p.Kind() {
			case "identifier":
				m.Bind(p.Text(), symbols.Binding{Path: from})
			case "namespace_import":
				m.Bind(p.Child("identifier").Text(), symbols.Binding{Path: from})
			case "named_imports":
				for _, s := range p.Parts() {
					alias := s.Field("alias")
					if !alias.OK() {
						alias = s.Field("name")
					}
					m.Bind(alias.Text(), symbols.Binding{Path: m.Whole(from + "." + strings.Trim(s.Field("name").Text(), `"'`)).Path})
				}
			}
		}
	case "variable_declarator":
		if n.Field("value").OK() {
			m.bindPattern(n.Field("name"), n.Field("value"), "")
		}
	case "assignment_expression":
		m.bindPattern(n.Field("left"), n.Field("right"), "")
	case "augmented_assignment_expression":
		m.Grow(n.Field("left").Text())
	case "for_in_statement":
		m.bindPattern(n.Field("left"), n.Field("right"), "[]")
	case "assignment_pattern":
		m.bindPattern(n.Field("left"), n.Field("right"), "")
	case "function_declaration", "generator_function_declaration", "class_declaration", "abstract_class_declaration":
		m.Bind(n.Field("name").Text(), symbols.Binding{Path: "=" + n.Field("name").Text()})
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
	return symbols.Plain(s)
}

func (m awareNames) bindPattern(to, from code.Node, tail string) {
	switch to.Kind() {
	case "identifier", "shorthand_property_identifier_pattern":
		if to.Is("shorthand_property_identifier_pattern") {
			tail += "." + to.Text()
		}
		m.Bind(to.Text(), symbols.Binding{Expr: from, Tail: tail})
	case "object_assignment_pattern":
		m.bindPattern(to.Field("left"), from, tail)
	case "assignment_pattern":
		m.bindPattern(to.Field("left"), from, tail)
	case "pair_pattern":
		key := to.Field("key")
		name := strings.Trim(key.Text(), `"'`)
		if key.Is("computed_property_name") {
			name = "?"
			if p := key.Parts(); len(p) == 1 {
				if t, ok := m.TextOf(p[0], 1); ok {
					name = t
				}
			}
		}
		m.bindPattern(to.Field("value"), from, tail+"."+name)
	case "object_pattern":
		for _, p := range to.Parts() {
			m.bindPattern(p, from, tail)
		}
	case "array_pattern":
		for _, p := range to.Parts() {
			m.bindPattern(p, from, tail+"[]")
		}
	case "rest_pattern":
		for _, p := range to.Parts() {
			m.bindPattern(p, from, tail)
		}
	}
}

// modulePath is the path of a module of node, or of a file or package.
func modulePath(name string) string {
	bare := strings.TrimPrefix(name, "node:")
	switch bare {
	case "process", "console":
		return bare
	case "module":
		return "Module"
	}
	if first, rest, ok := strings.Cut(bare, "/"); prefixedModules[first] {
		if ok {
			return "node:" + first + "." + rest
		}
		return "node:" + bare
	}
	return name
}

// prefixedModules are those whose names are read as with the prefix of node.
var prefixedModules = symbols.Words(`assert async_hooks buffer child_process cluster crypto dgram diagnostics_channel dns events fs http http2 https inspector net os
	path perf_hooks querystring readline repl stream string_decoder test timers tls tty url util v8 vm worker_threads zlib`)

// eval is what an expression may stand for.
func (m awareNames) eval(n code.Node, depth int) []symbols.Value {
	switch n.Kind() {
	case "identifier", "shorthand_property_identifier":
		return m.Of(n.Text(), depth)
	case "this", "super":
		return []symbols.Value{{Path: n.Text()}}
	case "meta_property":
		return []symbols.Value{{Path: n.Text()}}
	case "member_expression":
		return m.Member(n.Field("object"), n.Field("property").Text(), depth)
	case "subscript_expression":
		return m.At(n.Field("object"), n.Field("index"), depth)
	case "call_expression":
		return m.evalCall(n, depth)
	case "new_expression":
		var out []symbols.Value
		for _, v := range m.Eval(n.Field("constructor"), depth) {
			out = symbols.Add(out, symbols.Value{Path: "new " + v.Path})
		}
		return out
	case "string":
		return []symbols.Value{{Text: plainString(n), IsText: true}}
	case "template_string":
		text := ""
		for _, p := range n.Parts() {
			if !p.Is("template_substitution") {
				text += symbols.Plain(p.Text())
				continue
			}
			in := p.Parts()
			if len(in) != 1 {
				return nil
			}
			t, ok := m.TextOf(in[0], depth)
			if !ok {
				return nil
			}
			text += t
		}
		return []symbols.Value{{Text: text, IsText: true}}
	case "binary_expression":
		switch n.Field("operator").Text() {
		case "+":
			if v, ok := m.Joined([]code.Node{n.Field("left"), n.Field("right")}, "", depth); ok {
				return []symbols.Value{v}
			}
		case "&&":
			return m.Eval(n.Field("right"), depth)
		case "||", "??":
			return m.Union(depth, n.Field("left"), n.Field("right"))
		}
	case "ternary_expression":
		return m.Union(depth, n.Field("consequence"), n.Field("alternative"))
	case "assignment_expression":
		return m.Eval(n.Field("right"), depth)
	case "parenthesized_expression", "await_expression", "as_expression", "non_null_expression", "satisfies_expression", "sequence_expression":
		if p := n.Parts(); len(p) > 0 {
			if n.Is("as_expression", "satisfies_expression") {
				return m.Eval(p[0], depth)
			}
			return m.Eval(p[len(p)-1], depth)
		}
	}
	return nil
}

// loaders give the module that their text names.
var loaders = symbols.Words(`require import module.require process.getBuiltinModule Module._load Module.createRequire() Module.prototype.require process.mainModule.require
	require.main.require Module.require`)

// evalCall is what a call of JavaScript gives, where it reaches a name by
// its text.
func (m awareNames) evalCall(n code.Node, depth int) (out []symbols.Value) {
	fn := n.Field("function")
	if fn.Is("import") {
		if t, ok := m.TextOf(symbols.Argument(n, 0), depth); ok {
			return []symbols.Value{{Path: modulePath(t)}}
		}
		return nil
	}
	if fn.Is("member_expression") && fn.Field("object").Is("array") && fn.Field("property").Text() == "join" {
		if by, ok := m.TextOf(symbols.Argument(n, 0), depth); ok {
			if v, ok := m.Joined(fn.Field("object").Parts(), by, depth); ok {
				return []symbols.Value{v}
			}
		}
		return nil
	}
	for _, f := range m.Eval(fn, depth) {
		if f.IsText {
			continue
		}
		if loaders[f.Path] {
			if t, ok := m.TextOf(symbols.Argument(n, 0), depth); ok {
				out = symbols.Add(out, symbols.Value{Path: modulePath(t)})
				continue
			}
		}
		switch f.Path {
		case "Reflect.get", "Object.getOwnPropertyDescriptor", "Reflect.getOwnPropertyDescriptor":
			out = append(out, m.At(symbols.Argument(n, 0), symbols.Argument(n, 1), depth)...)
			continue
		case "Object.assign", "Object.freeze", "Object", "Object.entries", "Object.values":
			if f.Path != "Object.entries" && f.Path != "Object.values" {
				out = append(out, m.Eval(symbols.Argument(n, 0), depth)...)
				continue
			}
		case "Object.getPrototypeOf", "Reflect.getPrototypeOf":
			for _, v := range m.Eval(symbols.Argument(n, 0), depth) {
				if v.Path == "module" {
					out = symbols.Add(out, symbols.Value{Path: "Module.prototype"})
				}
			}
			continue
		case "eval":
			if t, ok := m.TextOf(symbols.Argument(n, 0), depth); ok && symbols.IsDotted(t) {
				out = symbols.Add(out, m.Whole(t))
				continue
			}
		}
		if object, ok := strings.CutSuffix(f.Path, ".bind"); ok {
			out = symbols.Add(out, symbols.Value{Path: object})
			continue
		}
		out = symbols.Add(out, symbols.Value{Path: f.Path + "()"})
	}
	return out
}

// moduleSpellings are other ways to the class of modules.
var moduleSpellings = strings.NewReplacer("node:module.Module", "Module", "node:module", "Module", "module.constructor", "Module", "require(module)", "Module",
	"node:process", "process", "module.__proto__", "Module.prototype", "node:console", "console")

// spell gives a path its one spelling.
func (awareNames) spell(p string) string {
	for _, own := range []string{"globalThis.", "global.", "window.", "self."} {
		if rest, ok := strings.CutPrefix(p, own); ok && rest != "?" {
			p = rest
		}
	}
	return moduleSpellings.Replace(strings.TrimSuffix(p, ".default"))
}
