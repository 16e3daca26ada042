package symbols

import (
	"regexp"
	"slices"
	"strings"

	"agency/internal/code"
)

// Function is one of the file, of any form.
type Function struct {
	Node, Body code.Node
	Name       string // by what it is assigned to where it has none of its own
	Params     []string
}

var functionKinds = []string{
	"function_definition", "lambda", "function_declaration", "generator_function_declaration", "function_expression", "generator_function", "arrow_function", "method_definition",
}

// functions are all that have a body.
func functions(root code.Node) (out []Function) {
	for n := range root.All() {
		if !n.Is(functionKinds...) || !n.Field("body").OK() {
			continue
		}
		f := Function{Node: n, Body: n.Field("body"), Name: strings.Trim(n.Field("name").Text(), `"'`)}
		if f.Name == "" {
			switch p := n.Parent(); p.Kind() {
			case "variable_declarator", "assignment":
				f.Name = p.Field("name").Text() + p.Field("left").Text()
			case "pair":
				f.Name = strings.Trim(p.Field("key").Text(), `"'`)
			case "assignment_expression":
				f.Name = Last(p.Field("left").Text())
			case "keyword_argument":
				f.Name = p.Field("name").Text()
			}
		}
		params := n.Field("parameters")
		if one := n.Field("parameter"); one.OK() {
			f.Params = append(f.Params, one.Text())
		}
		for _, p := range params.Parts() {
			f.Params = append(f.Params, nameOfParameter(p))
		}
		out = append(out, f)
	}
	return out
}

func nameOfParameter(p code.Node) string {
	for n := range p.All() {
		if n.Is("identifier", "shorthand_property_identifier_pattern") {
			return n.Text()
		}
	}
	return p.Text()
}

// givesValue tells whether a function returns something to its caller.
func (f Function) givesValue() bool {
	if !f.Body.Is("block", "statement_block") {
		return !f.Body.Is("call_expression", "call")
	}
	for n := range f.Body.All() {
		if n.Is("return_statement", "yield", "yield_expression") && len(n.Parts()) > 0 && Owner(n).Start() == f.Node.Start() {
			return true
		}
	}
	return false
}

// Owner is the function that a node is right in.
func Owner(n code.Node) code.Node {
	for a := range n.Around() {
		if a.Is(functionKinds...) {
			return a
		}
	}
	return code.Node{}
}

// Results are what a function returns.
func Results(f Function) (out []code.Node) {
	if !f.Body.Is("block", "statement_block") {
		return []code.Node{f.Body}
	}
	for n := range f.Body.All() {
		if n.Is("return_statement") && Owner(n).Start() == f.Node.Start() {
			if p := n.Parts(); len(p) > 0 {
				out = append(out, p[0])
			}
		}
	}
	return out
}

// IsFixed tells whether an expression is the same whatever the inputs are.
func IsFixed(e code.Node) bool {
	return IsConstant(e) || e.Is("template_string", "parenthesized_expression") && fixedForm.MatchString(e.Text())
}

var fixedForm = regexp.MustCompile("^[(]?(?:`[^$]*`|-?[\\d.]+|True|False|true|false)[)]?$")

// Mentions tells whether a part of the source has one of these names in it.
func Mentions(n code.Node, names map[string]bool) bool {
	for c := range n.All() {
		if c.Is("identifier") && names[c.Text()] {
			return true
		}
	}
	return false
}

// MentionsAny tells whether one of these names stands in a part of the source.
func MentionsAny(n code.Node, names []string) bool {
	for c := range n.All() {
		if c.Is("identifier", "shorthand_property_identifier") && slices.Contains(names, c.Text()) {
			return true
		}
	}
	return false
}

// IsConstant tells of a value that is written out and no code.
func IsConstant(n code.Node) bool {
	switch n.Kind() {
	case "string", "integer", "float", "true", "false", "none", "number", "null", "undefined", "unary_operator", "unary_expression":
		return true
	}
	return n.Text() == "undefined"
}

// Written tells of an expression that is given a value where it stands.
func Written(n code.Node) bool {
	p := n.Parent()
	return p.Is("assignment_expression") && p.Field("left").Start() == n.Start() && p.Field("left").End() == n.End()
}

// Argument is one of a call, from 0; no node where it has fewer.
func Argument(call code.Node, i int) code.Node {
	if args := call.Field("arguments").Parts(); i < len(args) {
		return args[i]
	}
	return code.Node{}
}
