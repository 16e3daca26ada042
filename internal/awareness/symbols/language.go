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

	"agency/internal/awareness"
	"agency/internal/code"
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
		clock{r}.look(n)
		output{r}.look(n)
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
