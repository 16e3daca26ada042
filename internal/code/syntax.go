package code

import (
	"context"
	"fmt"
	"iter"
)

// Node is a node of a file's syntax as tree-sitter reads it, for who looks for
// more than functions. The zero value is none: it has no kind, text or children.
type Node struct {
	n     node
	lines lineTable
}

// Tree reads a file's syntax; of one with errors it has nodes of the kind ERROR.
// Go has no such tree: go/parser reads it. It fails as Functions does.
func (e *Engine) Tree(ctx context.Context, path string, src []byte) (Node, error) {
	f, err := e.read(ctx, path, src)
	if err != nil {
		return Node{}, err
	}
	t, ok := f.(*treeFile)
	if !ok {
		return Node{}, fmt.Errorf("%s: %w", path, ErrLanguage)
	}
	return Node{t.root(), linesOf(src)}, nil
}

// OK tells whether there is a node.
func (n Node) OK() bool { return n.n.ok() }

// Kind is what the grammar calls it.
func (n Node) Kind() string { return n.n.kind() }

// Is tells whether it is of one of these kinds.
func (n Node) Is(kinds ...string) bool { return n.n.is(kinds...) }

// Text is its source.
func (n Node) Text() string { return n.n.text() }

// Line is the line, from 1, that it begins in; 0 of none.
func (n Node) Line() int {
	if !n.OK() {
		return 0
	}
	return n.lines.line(n.n.start())
}

// Start and End are its bytes: from Start to before End.
func (n Node) Start() int { return n.n.start() }

// End is the byte behind it.
func (n Node) End() int { return n.n.end() }

// Field is the child of that role; none where there is none.
func (n Node) Field(name string) Node {
	if !n.OK() {
		return Node{}
	}
	return Node{n.n.field(name), n.lines}
}

// Parent is the node that it stands in; none of the root.
func (n Node) Parent() Node { return Node{n.n.parent(), n.lines} }

// Child is the first child of these kinds; none where there is none.
func (n Node) Child(kinds ...string) Node { return Node{n.n.child(kinds...), n.lines} }

// Parts are its named children without comments.
func (n Node) Parts() (out []Node) {
	for _, c := range n.n.parts() {
		out = append(out, Node{c, n.lines})
	}
	return out
}

// Children are all its children, those of punctuation too, without comments.
func (n Node) Children() (out []Node) {
	for c := range n.n.children() {
		if !c.isComment() {
			out = append(out, Node{c, n.lines})
		}
	}
	return out
}

// All are the node and what is within it, the outer before the inner, without
// comments.
func (n Node) All() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for c := range n.n.all(nil) {
			if !c.isComment() && !yield(Node{c, n.lines}) {
				return
			}
		}
	}
}

// Attributes are those before an item of Rust, the nearest first.
func (n Node) Attributes() (out []Node) {
	for _, a := range attributes(n.n) {
		out = append(out, Node{a, n.lines})
	}
	return out
}
