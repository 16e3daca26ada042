// Package code reads the syntax of source files: which functions a file has,
// which lines of it are code, what in it is a test. And it puts switches into
// functions, by which verification takes their bodies out to see whether a test
// depends on them: a test that passes without the code proves nothing about it.
//
// Go is read by go/parser. Python, JavaScript, TypeScript, TSX, Rust and Java
// are read by tree-sitter, compiled to WebAssembly and run by wazero, so that
// the binary needs no C (folder grammar). Nothing of it is loaded before a file
// of such a language is read; then it takes some 0.1 s a language, less with a
// folder to keep compiled modules in.
//
// # What the reader cannot do
//
// There are no types and no names resolved: a function is known by how it is
// written. Functions made by macros (Rust), lambdas (Python, Java) and function
// literals (Go) are not listed; they belong to the function around them, if one
// is. The files are anybody's: larger ones than MaxSize are refused, the work
// and memory spent on one are bounded, and a module cannot reach anything but
// its own memory.
//
// # Switches
//
// The body stays in the text, behind the switch, so that imports and variables
// stay used. What a switch decides by is read once in a process, and before its
// tests in most languages, as tests set and clear their environment. With the
// variable unset the file does what it did, only later by a few nanoseconds a
// call.
//
// Line numbers stay, but in Python: a conditional return needs a line of its
// own there. It is taken from a blank line or a comment: between the head and
// the first statement, else right above the function, which then begins a line
// earlier, else the next one that follows, so that the lines up to it shift; all
// that follow, where no such line is left. What PEP 8 has formatted keeps the
// lines of its bodies, but those of a method right below its class.
//
// A cut that a function's declaration does not allow panics instead: see the
// files of the languages. A function that cannot hold a switch is skipped, and
// Switch says why.
package code

import (
	"context"
	"errors"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// Function is a function or method with a body.
type Function struct {
	// Name is its name within the file: with the type or class that it is of
	// ("Stack.Push"), with the function and the module that it stands in. A
	// function of JavaScript without a name takes that of what it is assigned to;
	// else, and where a test's title is no plain text, it has none. A test of
	// JavaScript is named by its title. Names can repeat.
	Name string
	// Start and End are the bytes of the declaration, with its decorators,
	// annotations and attributes, without comments before it.
	Start, End int
	// BodyStart and BodyEnd are the bytes of the body's inside: what is between
	// its braces, or from the first statement to the last.
	BodyStart, BodyEnd int
	// FromLine and ToLine are the lines of the declaration, from 1.
	FromLine, ToLine int
	// Test says that it is a test by the language's own marks: its name and
	// parameter in a _test.go file, #[test], @Test, def test_*, a callback of it().
	Test bool
}

// Functions lists the functions of a file that have a body, the outer before the
// inner, in the order of the text. Of a file with errors in its syntax it lists
// those that are whole, and says that it is broken. It fails by ErrLanguage,
// ErrTooLarge, ErrTooMuch, or as ctx ends; so do the other methods that read.
func (e *Engine) Functions(ctx context.Context, path string, src []byte) (fns []Function, broken bool, err error) {
	f, err := e.read(ctx, path, src)
	if err != nil {
		return nil, false, err
	}
	fns, broken = f.functions()
	return fns, broken, nil
}

// Definition is a function, a type, a constant or a variable that a file defines outside of
// functions, by its name within the file as of a Function. A field is part of its type.
type Definition struct {
	Name string
	Span
}

// Definitions lists what a file defines, and says whether its syntax is broken: then some
// may be missing.
func (e *Engine) Definitions(ctx context.Context, path string, src []byte) (all []Definition, broken bool, err error) {
	f, err := e.read(ctx, path, src)
	if err != nil {
		return nil, false, err
	}
	all, broken = f.definitions()
	return all, broken, nil
}

// Span is a part of a source: bytes from Start to before End.
type Span struct{ Start, End int }

// TestSpans gives what is test matter within a source of the product: in Rust
// the items for tests alone (#[cfg(test)], #[test]), in other languages nothing.
func (e *Engine) TestSpans(ctx context.Context, path string, src []byte) ([]Span, error) {
	f, err := e.read(ctx, path, src)
	if err != nil {
		return nil, err
	}
	all, _ := f.testSpans()
	return all, nil
}

// ReplaceTests gives the product's text with the test matter of another version
// of the file: its own taken out, the other's put at the end. Only what stands
// at the top of the file moves; a method for tests alone stays as it is, and a
// file that is test matter altogether becomes the other version.
func (e *Engine) ReplaceTests(ctx context.Context, path string, product, tests []byte) ([]byte, error) {
	from, err := e.read(ctx, path, product)
	if err != nil {
		return nil, err
	}
	to, err := e.read(ctx, path, tests)
	if err != nil {
		return nil, err
	}
	_, mine := from.testSpans()
	_, others := to.testSpans()
	if len(mine)+len(others) == 0 {
		return slices.Clone(product), nil
	}
	var out []byte
	at := 0
	for _, s := range mine {
		out = append(out, product[at:s.Start]...)
		at = s.End
		if rest := product[at:]; len(rest) > 0 && rest[0] == '\n' {
			at++
		}
	}
	out = append(out, product[at:]...)
	for _, s := range others {
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(append(out, tests[s.Start:s.End]...), '\n')
	}
	return out, nil
}

// Forms of a lexeme.
const (
	word = iota
	name
	ending    // of a statement
	structure // where a part of the tree begins or ends
)

// lexeme is a word of a source, without comments.
type lexeme struct {
	text string
	at   int
	form int
}

// Shape is a normal form of a source, to tell whether another does the same: its
// tokens and how they are nested, without comments and blanks. Comments that
// compilers obey stay in it.
func (e *Engine) Shape(ctx context.Context, path string, src []byte) (string, error) {
	f, err := e.read(ctx, path, src)
	if err != nil {
		return "", err
	}
	if _, ok := f.(*goFile); ok && cgo.Match(src) {
		return string(src), nil
	}
	var b strings.Builder
	for _, d := range directive.FindAll(src, -1) {
		b.Write(d)
		b.WriteByte(0)
	}
	for _, t := range f.tokens(0, len(src)) {
		if t.form != ending {
			b.WriteString(t.text)
			b.WriteByte(0)
		}
	}
	return b.String(), nil
}

// directive is a comment that a compiler obeys; of cgo it is all of them.
var (
	directive = regexp.MustCompile(`(?m)^(?://[a-z]+[: ].*|// \+build .*|#!.*|#.*coding.*|.*@jsx.*)$`)
	cgo       = regexp.MustCompile(`(?m)^\s*(?:import\s+)?"C"\s*$`)
)

// CodeLines gives the lines, from 1, in order, that hold code within the bodies
// of functions: no comments, no documentation, no blank lines, and none of
// brackets alone.
func (e *Engine) CodeLines(ctx context.Context, path string, src []byte) ([]int, error) {
	f, err := e.read(ctx, path, src)
	if err != nil {
		return nil, err
	}
	lines := linesOf(src)
	var out []int
	fns, _ := f.functions()
	done := 0
	for _, fn := range fns {
		if fn.BodyStart < done { // within the one before
			continue
		}
		done = fn.BodyEnd
		for _, t := range f.tokens(fn.BodyStart, fn.BodyEnd) {
			if t.form > name || strings.Trim(t.text, "(){}[];,") == "" {
				continue
			}
			for l := lines.line(t.at); l <= lines.line(t.at+len(t.text)-1); l++ {
				if len(out) == 0 || out[len(out)-1] < l {
					out = append(out, l)
				}
			}
		}
	}
	return out, nil
}

// Skip lets a source that cannot be read, for its language or its size, take part
// in nothing: nil in the place of such an error.
func Skip(err error) error {
	if errors.Is(err, ErrLanguage) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrTooMuch) {
		return nil
	}
	return err
}
