// Package symbols finds in a source of Python, JavaScript or TypeScript by what code
// can know of its tests or decide their results without doing its work: it looks
// at who calls or runs it or reads its output, asks whether its clock is the real
// one, reaches into what asserts or loads, ends the process,
// equals whatever it is compared with, or reads what a test hands it aside.
//
// Names are followed through the file, whatever way they were imported, renamed,
// taken apart or put together of texts, without regard to scope: a name stands
// for all that it is given anywhere. What is honest is told by where it stands:
// a program may read its arguments and end itself where it starts, and a module
// may ask whether it is the program.
//
// A Table holds what names stand for, a Reader one source with what was found in it;
// a Language says how statements bind names, what expressions stand for, and what of
// its library tells of tests. The grammars of both share most names of nodes, so
// that what is looked for in all code stands here once: clocks, streams, texts, state.
//
// # What the reader cannot tell
//
// Values are not followed through parameters, containers and results of calls;
// the whole of a module that is handed on there is a finding by itself, instead. And
// nothing tells what is meant by something that a test hands in openly: an
// argument of its own, a function that does the work. Whether that is the work
// that was asked for, only a person can say.
package symbols

import (
	"slices"
	"strings"

	"agency/internal/awareness"
	"agency/internal/code"
	"agency/internal/regexp"
	"agency/internal/text"
)

// Language is what is known of one language: its grammar as far as names go, and
// what of its library tells of tests.
type Language struct {
	// Self is the name of the receiver in a method: self, this.
	Self string
	// Members are members that nothing else has, with the word of a finding.
	Members map[string]string
	// Bind notes what a statement gives to names.
	Bind func(*Table, code.Node)
	// Eval is what an expression may stand for.
	Eval func(t *Table, n code.Node, depth int) []Value
	// Spell gives a path its one spelling.
	Spell func(path string) string
	// Look notes what a node knows or does; Compare whether it is a method by which a
	// value equals what it is compared with.
	Look, Compare func(*Reader, code.Node)
	// Write notes a value that is put under a name into what a path stands for.
	Write func(r *Reader, at, value code.Node, path, name string)
	// IsAssertion tells of a method by which tests fail.
	IsAssertion func(name string) bool
	// Global resolves an expression such as globalThis.x to the name of a global
	// variable that is not the language's own; nil where there are none.
	Global func(text string) (name string, ok bool)
}

// Options say what kind of source is read.
type Options struct {
	// Test says that it is a file of tests: what tests may do is no finding there,
	// and what only they can do is one.
	Test bool
	// Program says that the file is only started by itself, and nobody's module.
	Program bool
	// Theirs tells of a module, by the name that an import has for it, which the
	// folders of tests alone have; may be nil.
	Theirs func(module string) bool
}

// File is what was found in a source.
type File struct {
	Findings []awareness.Finding
	State    State
}

// Read reads a source.
func Read(root code.Node, lang *Language, o Options) File {
	r := &Reader{Root: root, Table: newTable(root, lang), Options: o, text: root.Text(), first: root.Line(), byBytes: map[[2]int]int{}}
	r.Functions = functions(root)
	for i, f := range r.Functions {
		r.byBytes[[2]int{f.Node.Start(), f.Node.End()}] = i
	}
	r.start = r.readStart()
	for n := range root.All() {
		lang.Look(r, n)
		r.lookAtClock(n)
		r.lookAtOutput(n)
		r.texts(n)
		lang.Compare(r, n)
	}
	s := stateReader{Reader: r}
	s.read()
	slices.SortStableFunc(r.found, func(a, b awareness.Finding) int { return a.Line - b.Line })
	if r.left <= 0 {
		r.found = append(r.found, awareness.Finding{Word: "is more than can be followed"})
	}
	return File{Findings: r.found, State: s.State}
}

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
	line, begin := r.lineOf(n)
	f := awareness.Finding{Word: word, What: what, Line: line, Code: strings.TrimSpace(begin)}
	if !slices.Contains(r.found, f) {
		r.found = append(r.found, f)
	}
}

// lineOf is the line that a node begins in.
func (r *Reader) lineOf(n code.Node) (number int, begin string) {
	i := min(max(n.Start()-r.Root.Start(), 0), len(r.text))
	from := strings.LastIndexByte(r.text[:i], '\n') + 1
	line, _, _ := strings.Cut(r.text[from:], "\n")
	return r.first + strings.Count(r.text[:i], "\n"), text.Head(line, 500)
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
