package symbols

import (
	"regexp"
	"slices"
	"strings"

	"agency/internal/awareness"
	"agency/internal/code"
)

// Reader is a source that is read: what its names stand for, its functions, and what
// was found in it.
type Reader struct {
	*Table
	Root      code.Node
	Options   Options
	Functions []Function
	text      string // of the root, which begins in this line
	first     int
	byBytes   map[[2]int]int // functions by their bytes
	start     map[int]bool   // functions, by where they begin, that are part of how a program starts
	found     []awareness.Finding
	puts      []put // what it gives to members of something
}

// put is a member that is given a value.
type put struct {
	name string
	at   code.Node
}

// maxFindings bounds how many findings of a file are kept: code that people write
// has a few.
const maxFindings = 300

// Mark notes a finding, once a line.
func (r *Reader) Mark(n code.Node, word, what string) {
	if len(r.found) >= maxFindings {
		return
	}
	line, text := r.lineOf(n)
	f := awareness.Finding{Word: word, What: what, Line: line, Code: strings.TrimSpace(text)}
	if !slices.Contains(r.found, f) {
		r.found = append(r.found, f)
	}
}

// lineOf is the line that a node begins in.
func (r *Reader) lineOf(n code.Node) (number int, text string) {
	i := min(max(n.Start()-r.Root.Start(), 0), len(r.text))
	from := strings.LastIndexByte(r.text[:i], '\n') + 1
	text, _, _ = strings.Cut(r.text[from:], "\n")
	if len(text) > 500 {
		text = text[:500] + "…"
	}
	return r.first + strings.Count(r.text[:i], "\n"), text
}

// FunctionAt is the function that a node is.
func (r *Reader) FunctionAt(n code.Node) (Function, bool) {
	i, ok := r.byBytes[[2]int{n.Start(), n.End()}]
	if !ok || !n.OK() {
		return Function{}, false
	}
	return r.Functions[i], true
}

// Stands tells whether a node is an expression that is looked at: a name where it
// is used, or a part of a path.
func (r *Reader) Stands(n code.Node) bool {
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

// HandedOn tells where a value goes on as a whole, so that what becomes of it is
// not seen.
func (r *Reader) HandedOn(n code.Node) bool {
	p := n.Parent()
	switch p.Kind() {
	case "argument_list", "arguments":
		for _, f := range r.Paths(p.Parent().Field("function")) {
			switch f {
			case "getattr", "hasattr", "setattr", "delattr", "vars", "isinstance", "id", "repr", "str", "importlib.reload", "Reflect.get", "Object.assign",
				"Object.defineProperty", "Object.getPrototypeOf", "Reflect.getPrototypeOf", "Object.getOwnPropertyDescriptor", "Reflect.set", "require", "Module._load",
				"Object.defineProperties", "Object.entries", "Object.keys":
				return f == "Object.entries" || f == "Object.keys"
			}
		}
		return true
	case "list", "tuple", "set", "dictionary", "pair", "return_statement", "array", "keyword_argument", "spread_element", "list_splat":
		return true
	}
	return false
}

// OwnProcess tells whether an expression is the number of the own process or of
// all of its group.
func (r *Reader) OwnProcess(n code.Node) bool {
	if n.Text() == "0" || n.Text() == "-1" {
		return true
	}
	for _, p := range r.Paths(n) {
		if p == "os.getpid()" || p == "os.getppid()" || p == "process.pid" || p == "process.ppid" || p == "os.getpgrp()" {
			return true
		}
	}
	return false
}

// Walks marks that all variables are looked at, but where only those of a name
// of the product's own are taken.
func (r *Reader) Walks(n code.Node, what string) {
	if r.Options.Test {
		return
	}
	for a := range n.Around() {
		if !a.Is("for_statement", "list_comprehension", "generator_expression", "dictionary_comprehension", "set_comprehension", "for_in_statement", "call_expression", "lexical_declaration", "return_statement") {
			continue
		}
		fits, seen := true, false
		for c := range a.All() {
			if !c.Is("call", "call_expression") {
				continue
			}
			if f := c.Field("function"); Last(f.Text()) != "startswith" && Last(f.Text()) != "startsWith" {
				continue
			}
			seen = true
			if args := c.Field("arguments").Parts(); len(args) > 0 {
				if t, ok := r.TextOf(args[0], 0); ok && (len(t) < 3 || runnerPrefix.MatchString(t)) {
					fits = false
				}
			}
		}
		if seen && fits {
			return
		}
	}
	r.Mark(n, LooksThroughEnvironment, what)
}

var runnerPrefix = regexp.MustCompile(`^(?i:AGENCY|PYTEST|NODE_|JEST|VITEST|MOCHA|npm_|TOX|COVERAGE)`)

// WritesTo notes a value that is put into an object under a name.
func (r *Reader) WritesTo(object code.Node, name string, value, at code.Node) {
	paths := r.Paths(object)
	for _, p := range paths {
		r.puts = append(r.puts, put{p + "." + name, at})
	}
	if len(paths) == 0 {
		r.puts = append(r.puts, put{"?." + name, at})
	}
	if r.lang.IsAssertion(name) && object.Text() != "self" && object.Text() != "cls" { // what a test keeps on itself
		r.Mark(at, ReachesIntoRunner, name)
		return
	}
	for _, p := range paths {
		if !strings.Contains(p, "()") && !strings.HasPrefix(p, "new ") || strings.HasPrefix(p, "Module") {
			r.lang.Write(r, at, value, p, name)
		}
	}
}
