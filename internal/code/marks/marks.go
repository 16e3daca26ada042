package marks

import (
	"slices"
	"strings"

	"agency/internal/code"
)

// Mark is one way by which a source can know of its tests or decide their
// results.
type Mark struct {
	Word string // what it does, such as "looks at who calls it"
	What string // with what, such as "sys._getframe"; may be ""
	Line int    // from 1
	Code string // the line itself, without the blanks around it
}

// Options say what kind of source is read.
type Options struct {
	// Test says that it is a file of tests: what tests may do is no mark there,
	// and what only they can do is one.
	Test bool
	// Program says that the file is only started by itself, and nobody's module.
	Program bool
	// Theirs tells of a module of Python, by the name that an import has for it,
	// which the folders of tests alone have; may be nil.
	Theirs func(module string) bool
}

// File is what was found in a source.
type File struct {
	Marks []Mark
	State State
}

// Read reads a source of Python, or a script: JavaScript or TypeScript.
func Read(root code.Node, script bool, o Options) File {
	r := &reader{root: root, names: readNames(root, script), o: o, text: root.Text(), first: root.Line(), at: map[[2]int]int{}}
	r.functions = r.readFunctions()
	for i, f := range r.functions {
		r.at[[2]int{f.node.Start(), f.node.End()}] = i
	}
	r.start = r.readStart()
	for n := range root.All() {
		if script {
			r.scriptNode(n)
		} else {
			r.pythonNode(n)
		}
		r.clockMarks(n)
		r.streamMarks(n)
		r.texts(n)
		r.hooks(n)
	}
	state := r.readState()
	slices.SortStableFunc(r.marks, func(a, b Mark) int { return a.Line - b.Line })
	if r.left <= 0 {
		r.marks = append(r.marks, Mark{Word: "is more than can be followed"})
	}
	return File{Marks: r.marks, State: state}
}

type reader struct {
	*names
	root      code.Node
	text      string // of the root, which begins in this line
	first     int
	o         Options
	at        map[[2]int]int // functions by their bytes
	functions []function
	start     map[int]bool // functions, by where they begin, that are part of how a program starts
	marks     []Mark
	puts      []put // what it gives to members of something
}

// put is a member that is given a value.
type put struct {
	name string
	at   code.Node
}

// maxMarks bounds how many marks of a file are kept: code that people write has
// a few.
const maxMarks = 300

// mark notes one, once a line.
func (r *reader) mark(n code.Node, word, what string) {
	if len(r.marks) >= maxMarks {
		return
	}
	line, text := r.lineOf(n)
	m := Mark{Word: word, What: what, Line: line, Code: strings.TrimSpace(text)}
	if !slices.Contains(r.marks, m) {
		r.marks = append(r.marks, m)
	}
}

// lineOf is the line that a node begins in.
func (r *reader) lineOf(n code.Node) (number int, text string) {
	i := min(max(n.Start()-r.root.Start(), 0), len(r.text))
	from := strings.LastIndexByte(r.text[:i], '\n') + 1
	text, _, _ = strings.Cut(r.text[from:], "\n")
	if len(text) > 500 {
		text = text[:500] + "…"
	}
	return r.first + strings.Count(r.text[:i], "\n"), text
}

// function is one of the file, of any form.
type function struct {
	node, body code.Node
	name       string
	params     []string
}

var functionKinds = []string{
	"function_definition", "lambda", "function_declaration", "generator_function_declaration", "function_expression", "generator_function", "arrow_function", "method_definition",
}

func (r *reader) readFunctions() (out []function) {
	for n := range r.root.All() {
		if !n.Is(functionKinds...) || !n.Field("body").OK() {
			continue
		}
		f := function{node: n, body: n.Field("body"), name: strings.Trim(n.Field("name").Text(), `"'`)}
		if f.name == "" {
			switch p := n.Parent(); p.Kind() {
			case "variable_declarator", "assignment":
				f.name = p.Field("name").Text() + p.Field("left").Text()
			case "pair":
				f.name = strings.Trim(p.Field("key").Text(), `"'`)
			case "assignment_expression":
				f.name = last(p.Field("left").Text())
			case "keyword_argument":
				f.name = p.Field("name").Text()
			}
		}
		params := n.Field("parameters")
		if one := n.Field("parameter"); one.OK() {
			f.params = append(f.params, one.Text())
		}
		for _, p := range params.Parts() {
			f.params = append(f.params, nameOfParameter(p))
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
func (f function) givesValue() bool {
	if !f.body.Is("block", "statement_block") {
		return !f.body.Is("call_expression", "call")
	}
	for n := range f.body.All() {
		if n.Is("return_statement", "yield", "yield_expression") && len(n.Parts()) > 0 && owner(n).Start() == f.node.Start() {
			return true
		}
	}
	return false
}

// owner is the function that a node is right in.
func owner(n code.Node) code.Node {
	for a := range n.Around() {
		if a.Is(functionKinds...) {
			return a
		}
	}
	return code.Node{}
}

// starters are names of functions by which programs start.
var starters = words(`main _main amain cli run_cli runCli entrypoint entry_point console_main`)

// readStart finds the functions that are part of how a program starts: those
// named so, those that are called from there only and give nothing back, and
// those that signals call.
func (r *reader) readStart() map[int]bool {
	out := map[int]bool{}
	r.start = out
	for _, f := range r.functions {
		inClass := f.node.Is("method_definition")
		for a := range f.node.Around() {
			inClass = inClass || a.Is("class_definition")
		}
		if starters[f.name] && !inClass || r.handlesSignal(f) {
			out[f.node.Start()] = true
		}
	}
	refs := map[string][]code.Node{}
	for n := range r.root.All() {
		if n.Is("identifier", "shorthand_property_identifier", "property_identifier") {
			refs[n.Text()] = append(refs[n.Text()], n)
		}
	}
	for grew := true; grew; {
		grew = false
		for _, f := range r.functions {
			if f.name == "" || out[f.node.Start()] || f.givesValue() {
				continue
			}
			uses, fits := 0, true
			for _, n := range refs[f.name] {
				if n.Start() >= f.node.Start() && n.End() <= f.node.End() || n.End() <= f.body.Start() && n.Parent().Start() == f.node.Parent().Start() {
					continue
				}
				uses++
				fits = fits && r.starts(n)
			}
			if uses > 0 && fits {
				out[f.node.Start()], grew = true, true
			}
		}
	}
	return out
}

// handlesSignal tells of a function that is handed to what waits for signals.
func (r *reader) handlesSignal(f function) bool {
	call := f.node.Parent().Parent()
	if f.node.Parent().Is("arguments", "argument_list") && r.waits(call) {
		return true
	}
	for n := range r.root.All() {
		if !n.Is("call", "call_expression") || f.name == "" || !r.waits(n) {
			continue
		}
		for _, a := range n.Field("arguments").Parts() {
			if a.Text() == f.name || strings.HasSuffix(a.Text(), "."+f.name) {
				return true
			}
		}
	}
	return false
}

func (r *reader) waits(call code.Node) bool {
	args := call.Field("arguments").Parts()
	if len(args) < 2 {
		return false
	}
	for _, p := range r.paths(call.Field("function")) {
		switch p {
		case "signal.signal":
			return true
		case "process.on", "process.once":
			t, _ := r.textOf(args[0], 0)
			return strings.HasPrefix(t, "SIG")
		}
	}
	return false
}

// starts tells whether a node is part of how a program starts.
func (r *reader) starts(n code.Node) bool {
	inFunction := false
	for a := range n.Around() {
		if a.Is(functionKinds...) {
			if r.start[a.Start()] {
				return true
			}
			inFunction = true
		}
		if a.Is("if_statement") && r.guards(a) {
			c := a.Field("consequence")
			return n.Start() >= c.Start() && n.End() <= c.End()
		}
	}
	return r.o.Program && !inFunction
}

// guards tells whether a statement asks if the module is the program.
func (r *reader) guards(n code.Node) bool {
	if owner(n).OK() {
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
		return r.asksMain(c)
	case "member_expression":
		return c.Text() == "import.meta.main"
	}
	return false
}

// asksMain tells of `require.main === module` and what stands for it in modules
// of the newer kind.
func (r *reader) asksMain(c code.Node) bool {
	if op := c.Field("operator").Text(); op != "===" && op != "==" {
		return false
	}
	sides := []string{c.Field("left").Text(), c.Field("right").Text()}
	slices.Sort(sides)
	text := strings.Join(sides, " ")
	return text == "module require.main" ||
		strings.Contains(text, "process.argv[1]") && (strings.Contains(text, "import.meta") || strings.Contains(text, "__filename"))
}

// stands tells whether a node is an expression that is looked at: a name where it
// is used, or a part of a path.
func (r *reader) stands(n code.Node) bool {
	switch n.Kind() {
	case "attribute", "subscript", "call", "member_expression", "subscript_expression", "call_expression", "new_expression", "meta_property":
		return true
	case "identifier", "shorthand_property_identifier":
	default:
		return false
	}
	p := n.Parent()
	same := func(c code.Node) bool { return c.OK() && c.Start() == n.Start() && c.End() == n.End() }
	switch p.Kind() {
	case "attribute":
		return !same(p.Field("attribute"))
	case "keyword_argument", "default_parameter", "function_definition", "class_definition", "function_declaration", "class_declaration", "typed_default_parameter", "variable_declarator":
		return !same(p.Field("name"))
	case "assignment", "assignment_expression", "for_statement", "for_in_clause", "for_in_statement":
		return !same(p.Field("left"))
	case "dotted_name", "aliased_import", "import_from_statement", "parameters", "formal_parameters", "lambda_parameters", "typed_parameter", "import_specifier",
		"import_clause", "namespace_import", "global_statement", "nonlocal_statement", "as_pattern_target", "pattern_list", "tuple_pattern", "array_pattern", "rest_pattern":
		return false
	}
	return true
}

// constant tells of a value that is written out and no code.
func constant(n code.Node) bool {
	switch n.Kind() {
	case "string", "integer", "float", "true", "false", "none", "number", "null", "undefined", "unary_operator", "unary_expression":
		return true
	}
	return n.Text() == "undefined"
}
