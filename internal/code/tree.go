package code

import (
	"slices"
	"strings"
)

// tree is what tree-sitter made of a source, its nodes in preorder.
type tree struct {
	src     []byte
	nodes   []record
	symbols []string
	fields  []string
}

type record struct {
	symbol, field uint16
	flags         uint8
	start, end    int32 // bytes
	parent, next  int32 // nodes; next is the one behind all that is within
}

// Flags of a record, as shim.c writes them.
const (
	flagNamed = 1 << iota
	flagMissing
	flagExtra
	flagError
	flagHasError
)

// symbolError is the symbol of what could not be parsed.
const symbolError = 0xffff

func (t *tree) root() Node { return Node{t, 0} }

// lineTable knows where lines begin.
type lineTable []int

func linesOf(src []byte) lineTable {
	t := lineTable{0}
	for i, b := range src {
		if b == '\n' {
			t = append(t, i+1)
		}
	}
	return t
}

// line is the number, from 1, of the line that a byte is in.
func (t lineTable) line(at int) int {
	i, found := slices.BinarySearch(t, at)
	if found {
		return i + 1
	}
	return i
}

// treeFile is a file that tree-sitter read.
type treeFile struct {
	*tree
	name    string
	dialect dialect
}

func (f *treeFile) functions() (fns []Function, broken bool) {
	for _, x := range f.dialect.functions(f.tree) {
		fns = append(fns, x.Function)
	}
	return fns, f.root().broken()
}

// definitions are what the file names: whatever the grammar gives a name and calls a
// definition, and in Python what is assigned to a name, in no function.
func (f *treeFile) definitions() (out []Definition, broken bool) {
	for n := range f.tree.root().All() {
		name := defined(n)
		if name == "" || local(n) {
			continue
		}
		at := n
		if p := n.Parent(); p.Is("decorated_definition") {
			at = p
		}
		out = append(out, Definition{pathTo(n, name, scopeName), Span{at.Start(), at.End()}})
	}
	return out, f.tree.root().broken()
}

// defined is the name that a node gives to what it is.
func defined(n Node) string {
	if n.Is("assignment") {
		if left := n.Field("left"); left.Is("identifier") {
			return left.Text()
		}
		return ""
	}
	for _, end := range []string{"_definition", "_declaration", "_item", "_declarator", "_signature", "_variant", "_constant"} {
		if strings.HasSuffix(n.Kind(), end) {
			return n.Field("name").Text()
		}
	}
	return ""
}

// scopeName is what a node adds to the name of a definition in it.
func scopeName(n Node) string {
	if n.Is("impl_item") {
		return rustName(n)
	}
	return defined(n)
}

// local tells whether a node stands in a function: nobody else can name what it defines.
func local(n Node) bool {
	for p := range n.Around() {
		if p.Field("parameters").OK() && !p.Is("record_declaration") || p.Field("parameter").OK() {
			return true
		}
	}
	return false
}

func (f *treeFile) testSpans() (all, top []Span) {
	if f.dialect.tests == nil {
		return nil, nil
	}
	return f.dialect.tests(f.tree)
}

// tokens are the leaves, and between them where their nodes begin and end, so
// that a different structure is different tokens.
func (f *treeFile) tokens(from, to int) (out []lexeme) {
	type open struct {
		next int32
		end  int
	}
	var stack []open
	closing := func(at int32) {
		for len(stack) > 0 && stack[len(stack)-1].next <= at {
			out = append(out, lexeme{text: ")", at: stack[len(stack)-1].end, form: structure})
			stack = stack[:len(stack)-1]
		}
	}
	for i := int32(0); int(i) < len(f.nodes); {
		n := Node{f.tree, i}
		closing(i)
		switch {
		case n.End() <= from || n.Start() >= to:
			i = n.rec().next
		case n.isComment() || f.dialect.comment != nil && f.dialect.comment(n):
			i = n.rec().next
		case n.leaf() || slices.Contains(f.dialect.atoms, n.Kind()):
			if n.within(from, to) && n.Start() < n.End() {
				out = append(out, f.tokenOf(n))
			}
			i = n.rec().next
		default:
			if n.within(from, to) && n.named() {
				out = append(out, lexeme{text: "(" + n.Kind(), at: n.Start(), form: structure})
				stack = append(stack, open{n.rec().next, n.End()})
			}
			i++
		}
	}
	closing(int32(len(f.nodes)))
	return out
}

func (f *treeFile) tokenOf(n Node) lexeme {
	t := lexeme{text: n.Text(), at: n.Start(), form: word}
	switch {
	case t.text == ";" && !n.Parent().Is("for_statement"):
		t.form = ending
	case strings.HasSuffix(n.Kind(), "identifier") || n.Is("constructor"):
		t.form = name
	}
	return t
}

// found is a function in a tree.
type found struct {
	Function
	node Node // the function itself, without what is put before it
	body Node
}

// lister makes the list of a file's functions.
type lister struct {
	t     *tree
	lines lineTable
	out   []found
}

// add appends a function whose declaration begins at that byte and whose body's
// inside is from one to another, where none of it is broken.
func (l *lister) add(f found, start, from, to int) {
	if f.node.broken() || to < from {
		return
	}
	f.Start, f.End, f.BodyStart, f.BodyEnd = start, f.node.End(), from, to
	f.FromLine, f.ToLine = l.lines.line(f.Start), l.lines.line(max(f.Start, f.End-1))
	l.out = append(l.out, f)
}

// Bounds of a function's name, which else grew with the square of a file's
// depth: how far outwards is looked, and how many names it has.
const (
	maxOutwards = 128
	maxNames    = 16
)

// pathTo joins the names of what a node is in, the outer first, and its own.
func pathTo(n Node, own string, nameOf func(Node) string) string {
	if own == "" {
		return ""
	}
	parts, steps := []string{own}, 0
	for p := range n.Around() {
		if s := nameOf(p); s != "" {
			parts = append(parts, s)
		}
		if steps++; steps > maxOutwards || len(parts) >= maxNames {
			break
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}
