package code

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Node is a part of the syntax of a source, as the language's grammar of
// tree-sitter has it; the zero value is none. Its methods may be called on none,
// and give nothing then.
type Node struct {
	t *tree
	i int32
}

// Tree reads a source as a tree, of every language that SyntaxOf knows. Go has none here:
// go/ast is richer. It fails as Functions does; a source with errors in its syntax still
// is a tree.
func (e *Engine) Tree(ctx context.Context, path string, src []byte) (Node, error) {
	lang := SyntaxOf(path)
	switch {
	case lang == "" || lang == Go:
		return Node{}, fmt.Errorf("%s: %w", path, ErrLanguage)
	case len(src) > MaxSize:
		return Node{}, fmt.Errorf("%s: %w", path, ErrTooLarge)
	}
	t, err := e.parse(ctx, lang, src)
	if err != nil {
		return Node{}, fmt.Errorf("read %s: %w", path, err)
	}
	return t.root(), nil
}

// Fault is the first node of a tree that is no syntax, or that the grammar wants and the
// source lacks; none where the source is whole.
func (n Node) Fault() (at Node, missing bool) {
	if !n.OK() || !n.broken() {
		return Node{}, false
	}
	for c := range n.All() {
		if f := c.rec().flags; f&(flagError|flagMissing) != 0 {
			return c, f&flagMissing != 0
		}
	}
	return n, false
}

// Leaf tells whether the node has no others in it.
func (n Node) Leaf() bool { return n.OK() && n.leaf() }

func (n Node) rec() *record             { return &n.t.nodes[n.i] }
func (n Node) named() bool              { return n.rec().flags&flagNamed != 0 }
func (n Node) broken() bool             { return n.rec().flags&(flagError|flagHasError|flagMissing) != 0 }
func (n Node) leaf() bool               { return n.rec().next == n.i+1 }
func (n Node) isComment() bool          { return strings.HasSuffix(n.Kind(), "comment") }
func (n Node) within(from, to int) bool { return from <= n.Start() && n.End() <= to }

// OK tells whether there is a node.
func (n Node) OK() bool { return n.t != nil }

// Kind is what the grammar calls the node.
func (n Node) Kind() string {
	switch {
	case !n.OK():
		return ""
	case n.rec().symbol == symbolError:
		return "ERROR"
	}
	return n.t.symbols[n.rec().symbol]
}

// Is tells whether the node is of one of these kinds.
func (n Node) Is(kinds ...string) bool { return n.OK() && slices.Contains(kinds, n.Kind()) }

// Text is the source of the node.
func (n Node) Text() string {
	if !n.OK() {
		return ""
	}
	return string(n.t.src[n.Start():n.End()])
}

// Start is the byte that the node begins at; of none it is 0.
func (n Node) Start() int {
	if !n.OK() {
		return 0
	}
	return int(n.rec().start)
}

// End is the byte behind the node; of none it is 0.
func (n Node) End() int {
	if !n.OK() {
		return 0
	}
	return int(n.rec().end)
}

// Line is the line, from 1, that the node begins in; of none it is 0.
func (n Node) Line() int {
	if !n.OK() {
		return 0
	}
	return 1 + bytes.Count(n.t.src[:n.Start()], []byte("\n"))
}

// Parent is the node around it.
func (n Node) Parent() Node {
	if !n.OK() || n.rec().parent < 0 {
		return Node{}
	}
	return Node{n.t, n.rec().parent}
}

// Around are the nodes that it is in, the inner before the outer.
func (n Node) Around() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for p := n.Parent(); p.OK() && yield(p); p = p.Parent() {
		}
	}
}

// children are all children, those of punctuation and comments too.
func (n Node) children() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if !n.OK() {
			return
		}
		for i := n.i + 1; i < n.rec().next && yield(Node{n.t, i}); i = n.t.nodes[i].next {
		}
	}
}

// Children are all the node's children, those of punctuation too, without
// comments.
func (n Node) Children() (out []Node) {
	for c := range n.children() {
		if !c.isComment() {
			out = append(out, c)
		}
	}
	return out
}

// Parts are the named children without comments.
func (n Node) Parts() (out []Node) {
	for c := range n.children() {
		if c.named() && !c.isComment() {
			out = append(out, c)
		}
	}
	return out
}

// Field is the child of that role.
func (n Node) Field(name string) Node {
	for c := range n.children() {
		if n.t.fields[c.rec().field] == name {
			return c
		}
	}
	return Node{}
}

// Child is the first child of one of these kinds.
func (n Node) Child(kinds ...string) Node {
	for c := range n.children() {
		if c.Is(kinds...) {
			return c
		}
	}
	return Node{}
}

// All are the node and what is within it, the outer before the inner.
func (n Node) All() iter.Seq[Node] { return n.all(nil) }

// all is All, but nothing is told of what is within a node for which skip says so.
func (n Node) all(skip func(Node) bool) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if !n.OK() {
			return
		}
		for i := n.i; i < n.rec().next; {
			c := Node{n.t, i}
			if !yield(c) {
				return
			}
			if i++; skip != nil && c.i != n.i && skip(c) {
				i = c.rec().next
			}
		}
	}
}

// Attributes are those before an item of Rust, the nearest first.
func (n Node) Attributes() (out []Node) {
	nodes := n.t.nodes
	for i := n.i - 1; i > n.rec().parent; {
		// Step over what is within the sibling before.
		for nodes[i].parent != n.rec().parent {
			i = nodes[i].parent
		}
		switch a := (Node{n.t, i}); {
		case a.Is("attribute_item"):
			out = append(out, a)
		case !a.isComment():
			return out
		}
		i--
	}
	return out
}
