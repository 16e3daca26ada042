package config

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// builder turns the library's tree into ours.
type builder struct {
	text     *lines
	faults   *collector
	anchors  map[string]*node
	expanded int
	depth    int
	example  string // of a key; empty: one of a configuration
}

func (b *builder) fault(n ast.Node, format string, args ...any) {
	line, col := place(n)
	b.faults.add(b.text, line, col, format, args...)
}

// place is where a value begins.
func place(n ast.Node) (line, col int) {
	var tk *token.Token
	switch v := n.(type) {
	case *ast.MappingNode:
		if v.IsFlowStyle || len(v.Values) == 0 {
			tk = v.Start
		} else {
			return place(v.Values[0])
		}
	case *ast.MappingValueNode:
		tk = v.Key.GetToken()
	case *ast.SequenceNode:
		tk = v.Start
	case *ast.AnchorNode:
		tk = v.Start
	case *ast.AliasNode:
		tk = v.Start
	default:
		tk = n.GetToken()
	}
	if tk == nil || tk.Position == nil {
		return 1, 1
	}
	return tk.Position.Line, tk.Position.Column
}

// file is the single document's mapping, or nil.
func (b *builder) file(f *ast.File) *node {
	var root *node
	for _, doc := range f.Docs { // one, beside comments: see oneDocument
		if doc == nil || doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		n := b.node(doc.Body)
		switch {
		case n == nil, n.shape == isNull:
		case n.shape != isMap:
			b.fault(doc.Body, "%s where keys are wanted, for instance %s", shapeNames[n.shape], cmp.Or(b.example, "mode: single"))
		default:
			root = n
		}
	}
	return root
}

// node converts a value; nil after a fault.
func (b *builder) node(a ast.Node) *node {
	if b.depth++; b.depth > 4*maxDepth {
		b.fault(a, "nested too deep")
		b.depth--
		return nil
	}
	defer func() { b.depth-- }()
	line, col := place(a)
	n := &node{line: line, col: col}
	switch v := a.(type) {
	case *ast.NullNode:
		n.text = "null"
	case *ast.BoolNode:
		n.shape, n.bool, n.text = isBool, v.Value, v.GetToken().Value
	case *ast.IntegerNode:
		n.setInt(v)
	case *ast.FloatNode:
		n.shape, n.float, n.text = isFloat, v.Value, v.GetToken().Value
	case *ast.InfinityNode:
		n.shape, n.float, n.text = isFloat, v.Value, v.GetToken().Value
	case *ast.NanNode:
		n.shape, n.float, n.text = isFloat, math.NaN(), v.GetToken().Value
	case *ast.StringNode:
		n.shape, n.text = isText, v.Value
	case *ast.LiteralNode:
		n.shape = isText
		if v.Value != nil {
			n.text = v.Value.Value
		}
	case *ast.MappingNode:
		b.mapping(n, v.Values)
	case *ast.MappingValueNode:
		b.mapping(n, []*ast.MappingValueNode{v})
	case *ast.SequenceNode:
		n.shape = isList
		for _, item := range v.Values {
			if m := b.node(item); m != nil {
				n.items = append(n.items, m)
			}
		}
	case *ast.AnchorNode:
		return b.anchor(v)
	case *ast.AliasNode:
		return b.alias(v)
	case *ast.TagNode:
		b.fault(a, "a YAML tag (%s): write the value plainly, quote it where it is text", v.Start.Value)
		return nil
	default:
		b.fault(a, "%s is not used here", strings.ToLower(a.Type().YAMLName()))
		return nil
	}
	return n
}

func (n *node) setInt(v *ast.IntegerNode) {
	n.shape, n.text = isInt, v.GetToken().Value
	switch i := v.Value.(type) {
	case int64:
		n.int = i
	case uint64:
		n.int, n.tooBig = int64(min(i, math.MaxInt64)), i > math.MaxInt64
	default:
		n.tooBig = true
		if p, err := strconv.ParseInt(n.text, 0, 64); err == nil {
			n.int, n.tooBig = p, false
		}
	}
	n.float = float64(n.int)
}

func (b *builder) anchor(v *ast.AnchorNode) *node {
	if v.Value == nil {
		b.fault(v, "an anchor without a value")
		return nil
	}
	n := b.node(v.Value)
	if n != nil && v.Name != nil {
		b.anchors[v.Name.GetToken().Value] = n // set after: an alias inside itself is unknown
	}
	return n
}

// alias shares the anchor's value, so that a bomb of aliases costs nothing
// before something walks it, which only typed decoding of bounded depth does.
func (b *builder) alias(v *ast.AliasNode) *node {
	if v.Value == nil {
		b.fault(v, "an alias without a name")
		return nil
	}
	name := v.Value.GetToken().Value
	target, ok := b.anchors[name]
	if !ok {
		b.fault(v, "unknown alias *%s", name)
		return nil
	}
	n := *target
	n.line, n.col = place(v)
	return &n
}

func (b *builder) mapping(n *node, values []*ast.MappingValueNode) {
	n.shape = isMap
	at := map[string]int{}
	var merges []*ast.MappingValueNode
	for _, mv := range values {
		if mv.Key.IsMergeKey() {
			merges = append(merges, mv)
			continue
		}
		e, ok := b.entry(mv)
		if !ok {
			continue
		}
		if i, twice := at[e.key]; twice {
			b.faults.add(b.text, e.line, e.col, "%s twice: it stands already on line %d", clipKey(e.key), n.entries[i].line)
			continue
		}
		at[e.key] = len(n.entries)
		n.entries = append(n.entries, e)
	}
	for _, mv := range merges {
		b.merge(n, at, mv)
	}
}

func (b *builder) entry(mv *ast.MappingValueNode) (entry, bool) {
	line, col := place(mv)
	e := entry{line: line, col: col}
	switch k := mv.Key.(type) {
	case *ast.StringNode:
		e.key = k.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		e.key = k.GetToken().Value
	default:
		b.fault(mv, "a key must be plain text")
		return e, false
	}
	if mv.Value == nil {
		e.value = &node{line: line, col: col, text: "null"}
		return e, true
	}
	e.value = b.node(mv.Value)
	return e, e.value != nil
}

// merge adds what `<<` names and the mapping does not have itself.
func (b *builder) merge(n *node, at map[string]int, mv *ast.MappingValueNode) {
	from := b.node(mv.Value)
	if from == nil {
		return
	}
	sources := []*node{from}
	if from.shape == isList {
		sources = from.items
	}
	for _, s := range sources {
		if s.shape != isMap {
			b.fault(mv, "<< wants an alias of a mapping, not %s", shapeNames[s.shape])
			return
		}
		if b.expanded += len(s.entries); b.expanded > maxExpanded {
			b.fault(mv, "merge keys add more than %d entries", maxExpanded)
			return
		}
		for _, e := range s.entries {
			if _, own := at[e.key]; !own {
				at[e.key] = len(n.entries)
				n.entries = append(n.entries, e)
			}
		}
	}
}
