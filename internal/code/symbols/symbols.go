// Package symbols tells what a source file defines and which names its code uses, by the
// file's text alone: Go by go/parser, other languages by the trees of package code. A name
// in a comment or in a string is none.
//
// It resolves nothing: two things of one name are told apart by where they stand, not by
// what they are. What a name of Go stands for knows package gotypes.
package symbols

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"agency/internal/code"
)

// Kind is what a definition is.
type Kind string

// The kinds. A class is whatever has members and is no interface: a class, a struct, an
// enumeration, a record.
const (
	Function  Kind = "function"
	Method    Kind = "method"
	Class     Kind = "class"
	Interface Kind = "interface"
	Type      Kind = "type"
	Variable  Kind = "variable"
	Constant  Kind = "constant"
	Field     Kind = "field"
	Module    Kind = "module"
	Macro     Kind = "macro"
	Key       Kind = "key" // of a document of data
)

// Definition is what a file defines outside of functions, and functions within functions.
type Definition struct {
	Name      string
	Container string // the names of what it stands in, with dots; "" for the file itself
	Kind      Kind
	// Start and End are the bytes of the declaration with its decorators and modifiers,
	// without comments before it; NameStart is where its name stands.
	Start, End, NameStart int
	Head                  int // where it begins without decorators and the like
	Line, EndLine         int // from 1
	// Signature is the declaration's head on one line.
	Signature string
}

// Path is the name with those of what it stands in.
func (d Definition) Path() string {
	if d.Container == "" {
		return d.Name
	}
	return d.Container + "." + d.Name
}

// Role is how code uses a name, as far as its syntax tells.
type Role uint8

// The roles. A member is a name behind a dot or its like, or a key: what it belongs to is
// not told by syntax. A binding makes the name another one in its scope, such as that of a
// parameter or a local variable.
const (
	Plain Role = iota
	Defines
	Member
	Binds
	Imports
)

// Name is a place of a file where its code uses a name.
type Name struct {
	Text       string
	Start, End int
	Line       int
	Role       Role
	From       string // of Imports: the module that the file names; "" where that is not told
}

// Fault is the first place at which a file is no syntax.
type Fault struct {
	Line, Column int // from 1; the column in bytes
	What         string
}

// File is what a file defines and uses, in the order of the text.
type File struct {
	Path        string
	Language    code.Language
	Definitions []Definition
	Names       []Name
	Comments    [][2]int // bytes
	Fault       *Fault   // nil: its syntax is whole; else some of the others may be missing
	lines       []int
}

// Read reads a file. It fails as code.Engine does: what cannot be read in bounds, or of a
// language without a grammar here, gives an error that code.Skip knows.
func Read(ctx context.Context, e *code.Engine, path string, src []byte) (File, error) {
	if err := ctx.Err(); err != nil {
		return File{}, err
	}
	f := File{Path: path, Language: code.SyntaxOf(path), lines: lineStarts(src)}
	if f.Language == code.Go {
		return f, f.readGo(src)
	}
	root, err := e.Tree(ctx, path, src)
	if err != nil {
		return File{}, err
	}
	w := walk{file: &f, src: src, g: grammars[f.Language]}
	w.all(root)
	if bad, missing := root.Fault(); bad.OK() {
		f.Fault = f.fault(bad, missing, src)
	}
	return f, nil
}

// Named are the definitions that a person may mean by a symbol: its name, or the end of its
// path ("Push", "Stack.Push"), and of several of one path the one in a line ("Stack.Push:12").
func (f File) Named(symbol string) (out []Definition) {
	for _, s := range []string{symbol, strings.NewReplacer("::", ".", "#", ".", "(*", "", ")", "", "()", "").Replace(symbol)} {
		s = strings.TrimSpace(s)
		if out = f.named(s); len(out) > 0 {
			return out
		}
		i := strings.LastIndexByte(s, ':')
		line, err := strconv.Atoi(s[i+1:])
		if i < 0 || err != nil {
			continue
		}
		if out = slices.DeleteFunc(f.named(s[:i]), func(d Definition) bool { return d.Line != line && f.Line(d.NameStart) != line }); len(out) > 0 {
			return out
		}
	}
	return nil
}

func (f File) named(symbol string) (out []Definition) {
	for _, d := range f.Definitions {
		if p := d.Path(); p == symbol || strings.HasSuffix(p, "."+symbol) {
			out = append(out, d)
		}
	}
	return out
}

// Uses are the places of a name, its definitions with them.
func (f File) Uses(name string) (out []Name) {
	for _, n := range f.Names {
		if n.Text == name {
			out = append(out, n)
		}
	}
	return out
}

// Within is the innermost function, method or type that a byte stands in; ok is false
// where there is none.
func (f File) Within(at int) (d Definition, ok bool) {
	for _, o := range f.Definitions {
		if o.Start <= at && at < o.End && o.Kind != Variable && o.Kind != Field && (!ok || o.End-o.Start <= d.End-d.Start) {
			d, ok = o, true
		}
	}
	return d, ok
}

// Line is the line, from 1, of a byte.
func (f File) Line(at int) int {
	i, exact := slices.BinarySearch(f.lines, at)
	if exact {
		return i + 1
	}
	return max(1, i)
}

func lineStarts(src []byte) []int {
	out := []int{0}
	for i, b := range src {
		if b == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

func (f *File) fault(n code.Node, missing bool, src []byte) *Fault {
	line := f.Line(n.Start())
	out := &Fault{Line: line, Column: n.Start() - f.lines[line-1] + 1, What: "not understood: " + short(string(src[n.Start():n.End()]), 60)}
	if missing {
		out.What = "missing " + n.Kind()
	}
	return out
}

// signature is the head of a declaration: what stands before its body, on one line.
func signature(src []byte, start, body, end int) string {
	if body > start && body < end {
		end = body
	}
	head := src[start:min(end, start+400)]
	if i := bytes.IndexByte(head, '\n'); i >= 0 && body <= start {
		head = head[:i]
	}
	return short(strings.TrimRight(strings.TrimSpace(string(head)), "{:= \t"), 160)
}

// short is a text on one line, of so many bytes at most.
func short(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " ..."
	}
	return s
}
