package code

import (
	"iter"
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

// node is a node of a tree; the zero value is none.
type node struct {
	t *tree
	i int32
}

func (t *tree) root() node              { return node{t, 0} }
func (n node) ok() bool                 { return n.t != nil }
func (n node) rec() *record             { return &n.t.nodes[n.i] }
func (n node) start() int               { return int(n.rec().start) }
func (n node) end() int                 { return int(n.rec().end) }
func (n node) named() bool              { return n.rec().flags&flagNamed != 0 }
func (n node) broken() bool             { return n.rec().flags&(flagError|flagHasError|flagMissing) != 0 }
func (n node) leaf() bool               { return n.rec().next == n.i+1 }
func (n node) is(k ...string) bool      { return n.ok() && slices.Contains(k, n.kind()) }
func (n node) isComment() bool          { return strings.HasSuffix(n.kind(), "comment") }
func (n node) within(from, to int) bool { return from <= n.start() && n.end() <= to }

// text is the source of a node; "" of none.
func (n node) text() string {
	if !n.ok() {
		return ""
	}
	return string(n.t.src[n.start():n.end()])
}

// kind is what the grammar calls a node; "" of none.
func (n node) kind() string {
	switch {
	case !n.ok():
		return ""
	case n.rec().symbol == symbolError:
		return "ERROR"
	}
	return n.t.symbols[n.rec().symbol]
}

func (n node) parent() node {
	if p := n.rec().parent; p >= 0 {
		return node{n.t, p}
	}
	return node{}
}

// children are all children, those of punctuation and comments too.
func (n node) children() iter.Seq[node] {
	return func(yield func(node) bool) {
		if !n.ok() {
			return
		}
		for i := n.i + 1; i < n.rec().next; i = n.t.nodes[i].next {
			if !yield(node{n.t, i}) {
				return
			}
		}
	}
}

// parts are the named children that are no comments.
func (n node) parts() (out []node) {
	for c := range n.children() {
		if c.named() && !c.isComment() {
			out = append(out, c)
		}
	}
	return out
}

// field is the child with that role; none where there is none.
func (n node) field(name string) node {
	for c := range n.children() {
		if n.t.fields[c.rec().field] == name {
			return c
		}
	}
	return node{}
}

// child is the first child of these kinds.
func (n node) child(kinds ...string) node {
	for c := range n.children() {
		if c.is(kinds...) {
			return c
		}
	}
	return node{}
}

// all are a node and what is within it, in preorder; nothing is told of what is
// within a node for which skip says so.
func (n node) all(skip func(node) bool) iter.Seq[node] {
	return func(yield func(node) bool) {
		if !n.ok() {
			return
		}
		for i := n.i; i < n.rec().next; {
			c := node{n.t, i}
			if !yield(c) {
				return
			}
			if i++; skip != nil && c.i != n.i && skip(c) {
				i = c.rec().next
			}
		}
	}
}

// around are the nodes that a node is in, the inner before the outer.
func (n node) around() iter.Seq[node] {
	return func(yield func(node) bool) {
		for p := n.parent(); p.ok(); p = p.parent() {
			if !yield(p) {
				return
			}
		}
	}
}

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
		n := node{f.tree, i}
		closing(i)
		switch {
		case n.end() <= from || n.start() >= to:
			i = n.rec().next
		case n.isComment() || f.dialect.comment != nil && f.dialect.comment(n):
			i = n.rec().next
		case n.leaf() || slices.Contains(f.dialect.atoms, n.kind()):
			if n.within(from, to) && n.start() < n.end() {
				out = append(out, f.tokenOf(n))
			}
			i = n.rec().next
		default:
			if n.within(from, to) && n.named() {
				out = append(out, lexeme{text: "(" + n.kind(), at: n.start(), form: structure})
				stack = append(stack, open{n.rec().next, n.end()})
			}
			i++
		}
	}
	closing(int32(len(f.nodes)))
	return out
}

func (f *treeFile) tokenOf(n node) lexeme {
	t := lexeme{text: n.text(), at: n.start(), form: word}
	switch {
	case t.text == ";" && !n.parent().is("for_statement"):
		t.form = ending
	case strings.HasSuffix(n.kind(), "identifier") || n.is("constructor"):
		t.form = name
	}
	return t
}

// found is a function in a tree.
type found struct {
	Function
	node node // the function itself, without what is put before it
	body node
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
	f.Start, f.End, f.BodyStart, f.BodyEnd = start, f.node.end(), from, to
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
func pathTo(n node, own string, nameOf func(node) string) string {
	if own == "" {
		return ""
	}
	parts, steps := []string{own}, 0
	for p := range n.around() {
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
