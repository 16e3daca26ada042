package dataflow

import (
	"regexp"

	"agency/internal/awareness"
	"agency/internal/code"
)

// Grade is how much a source tells of who runs the code, and so what of it is
// honest.
type Grade int

const (
	// GradeNone: what can be asked, and was not yet, as a stream of its own.
	GradeNone Grade = iota
	// GradeArgs: the command line, which is the input of a command's own functions.
	GradeArgs
	// GradeWeak: folders, files and the build: what is not found may be told.
	GradeWeak
	// GradeStrong: callers, threads and the program's own name.
	GradeStrong
)

// Origin is a way by which code can look at who runs it.
type Origin struct {
	Grade Grade
	// Results are the positions of the results that tell something; nil: all.
	Results []int
	// Silent are members of it that tell nothing.
	Silent []string
	// Number: it counts something.
	Number bool
	// Loads: it is read by everybody who takes settings of a prefix of their own.
	Loads bool
	// Own: it is the program's own name, which only its main may ask for.
	Own bool
	// Stream: it is a stream of the process, or tells who is at its other end, by
	// which a program may decide how its output looks.
	Stream bool
	// Input: it is what a command's own functions may ask about.
	Input bool
}

// Model is what is known of a language.
type Model struct {
	// Origins are by name with its path; Members are methods of any object.
	Origins map[string]Origin
	Members map[string]Origin
	// Asked tells of a call that looks for something by a constant.
	Asked func(f *File, name, constant string) (Origin, bool)
	// Places tells of a call that writes where its caller stands into what it is
	// handed.
	Places func(call *Node) bool
	// Flows tells of functions of others whose result tells what they are given.
	Flows func(name string) bool
	// Askers are functions that tell of a stream who is at its other end, be they
	// handed it or called on it; nil where the language has no such.
	Askers *regexp.Regexp
	// Tells are functions that print, log or make errors.
	Tells func(name string) bool
	// ArgType tells of types by which a command's own functions are called, with
	// what they give back.
	ArgType func(typ string) bool
	// Ends are the findings of a file that need the functions around it: where it ends
	// the process.
	Ends func(*Analysis, *File) []awareness.Finding
	// Free: functions without parameters may read the command line.
	Free bool
}

// Source is a source to be read, with what its reader may ask beside it: each of
// these costs something, and is asked by the languages alone that need it.
type Source struct {
	Path string
	Text []byte
	Test bool // it is of tests
	Repo Repository
	// Tree is its tree, of a language that package code reads.
	Tree func() (code.Node, error)
	// TestSpans are the parts of it that are for tests alone.
	TestSpans func() ([]code.Span, error)
	// Beside are the other sources of its folder.
	Beside func() ([][]byte, error)
	// Words are what a literal of text tells in any language: as it is, or as a
	// source would have it.
	Words func(text, quoted string) []string
}

// Repository answers what code looks for by its name.
type Repository struct {
	Exists func(path string) bool // a file or folder of the claim
	IsTest func(path string) bool // by its name alone
}

// Mentions are the findings of any language in the literals of a file; quote gives
// a literal as a source has it, nil is in single quotes.
func (s Source) Mentions(f *File, quote func(string) string) (out []awareness.Finding) {
	if quote == nil {
		quote = func(text string) string { return "'" + text + "'" }
	}
	f.Texts(func(text string, line int) {
		for _, w := range s.Words(text, quote(text)) {
			out = append(out, awareness.Finding{Word: w, Line: line})
		}
	})
	return out
}
