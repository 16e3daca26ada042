package verify

import (
	"path"
	"slices"
	"strings"

	"agency/internal/code"
)

// javaReader reads a file of Java into the common form.
type javaReader struct {
	file    *synFile
	imports map[string]string // classes by their bare names
	statics map[string]string // members that are taken in by their bare names
	open    []string          // classes all of whose static members are
	types   map[string]string // of variables and fields, as far as they are written
}

// javaLang are classes that need no import.
var javaLang = strings.Fields("System Runtime Thread Throwable Exception RuntimeException Error StackWalker ProcessHandle Class ClassLoader Package ThreadGroup Module ModuleLayer")

// readJava reads a file; its unit is the class that it is named by.
func readJava(p string, src []byte, root code.Node) *synFile {
	f := &synFile{path: p, text: string(src), bare: map[string]bool{}, unit: strings.TrimSuffix(path.Base(p), ".java")}
	r := javaReader{file: f, imports: map[string]string{}, statics: map[string]string{}, types: map[string]string{}}
	for _, c := range javaLang {
		r.imports[c] = "java.lang." + c
	}
	for n := range root.All() {
		switch n.Kind() {
		case "import_declaration":
			r.taken(n)
		case "local_variable_declaration", "field_declaration", "formal_parameter":
			if d := n.Field("declarator"); d.OK() {
				r.types[d.Field("name").Text()] = n.Field("type").Text()
			} else {
				r.types[n.Field("name").Text()] = n.Field("type").Text()
			}
		}
	}
	vars := &synFunc{body: &syn{op: opBlock}}
	r.members(root, "", vars)
	f.funcs = append(f.funcs, vars)
	return f
}

func (r *javaReader) taken(n code.Node) {
	name := n.Child("scoped_identifier", "identifier").Text()
	static, all := false, n.Child("asterisk").OK()
	for _, c := range n.Children() {
		static = static || c.Text() == "static"
	}
	switch {
	case static && all:
		r.open = append(r.open, name)
	case static:
		r.statics[last(name)] = name
	case !all:
		r.imports[last(name)] = name
	}
}

func (r *javaReader) members(n code.Node, owner string, vars *synFunc) {
	for _, c := range n.Parts() {
		switch c.Kind() {
		case "class_declaration", "interface_declaration", "enum_declaration", "record_declaration":
			name := c.Field("name").Text()
			if c.Is("class_declaration") && !r.holdsFields(c.Field("body")) && !c.Field("superclass").OK() {
				r.file.bare[name] = true
			}
			if c.Is("record_declaration") && len(c.Field("parameters").Parts()) == 0 {
				r.file.bare[name] = true
			}
			r.members(c.Field("body"), name, vars)
		case "enum_body_declarations":
			r.members(c, owner, vars)
		case "method_declaration", "constructor_declaration", "compact_constructor_declaration":
			if c.Field("body").OK() {
				r.file.funcs = append(r.file.funcs, r.function(c, owner))
			}
		case "field_declaration", "static_initializer", "block":
			vars.body.kids = append(vars.body.kids, r.stmt(c))
		}
	}
}

func (r *javaReader) holdsFields(body code.Node) bool {
	return slices.ContainsFunc(body.Parts(), func(c code.Node) bool {
		return c.Is("field_declaration") && !strings.Contains(c.Child("modifiers").Text(), "static")
	})
}

func (r *javaReader) function(n code.Node, owner string) *synFunc {
	fn := &synFunc{name: n.Field("name").Text(), owner: owner, line: n.Line()}
	for _, p := range n.Field("parameters").Parts() {
		typ, name := p.Field("type").Text(), p.Field("name").Text()
		if p.Is("spread_parameter") {
			typ, name = p.Parts()[0].Text()+"[]", p.Child("variable_declarator").Field("name").Text()
		}
		fn.params = append(fn.params, synParam{name, typ})
	}
	if t := n.Field("type").Text(); t != "" && t != "void" {
		fn.results = []string{t}
	}
	fn.top = fn.name == "main" && len(fn.params) <= 1 && strings.Contains(n.Child("modifiers").Text(), "static") && len(fn.results) == 0 &&
		(len(fn.params) == 0 || strings.HasPrefix(fn.params[0].typ, "String"))
	fn.body = r.stmt(n.Field("body"))
	return fn
}

// name is what a chain of bare names stands for: a class with its package, a
// member of one.
func (r *javaReader) name(text string) string {
	head, rest, more := strings.Cut(text, ".")
	if full := r.imports[head]; full != "" {
		head = full
	}
	if more {
		return head + "." + rest
	}
	return head
}

// class tells whether a chain of names begins with a class or a package that is
// no variable.
func (r *javaReader) class(text string) bool {
	head, _, _ := strings.Cut(text, ".")
	return r.types[head] == "" && (r.imports[head] != "" || slices.Contains([]string{"java", "javax", "sun", "com", "org", "jdk"}, head) || head != "" && strings.ToUpper(head[:1]) == head[:1])
}

// chain is the text of a node that is nothing but names and dots.
func chain(n code.Node) string {
	switch n.Kind() {
	case "identifier", "type_identifier":
		return n.Text()
	case "field_access":
		if o := chain(n.Field("object")); o != "" && n.Field("field").Is("identifier") {
			return o + "." + n.Field("field").Text()
		}
	case "scoped_identifier", "scoped_type_identifier":
		return strings.Join(strings.Fields(n.Text()), "")
	}
	return ""
}

func (r *javaReader) all(parts []code.Node) (out []*syn) {
	for _, p := range parts {
		out = append(out, r.stmt(p))
	}
	return out
}

// method is what a call names, or a reference to a method.
func (r *javaReader) method(object code.Node, name string, line int) *syn {
	if !object.OK() {
		s := &syn{op: opName, text: name, line: line}
		if full := r.statics[name]; full != "" {
			s.text = full
		}
		for _, c := range r.open {
			if javaKnown(c + "." + name) {
				s.text = c + "." + name
			}
		}
		return s
	}
	if c := chain(object); c != "" && r.class(c) {
		return &syn{op: opName, text: r.name(c) + "." + name, line: line}
	}
	if t := r.types[chain(object)]; t == "Runtime" || t == "java.lang.Runtime" {
		return &syn{op: opName, text: "java.lang.Runtime." + name, line: line}
	}
	if object.Is("method_invocation") && object.Field("name").Text() == "getRuntime" {
		return &syn{op: opName, text: "java.lang.Runtime." + name, line: line}
	}
	return &syn{op: opMember, text: name, line: line, kids: []*syn{r.stmt(object)}}
}

func (r *javaReader) expr(n code.Node, s *syn) bool {
	switch n.Kind() {
	case "identifier", "this", "super", "null_literal":
		s.op, s.text = opName, n.Text()
		if full := r.statics[n.Text()]; full != "" && r.types[n.Text()] == "" {
			s.text = full
		}
	case "string_literal":
		s.op, s.str, s.text = opLit, true, unquoted(n.Text())
	case "decimal_integer_literal", "hex_integer_literal", "decimal_floating_point_literal", "character_literal", "true", "false":
		s.op, s.text = opLit, n.Text()
	case "field_access":
		if c := chain(n); c != "" && r.class(c) {
			s.op, s.text = opName, r.name(c)
			break
		}
		s.op, s.text, s.kids = opMember, n.Field("field").Text(), []*syn{r.stmt(n.Field("object"))}
	case "method_invocation":
		s.op = opCall
		s.kids = append([]*syn{r.method(n.Field("object"), n.Field("name").Text(), s.line)}, r.all(n.Field("arguments").Parts())...)
	case "method_reference":
		if p := n.Parts(); len(p) == 2 {
			m := r.method(p[0], p[1].Text(), s.line)
			*s = *m
		}
	case "object_creation_expression":
		s.op = opCall
		s.kids = append([]*syn{{op: opName, text: "new " + r.name(n.Field("type").Text()), line: s.line}}, r.all(n.Field("arguments").Parts())...)
		r.members(n.Child("class_body"), "", &synFunc{body: &syn{op: opBlock}})
	case "array_access":
		s.op, s.kids = opIndex, []*syn{r.stmt(n.Field("array")), r.stmt(n.Field("index"))}
	case "binary_expression":
		s.op, s.text, s.kids = opBinary, n.Field("operator").Text(), []*syn{r.stmt(n.Field("left")), r.stmt(n.Field("right"))}
	case "unary_expression":
		s.kids = []*syn{r.stmt(n.Field("operand"))}
		if n.Field("operator").Text() == "!" {
			s.op = opNot
		}
	case "ternary_expression":
		s.op, s.kids = opIf, []*syn{r.stmt(n.Field("condition")), r.stmt(n.Field("consequence")), r.stmt(n.Field("alternative"))}
	case "assignment_expression":
		s.op, s.lhs, s.text, s.kids = opAssign, 1, n.Field("operator").Text(), []*syn{r.stmt(n.Field("left")), r.stmt(n.Field("right"))}
	case "instanceof_expression":
		r.instance(n, s)
	case "cast_expression":
		*s = *r.stmt(n.Field("value"))
	case "lambda_expression":
		s.op, s.fn = opFunc, &synFunc{line: s.line, body: r.stmt(n.Field("body"))}
		for p := range n.Field("parameters").All() {
			if p.Is("identifier") {
				s.fn.params = append(s.fn.params, synParam{name: p.Text()})
			}
		}
	default:
		return false
	}
	return true
}

// instance asks for a type, and binds the names of a pattern.
func (r *javaReader) instance(n code.Node, s *syn) {
	s.text, s.kids = "instanceof", []*syn{r.stmt(n.Field("left"))}
	name := n.Field("name")
	if !name.OK() {
		for p := range n.Field("pattern").All() {
			if p.Is("identifier") {
				name = p
			}
		}
	}
	if name.OK() {
		bound := &syn{op: opAssign, lhs: 1, text: "=", line: s.line, kids: []*syn{{op: opName, text: name.Text(), line: s.line}, r.stmt(n.Field("left"))}}
		s.kids = append(s.kids, bound)
	}
}

func (r *javaReader) stmt(n code.Node) *syn {
	s := &syn{op: opOther, line: n.Line()}
	if !n.OK() || r.expr(n, s) {
		return s
	}
	switch n.Kind() {
	case "expression_statement", "parenthesized_expression":
		if p := n.Parts(); len(p) > 0 {
			return r.stmt(p[0])
		}
	case "block", "constructor_body", "static_initializer", "try_statement", "try_with_resources_statement", "catch_clause", "finally_clause", "synchronized_statement", "labeled_statement":
		s.op, s.kids = opBlock, r.all(n.Parts())
	case "local_variable_declaration", "field_declaration":
		s.op = opBlock
		for _, d := range n.Parts() {
			if d.Is("variable_declarator") && d.Field("value").OK() {
				s.kids = append(s.kids, &syn{op: opAssign, lhs: 1, text: "=", line: d.Line(), kids: []*syn{{op: opName, text: d.Field("name").Text(), line: d.Line()}, r.stmt(d.Field("value"))}})
			}
		}
		if len(s.kids) == 1 {
			return s.kids[0]
		}
	case "resource":
		if n.Field("value").OK() {
			s.op, s.lhs, s.kids = opAssign, 1, []*syn{{op: opName, text: n.Field("name").Text(), line: s.line}, r.stmt(n.Field("value"))}
		}
	case "if_statement":
		s.op, s.kids = opIf, []*syn{r.stmt(n.Field("condition")), r.stmt(n.Field("consequence"))}
		if e := n.Field("alternative"); e.OK() {
			s.kids = append(s.kids, r.stmt(e))
		}
	case "while_statement", "do_statement":
		s.op, s.kids = opLoop, []*syn{r.stmt(n.Field("condition")), r.stmt(n.Field("body"))}
	case "for_statement":
		init, update := r.stmt(n.Field("init")), r.stmt(n.Field("update"))
		loop := &syn{op: opLoop, line: s.line, kids: []*syn{r.stmt(n.Field("condition")), {op: opBlock, line: s.line, kids: []*syn{update, r.stmt(n.Field("body"))}}}}
		s.op, s.kids = opBlock, []*syn{init, loop}
	case "enhanced_for_statement":
		s.op, s.lhs, s.kids = opEach, 1, []*syn{{op: opName, text: n.Field("name").Text(), line: s.line}, r.stmt(n.Field("value")), r.stmt(n.Field("body"))}
	case "switch_expression", "switch_statement":
		r.choice(n, s)
	case "return_statement", "yield_statement":
		s.op, s.kids = opReturn, r.all(n.Parts())
	case "throw_statement":
		s.op, s.kids = opThrow, r.all(n.Parts())
	case "break_statement", "continue_statement":
		s.op = opJump
	case "update_expression":
		s.op, s.lhs, s.text, s.kids = opAssign, 1, "+=", append(r.all(n.Parts()), &syn{op: opLit, text: "1", line: s.line})
	case "assert_statement":
		s.op, s.kids = opCall, append([]*syn{{op: opName, text: "assert", line: s.line}}, r.all(n.Parts())...)
	case "class_declaration", "record_declaration", "line_comment", "type_identifier":
	default:
		s.kids = r.all(n.Parts())
	}
	return s
}

func (r *javaReader) choice(n code.Node, s *syn) {
	s.op, s.kids = opSwitch, []*syn{r.stmt(n.Field("condition"))}
	for _, c := range n.Field("body").Parts() {
		one := &syn{op: opCase, line: c.Line()}
		body := &syn{op: opBlock, line: c.Line()}
		for _, p := range c.Parts() {
			if p.Is("switch_label") {
				one.kids = append(one.kids, r.all(p.Parts())...)
			} else {
				body.kids = append(body.kids, r.stmt(p))
			}
		}
		one.kids = append(one.kids, body)
		s.kids = append(s.kids, one)
	}
}
