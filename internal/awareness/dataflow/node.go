// Package dataflow finds by what a program decides. Sources of Go, Rust and Java are
// read into one small form (Node), in which what a name is imported as is resolved;
// then what a file can know of its process (an Origin of the language's Model) is
// followed through variables, fields, parameters and results of the changed product.
// Saying it is honest: returned, printed or wrapped into an error. That something
// else is done for it is not.
//
// The form has no scopes and no types: a name is a variable of its function, whatever
// block it stands in.
package dataflow

import (
	"strings"

	"agency/internal/awareness"
	"agency/internal/code"
	"agency/internal/regexp"
)

// Op says what a part of a source does.
type Op int

const (
	OpOther  Op = iota // parts in their order
	OpLit              // Text: its value
	OpName             // Text: the name, with the path that it is imported by
	OpMember           // of Kids[0]; Text: which
	OpCall             // of Kids[0] with the rest
	OpIndex            // of Kids[0] by the rest
	OpBinary           // Text: the operator
	OpNot
	OpAssign // LHS of Kids get the rest; Text: the operator
	OpIf     // Kids: condition, then, maybe else
	OpSwitch // Kids: what is compared, then OpCase
	OpCase   // Kids: patterns, the body last
	OpLoop   // Kids: condition, body
	OpEach   // LHS of Kids get each of the next; then the body
	OpReturn
	OpJump
	OpThrow
	OpBlock
	OpFunc // Func
)

// Node is a part of a source.
type Node struct {
	Op     Op
	Text   string
	Kids   []*Node
	LHS    int // how many of Kids are given something
	Line   int // from 1
	Func   *Func
	IsText bool // a literal of text
}

// Func is a function, or a literal of one.
type Func struct {
	Name     string
	Owner    string // the type that it is of
	Receiver string // the name that it has for what it is called on, in Go
	Trait    string // the trait that it is for, in Rust
	Params   []Param
	Results  []string // types as written
	Body     *Node
	Line     int
	Entry    bool // it is where a program begins
	file     *File
}

// Param is a parameter, its type as written.
type Param struct{ Name, Type string }

// File is a source.
type File struct {
	Path string
	Unit string // by what others name it: folder, module or class
	Test bool   // it is of tests: it ends no process either, but may decide by anything
	// Program: it is of a program, whose own command line is its input.
	Program bool
	Text    string // the source
	Funcs   []*Func
	Bare    map[string]bool // types without contents
}

// Every visits a part and all in it, the outer first; of what visit refuses, no
// more.
func (s *Node) Every(visit func(*Node) bool) {
	if s == nil || !visit(s) {
		return
	}
	for _, k := range s.Kids {
		k.Every(visit)
	}
	if s.Func != nil {
		s.Func.Body.Every(visit)
	}
}

// Names tells whether a part has one of these names in it.
func (s *Node) Names(of map[string]bool) (found bool) {
	s.Every(func(n *Node) bool {
		found = found || n.Op == OpName && of[n.Text]
		return !found
	})
	return found
}

// Callee is the name that a call uses, with its path where it has one.
func (s *Node) Callee() string {
	if s == nil || s.Op != OpCall {
		return ""
	}
	switch f := s.Kids[0]; f.Op {
	case OpName, OpMember:
		return f.Text
	}
	return ""
}

// Last is the part of a path behind its last separator.
func Last(name string) string {
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 {
		return name[i+1:]
	}
	return name
}

// Constant folds literals that are joined by +.
func (s *Node) Constant() (text string, ok bool) {
	switch {
	case s == nil:
		return "", false
	case s.Op == OpLit:
		return s.Text, true
	case s.Op == OpBinary && s.Text == "+" && len(s.Kids) == 2:
		a, okA := s.Kids[0].Constant()
		b, okB := s.Kids[1].Constant()
		return a + b, okA && okB
	case s.Op == OpOther && s.Text == "" && len(s.Kids) == 1:
		return s.Kids[0].Constant()
	}
	return "", false
}

// Texts are the literals of text in a part, those joined by + as one.
func (s *Node) Texts(each func(text string, line int)) {
	s.Every(func(n *Node) bool {
		if t, ok := n.Constant(); ok {
			isText := false
			n.Every(func(m *Node) bool { isText = isText || m.IsText; return true })
			if isText {
				each(t, n.Line)
			}
			return false
		}
		return true
	})
}

// shape is a part as text, to tell whether two are the same.
func (s *Node) shape() string {
	if s == nil {
		return "-"
	}
	var b strings.Builder
	b.WriteByte(byte('a' + s.Op))
	b.WriteString(s.Text)
	b.WriteByte('(')
	for _, k := range s.Kids {
		b.WriteString(k.shape())
		b.WriteByte(',')
	}
	if s.Func != nil {
		b.WriteString(s.Func.Body.shape())
	}
	b.WriteByte(')')
	return b.String()
}

// Unquoted is what a literal of Rust or Java says, as far as it is plain.
func Unquoted(s string) string {
	s = strings.TrimLeft(s, "rbc#")
	s = strings.TrimRight(s, "#")
	return strings.Trim(s, `"`)
}

// Every visits all that functions do, the outer first.
func (f *File) Every(visit func(*Func, *Node)) {
	for _, fn := range f.Funcs {
		fn.Body.Every(func(n *Node) bool { visit(fn, n); return true })
	}
}

// Texts are the literals of text in a file, those joined by + as one.
func (f *File) Texts(each func(text string, line int)) {
	for _, fn := range f.Funcs {
		fn.Body.Texts(each)
	}
}

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
