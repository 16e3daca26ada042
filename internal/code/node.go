package code

import (
	"context"
	"fmt"
	"iter"
)

// Node is a part of the syntax of a source, as the language's grammar of
// tree-sitter has it; the zero value is none. Its methods may be called on none,
// and give nothing then.
type Node struct{ n node }

// Tree reads a source as a tree. Go has none here: go/ast is richer. It fails as
// Functions does; a source with errors in its syntax still is a tree.
func (e *Engine) Tree(ctx context.Context, path string, src []byte) (Node, error) {
	f, err := e.read(ctx, path, src)
	if err != nil {
		return Node{}, err
	}
	t, ok := f.(*treeFile)
	if !ok {
		return Node{}, fmt.Errorf("%s: %w", path, ErrLanguage)
	}
	return Node{t.root()}, nil
}

// OK tells whether there is a node.
func (n Node) OK() bool { return n.n.ok() }

// Kind is what the grammar calls the node.
func (n Node) Kind() string { return n.n.kind() }

// Is tells whether the node is of one of these kinds.
func (n Node) Is(kinds ...string) bool { return n.n.is(kinds...) }

// Text is the source of the node.
func (n Node) Text() string { return n.n.text() }

// Field is the child of that role.
func (n Node) Field(name string) Node { return Node{n.n.field(name)} }

// Child is the first child of one of these kinds.
func (n Node) Child(kinds ...string) Node { return Node{n.n.child(kinds...)} }

// Parent is the node around it.
func (n Node) Parent() Node {
	if !n.OK() {
		return Node{}
	}
	return Node{n.n.parent()}
}

// Start is the byte that the node begins at; of none it is 0.
func (n Node) Start() int {
	if !n.OK() {
		return 0
	}
	return n.n.start()
}

// End is the byte behind the node; of none it is 0.
func (n Node) End() int {
	if !n.OK() {
		return 0
	}
	return n.n.end()
}

// Parts are the named children without comments.
func (n Node) Parts() []Node {
	parts := n.n.parts()
	out := make([]Node, len(parts))
	for i, p := range parts {
		out[i] = Node{p}
	}
	return out
}

// All are the node and what is within it, the outer before the inner.
func (n Node) All() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for c := range n.n.all(nil) {
			if !yield(Node{c}) {
				return
			}
		}
	}
}

// Around are the nodes that it is in, the inner before the outer.
func (n Node) Around() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if !n.OK() {
			return
		}
		for c := range n.n.around() {
			if !yield(Node{c}) {
				return
			}
		}
	}
}

// Line is the line, from 1, that the node begins in; of none it is 0.
func (n Node) Line() int {
	if !n.OK() {
		return 0
	}
	line := 1
	for _, b := range n.n.t.src[:n.n.start()] {
		if b == '\n' {
			line++
		}
	}
	return line
}

// Children are all the node's children, those of punctuation too, without
// comments.
func (n Node) Children() (out []Node) {
	for c := range n.n.children() {
		if !c.isComment() {
			out = append(out, Node{c})
		}
	}
	return out
}

// Attributes are those before an item of Rust, the nearest first.
func (n Node) Attributes() (out []Node) {
	for _, a := range attributes(n.n) {
		out = append(out, Node{a})
	}
	return out
}
