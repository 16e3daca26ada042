package jvm

import (
	"path"
	"slices"
	"strings"

	"agency/internal/awareness/dataflow"
	"agency/internal/code"
)

// formReader reads a file of Java into the common form.
type formReader struct {
	file    *dataflow.File
	imports map[string]string // classes by their bare names
	statics map[string]string // members that are taken in by their bare names
	open    []string          // classes all of whose static members are
	types   map[string]string // of variables and fields, as far as they are written
}

// langClasses are classes that need no import.
var langClasses = strings.Fields("System Runtime Thread Throwable Exception RuntimeException Error StackWalker ProcessHandle Class ClassLoader Package ThreadGroup Module ModuleLayer")

// readForm reads a file; its unit is the class that it is named by.
func readForm(src dataflow.Source, root code.Node) *dataflow.File {
	f := &dataflow.File{Path: src.Path, Test: src.Test, Text: string(src.Text), Bare: map[string]bool{}, Unit: strings.TrimSuffix(path.Base(src.Path), ".java")}
	r := formReader{file: f, imports: map[string]string{}, statics: map[string]string{}, types: map[string]string{}}
	for _, c := range langClasses {
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
	vars := &dataflow.Func{Body: &dataflow.Node{Op: dataflow.OpBlock}}
	r.members(root, "", vars)
	f.Funcs = append(f.Funcs, vars)
	return f
}

func (r *formReader) taken(n code.Node) {
	name := n.Child("scoped_identifier", "identifier").Text()
	static, all := false, n.Child("asterisk").OK()
	for _, c := range n.Children() {
		static = static || c.Text() == "static"
	}
	switch {
	case static && all:
		r.open = append(r.open, name)
	case static:
		r.statics[dataflow.Last(name)] = name
	case !all:
		r.imports[dataflow.Last(name)] = name
	}
}

func (r *formReader) members(n code.Node, owner string, vars *dataflow.Func) {
	for _, c := range n.Parts() {
		switch c.Kind() {
		case "class_declaration", "interface_declaration", "enum_declaration", "record_declaration":
			name := c.Field("name").Text()
			if c.Is("class_declaration") && !r.holdsFields(c.Field("body")) && !c.Field("superclass").OK() {
				r.file.Bare[name] = true
			}
			if c.Is("record_declaration") && len(c.Field("parameters").Parts()) == 0 {
				r.file.Bare[name] = true
			}
			r.members(c.Field("body"), name, vars)
		case "enum_body_declarations":
			r.members(c, owner, vars)
		case "method_declaration", "constructor_declaration", "compact_constructor_declaration":
			if c.Field("body").OK() {
				r.file.Funcs = append(r.file.Funcs, r.function(c, owner))
			}
		case "field_declaration", "static_initializer", "block":
			vars.Body.Kids = append(vars.Body.Kids, r.stmt(c))
		}
	}
}

func (r *formReader) holdsFields(body code.Node) bool {
	return slices.ContainsFunc(body.Parts(), func(c code.Node) bool {
		return c.Is("field_declaration") && !strings.Contains(c.Child("modifiers").Text(), "static")
	})
}

func (r *formReader) function(n code.Node, owner string) *dataflow.Func {
	fn := &dataflow.Func{Name: n.Field("name").Text(), Owner: owner, Line: n.Line()}
	for _, p := range n.Field("parameters").Parts() {
		typ, name := p.Field("type").Text(), p.Field("name").Text()
		if p.Is("spread_parameter") {
			typ, name = p.Parts()[0].Text()+"[]", p.Child("variable_declarator").Field("name").Text()
		}
		fn.Params = append(fn.Params, dataflow.Param{Name: name, Type: typ})
	}
	if t := n.Field("type").Text(); t != "" && t != "void" {
		fn.Results = []string{t}
	}
	fn.Entry = fn.Name == "main" && len(fn.Params) <= 1 && strings.Contains(n.Child("modifiers").Text(), "static") && len(fn.Results) == 0 &&
		(len(fn.Params) == 0 || strings.HasPrefix(fn.Params[0].Type, "String"))
	fn.Body = r.stmt(n.Field("body"))
	return fn
}

// name is what a chain of bare names stands for: a class with its package, a
// member of one.
func (r *formReader) name(text string) string {
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
func (r *formReader) class(text string) bool {
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

func (r *formReader) all(parts []code.Node) (out []*dataflow.Node) {
	for _, p := range parts {
		out = append(out, r.stmt(p))
	}
	return out
}

// method is what a call names, or a reference to a method.
func (r *formReader) method(object code.Node, name string, line int) *dataflow.Node {
	if !object.OK() {
		s := &dataflow.Node{Op: dataflow.OpName, Text: name, Line: line}
		if full := r.statics[name]; full != "" {
			s.Text = full
		}
		for _, c := range r.open {
			if isKnown(c + "." + name) {
				s.Text = c + "." + name
			}
		}
		return s
	}
	if c := chain(object); c != "" && r.class(c) {
		return &dataflow.Node{Op: dataflow.OpName, Text: r.name(c) + "." + name, Line: line}
	}
	if t := r.types[chain(object)]; t == "Runtime" || t == "java.lang.Runtime" {
		return &dataflow.Node{Op: dataflow.OpName, Text: "java.lang.Runtime." + name, Line: line}
	}
	if object.Is("method_invocation") && object.Field("name").Text() == "getRuntime" {
		return &dataflow.Node{Op: dataflow.OpName, Text: "java.lang.Runtime." + name, Line: line}
	}
	return &dataflow.Node{Op: dataflow.OpMember, Text: name, Line: line, Kids: []*dataflow.Node{r.stmt(object)}}
}

func (r *formReader) expr(n code.Node, s *dataflow.Node) bool {
	switch n.Kind() {
	case "identifier", "this", "super", "null_literal":
		s.Op, s.Text = dataflow.OpName, n.Text()
		if full := r.statics[n.Text()]; full != "" && r.types[n.Text()] == "" {
			s.Text = full
		}
	case "string_literal":
		s.Op, s.IsText, s.Text = dataflow.OpLit, true, dataflow.Unquoted(n.Text())
	case "decimal_integer_literal", "hex_integer_literal", "decimal_floating_point_literal", "character_literal", "true", "false":
		s.Op, s.Text = dataflow.OpLit, n.Text()
	case "field_access":
		if c := chain(n); c != "" && r.class(c) {
			s.Op, s.Text = dataflow.OpName, r.name(c)
			break
		}
		s.Op, s.Text, s.Kids = dataflow.OpMember, n.Field("field").Text(), []*dataflow.Node{r.stmt(n.Field("object"))}
	case "method_invocation":
		s.Op = dataflow.OpCall
		s.Kids = append([]*dataflow.Node{r.method(n.Field("object"), n.Field("name").Text(), s.Line)}, r.all(n.Field("arguments").Parts())...)
	case "method_reference":
		if p := n.Parts(); len(p) == 2 {
			m := r.method(p[0], p[1].Text(), s.Line)
			*s = *m
		}
	case "object_creation_expression":
		s.Op = dataflow.OpCall
		s.Kids = append([]*dataflow.Node{{Op: dataflow.OpName, Text: "new " + r.name(n.Field("type").Text()), Line: s.Line}}, r.all(n.Field("arguments").Parts())...)
		r.members(n.Child("class_body"), "", &dataflow.Func{Body: &dataflow.Node{Op: dataflow.OpBlock}})
	case "array_access":
		s.Op, s.Kids = dataflow.OpIndex, []*dataflow.Node{r.stmt(n.Field("array")), r.stmt(n.Field("index"))}
	case "binary_expression":
		s.Op, s.Text, s.Kids = dataflow.OpBinary, n.Field("operator").Text(), []*dataflow.Node{r.stmt(n.Field("left")), r.stmt(n.Field("right"))}
	case "unary_expression":
		s.Kids = []*dataflow.Node{r.stmt(n.Field("operand"))}
		if n.Field("operator").Text() == "!" {
			s.Op = dataflow.OpNot
		}
	case "ternary_expression":
		s.Op, s.Kids = dataflow.OpIf, []*dataflow.Node{r.stmt(n.Field("condition")), r.stmt(n.Field("consequence")), r.stmt(n.Field("alternative"))}
	case "assignment_expression":
		s.Op, s.LHS, s.Text, s.Kids = dataflow.OpAssign, 1, n.Field("operator").Text(), []*dataflow.Node{r.stmt(n.Field("left")), r.stmt(n.Field("right"))}
	case "instanceof_expression":
		r.instance(n, s)
	case "cast_expression":
		*s = *r.stmt(n.Field("value"))
	case "lambda_expression":
		s.Op, s.Func = dataflow.OpFunc, &dataflow.Func{Line: s.Line, Body: r.stmt(n.Field("body"))}
		for p := range n.Field("parameters").All() {
			if p.Is("identifier") {
				s.Func.Params = append(s.Func.Params, dataflow.Param{Name: p.Text()})
			}
		}
	default:
		return false
	}
	return true
}

// instance asks for a type, and binds the names of a pattern.
func (r *formReader) instance(n code.Node, s *dataflow.Node) {
	s.Text, s.Kids = "instanceof", []*dataflow.Node{r.stmt(n.Field("left"))}
	name := n.Field("name")
	if !name.OK() {
		for p := range n.Field("pattern").All() {
			if p.Is("identifier") {
				name = p
			}
		}
	}
	if name.OK() {
		bound := &dataflow.Node{Op: dataflow.OpAssign, LHS: 1, Text: "=", Line: s.Line, Kids: []*dataflow.Node{{Op: dataflow.OpName, Text: name.Text(), Line: s.Line}, r.stmt(n.Field("left"))}}
		s.Kids = append(s.Kids, bound)
	}
}

func (r *formReader) stmt(n code.Node) *dataflow.Node {
	s := &dataflow.Node{Op: dataflow.OpOther, Line: n.Line()}
	if !n.OK() || r.expr(n, s) {
		return s
	}
	switch n.Kind() {
	case "expression_statement", "parenthesized_expression":
		if p := n.Parts(); len(p) > 0 {
			return r.stmt(p[0])
		}
	case "block", "constructor_body", "static_initializer", "try_statement", "try_with_resources_statement", "catch_clause", "finally_clause", "synchronized_statement", "labeled_statement":
		s.Op, s.Kids = dataflow.OpBlock, r.all(n.Parts())
	case "local_variable_declaration", "field_declaration":
		s.Op = dataflow.OpBlock
		for _, d := range n.Parts() {
			if d.Is("variable_declarator") && d.Field("value").OK() {
				s.Kids = append(s.Kids, &dataflow.Node{Op: dataflow.OpAssign, LHS: 1, Text: "=", Line: d.Line(), Kids: []*dataflow.Node{{Op: dataflow.OpName, Text: d.Field("name").Text(), Line: d.Line()}, r.stmt(d.Field("value"))}})
			}
		}
		if len(s.Kids) == 1 {
			return s.Kids[0]
		}
	case "resource":
		if n.Field("value").OK() {
			s.Op, s.LHS, s.Kids = dataflow.OpAssign, 1, []*dataflow.Node{{Op: dataflow.OpName, Text: n.Field("name").Text(), Line: s.Line}, r.stmt(n.Field("value"))}
		}
	case "if_statement":
		s.Op, s.Kids = dataflow.OpIf, []*dataflow.Node{r.stmt(n.Field("condition")), r.stmt(n.Field("consequence"))}
		if e := n.Field("alternative"); e.OK() {
			s.Kids = append(s.Kids, r.stmt(e))
		}
	case "while_statement", "do_statement":
		s.Op, s.Kids = dataflow.OpLoop, []*dataflow.Node{r.stmt(n.Field("condition")), r.stmt(n.Field("body"))}
	case "for_statement":
		init, update := r.stmt(n.Field("init")), r.stmt(n.Field("update"))
		loop := &dataflow.Node{Op: dataflow.OpLoop, Line: s.Line, Kids: []*dataflow.Node{r.stmt(n.Field("condition")), {Op: dataflow.OpBlock, Line: s.Line, Kids: []*dataflow.Node{update, r.stmt(n.Field("body"))}}}}
		s.Op, s.Kids = dataflow.OpBlock, []*dataflow.Node{init, loop}
	case "enhanced_for_statement":
		s.Op, s.LHS, s.Kids = dataflow.OpEach, 1, []*dataflow.Node{{Op: dataflow.OpName, Text: n.Field("name").Text(), Line: s.Line}, r.stmt(n.Field("value")), r.stmt(n.Field("body"))}
	case "switch_expression", "switch_statement":
		r.choice(n, s)
	case "return_statement", "yield_statement":
		s.Op, s.Kids = dataflow.OpReturn, r.all(n.Parts())
	case "throw_statement":
		s.Op, s.Kids = dataflow.OpThrow, r.all(n.Parts())
	case "break_statement", "continue_statement":
		s.Op = dataflow.OpJump
	case "update_expression":
		s.Op, s.LHS, s.Text, s.Kids = dataflow.OpAssign, 1, "+=", append(r.all(n.Parts()), &dataflow.Node{Op: dataflow.OpLit, Text: "1", Line: s.Line})
	case "assert_statement":
		s.Op, s.Kids = dataflow.OpCall, append([]*dataflow.Node{{Op: dataflow.OpName, Text: "assert", Line: s.Line}}, r.all(n.Parts())...)
	case "class_declaration", "record_declaration", "line_comment", "type_identifier":
	default:
		s.Kids = r.all(n.Parts())
	}
	return s
}

func (r *formReader) choice(n code.Node, s *dataflow.Node) {
	s.Op, s.Kids = dataflow.OpSwitch, []*dataflow.Node{r.stmt(n.Field("condition"))}
	for _, c := range n.Field("body").Parts() {
		one := &dataflow.Node{Op: dataflow.OpCase, Line: c.Line()}
		body := &dataflow.Node{Op: dataflow.OpBlock, Line: c.Line()}
		for _, p := range c.Parts() {
			if p.Is("switch_label") {
				one.Kids = append(one.Kids, r.all(p.Parts())...)
			} else {
				body.Kids = append(body.Kids, r.stmt(p))
			}
		}
		one.Kids = append(one.Kids, body)
		s.Kids = append(s.Kids, one)
	}
}
