package symbols

import (
	"slices"
	"strings"

	"agency/internal/code"
	"agency/internal/regexp"
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

// conditionOf is that of a statement or an expression.
func conditionOf(n code.Node) code.Node {
	if p := n.Parts(); n.Is("conditional_expression") && len(p) == 3 {
		return p[1] // Python's has no name for it
	}
	return n.Field("condition")
}

// isWithin tells of a node that lies in another.
func isWithin(n, outer code.Node) bool {
	return outer.OK() && n.Start() >= outer.Start() && n.End() <= outer.End()
}

// Argument is one of a call, from 0; no node where it has fewer.
func Argument(call code.Node, i int) code.Node {
	if args := call.Field("arguments").Parts(); i < len(args) {
		return args[i]
	}
	return code.Node{}
}

// starters are names of functions by which programs start.
var starters = Words(`main _main amain cli run_cli runCli entrypoint entry_point console_main`)

// readStart finds the functions that are part of how a program starts: those
// named so, those that are called from there only and give nothing back, and
// those that signals call.
func (r *Reader) readStart() map[int]bool {
	out := map[int]bool{}
	r.start = out
	for _, f := range r.Functions {
		inClass := f.Node.Is("method_definition")
		for a := range f.Node.Around() {
			inClass = inClass || a.Is("class_definition")
		}
		if starters[f.Name] && !inClass || r.handlesSignal(f) {
			out[f.Node.Start()] = true
		}
	}
	refs := map[string][]code.Node{}
	for n := range r.Root.All() {
		if n.Is("identifier", "shorthand_property_identifier", "property_identifier") {
			refs[n.Text()] = append(refs[n.Text()], n)
		}
	}
	for grew := true; grew; {
		grew = false
		for _, f := range r.Functions {
			if f.Name == "" || out[f.Node.Start()] || f.givesValue() {
				continue
			}
			uses, fits := 0, true
			for _, n := range refs[f.Name] {
				if isWithin(n, f.Node) || n.End() <= f.Body.Start() && n.Parent().Start() == f.Node.Parent().Start() {
					continue
				}
				uses++
				fits = fits && r.Starts(n)
			}
			if uses > 0 && fits {
				out[f.Node.Start()], grew = true, true
			}
		}
	}
	return out
}

// handlesSignal tells of a function that is handed to what waits for signals.
func (r *Reader) handlesSignal(f Function) bool {
	call := f.Node.Parent().Parent()
	if f.Node.Parent().Is("arguments", "argument_list") && r.waits(call) {
		return true
	}
	for n := range r.Root.All() {
		if !n.Is("call", "call_expression") || f.Name == "" || !r.waits(n) {
			continue
		}
		for _, a := range n.Field("arguments").Parts() {
			if a.Text() == f.Name || strings.HasSuffix(a.Text(), "."+f.Name) {
				return true
			}
		}
	}
	return false
}

func (r *Reader) waits(call code.Node) bool {
	args := call.Field("arguments").Parts()
	if len(args) < 2 {
		return false
	}
	for _, p := range r.Paths(call.Field("function")) {
		switch p {
		case "signal.signal":
			return true
		case "process.on", "process.once":
			t, _ := r.TextOf(args[0], 0)
			return strings.HasPrefix(t, "SIG")
		}
	}
	return false
}

// Starts tells whether a node is part of how a program starts.
func (r *Reader) Starts(n code.Node) bool {
	inFunction := false
	for a := range n.Around() {
		if a.Is(functionKinds...) {
			if r.start[a.Start()] {
				return true
			}
			inFunction = true
		}
		if a.Is("if_statement") && r.Guards(a) {
			return isWithin(n, a.Field("consequence"))
		}
	}
	return r.Options.Program && !inFunction
}

// Guards tells whether a statement asks if the module is the program.
func (r *Reader) Guards(n code.Node) bool {
	if Owner(n).OK() {
		return false
	}
	c := n.Field("condition")
	for c.Is("parenthesized_expression") && len(c.Parts()) == 1 {
		c = c.Parts()[0]
	}
	switch c.Kind() {
	case "comparison_operator":
		t := strings.NewReplacer(" ", "", "'", `"`).Replace(c.Text())
		return t == `__name__=="__main__"` || t == `"__main__"==__name__`
	case "binary_expression":
		return r.AsksMain(c)
	case "member_expression":
		return c.Text() == "import.meta.main"
	}
	return false
}

// AsksMain tells of `require.main === module` and what stands for it in modules
// of the newer kind.
func (r *Reader) AsksMain(c code.Node) bool {
	if op := c.Field("operator").Text(); op != "===" && op != "==" {
		return false
	}
	sides := []string{c.Field("left").Text(), c.Field("right").Text()}
	slices.Sort(sides)
	text := strings.Join(sides, " ")
	return text == "module require.main" ||
		strings.Contains(text, "process.argv[1]") && (strings.Contains(text, "import.meta") || strings.Contains(text, "__filename"))
}
