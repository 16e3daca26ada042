package symbols

import (
	"slices"
	"strings"

	"agency/internal/code"
)

// grammar is how a language's grammar writes what a file defines.
type grammar struct {
	defines map[string]Kind // nodes whose field "name" is the name of a definition
	// values are nodes of variables, of which those in functions are nobody else's; the
	// value is the field with the name.
	values map[string]string
	// opens are nodes that only contain others, by the field that names them.
	opens map[string]string
	// functions are further nodes in which everything is local.
	functions []string
	names     []string // leaves that are names
	members   []string // of these, those of members whatever is around them
	imports   []string // nodes that import what is named in them
	binds     []string // nodes whose names, but in values and types, are bound in their scope
}

// scope is a node that the walk is in.
type scope struct {
	end      int
	name     string
	kind     Kind
	function bool
	imports  string // not "": names in it are imported; the module where it is told, else " "
}

// walk goes through a tree once, the outer before the inner, without recursion: how deep a
// tree is decides whoever wrote the file.
type walk struct {
	file *File
	src  []byte
	g    grammar
	in   []scope
	own  map[int]bool // where names of definitions stand
}

func (w *walk) all(root code.Node) {
	w.own = map[int]bool{}
	for n := range root.All() {
		for len(w.in) > 0 && w.in[len(w.in)-1].end <= n.Start() && n.End() > n.Start() {
			w.in = w.in[:len(w.in)-1]
		}
		w.node(n)
	}
}

func (w *walk) node(n code.Node) {
	kind := n.Kind()
	if strings.HasSuffix(kind, "comment") {
		w.file.Comments = append(w.file.Comments, [2]int{n.Start(), n.End()})
	}
	if n.Leaf() && slices.Contains(w.g.names, kind) && n.End() > n.Start() {
		w.leaf(n)
		return
	}
	if n.Leaf() {
		return
	}
	s := scope{end: n.End()}
	if w.define(n, &s); s.name == "" {
		if field, ok := w.g.opens[kind]; ok {
			s.name = nameOf(n.Field(field))
		}
	}
	if slices.Contains(w.g.functions, kind) {
		s.function = true
	}
	if slices.Contains(w.g.imports, kind) {
		s.imports = module(n)
	}
	if s.name != "" || s.function || s.imports != "" {
		w.in = append(w.in, s)
	}
}

// define notes what a node defines, and what it is for those in it.
func (w *walk) define(n code.Node, s *scope) {
	kind, ok := w.g.defines[n.Kind()]
	at, local := n.Field("name"), w.local()
	if kind == Key {
		at = n.Field("key")
	}
	if !ok {
		field, value := w.g.values[n.Kind()]
		if !value || local {
			return
		}
		if at, kind = n.Field(field), w.valueKind(n); kind == Variable && w.member() {
			kind = Field
		}
	}
	if !at.OK() {
		at = n.Field("declarator")
	}
	at = innermost(at)
	name := nameOf(at)
	if name == "" || kind == Field && local || n.Is("class_specifier", "struct_specifier", "union_specifier", "enum_specifier") && !n.Field("body").OK() {
		return // the name of a type that is used here, or declared and no more
	}
	if declaresFunction(n) {
		kind = Function
	}
	container := w.container()
	if before, last, cut := cutLast(name); cut { // C++: defined out of its class
		container, name = joined(container, before), last
	}
	if kind == Function && (w.member() || container != "" && n.Is("function_definition") && code.SyntaxOf(w.file.Path) == code.CPP) {
		kind = Method
	}
	s.name, s.kind, s.function = name, kind, kind == Function || kind == Method
	whole := n
	for p := whole.Parent(); p.Is("decorated_definition", "export_statement", "lexical_declaration", "variable_declaration") && len(p.Parts()) <= 2; p = p.Parent() {
		whole = p
	}
	d := Definition{Name: name, Container: container, Kind: kind, Start: whole.Start(), End: whole.End(), Head: n.Start(), NameStart: at.Start() + strings.LastIndex(at.Text(), name)}
	d.Line, d.EndLine = w.file.Line(d.Start), w.file.Line(max(d.Start, d.End-1))
	d.Signature = signature(w.src, n.Start(), n.Field("body").Start(), n.End())
	w.file.Definitions = append(w.file.Definitions, d)
	w.own[d.NameStart] = true
}

// declaresFunction tells whether a declaration of C or C++ is that of a function.
func declaresFunction(n code.Node) bool {
	if !n.Is("declaration", "field_declaration") {
		return false
	}
	for d := n.Field("declarator"); d.OK(); d = d.Field("declarator") {
		if d.Is("function_declarator") {
			return true
		}
	}
	return false
}

// valueKind tells a function that is kept in a variable from other values.
func (w *walk) valueKind(n code.Node) Kind {
	if n.Field("value").Is("arrow_function", "function_expression", "generator_function") {
		return Function
	}
	if n.Field("left").Is("constant") { // of Ruby
		return Constant
	}
	return Variable
}

// local tells whether the walk is in a function.
func (w *walk) local() bool {
	return slices.ContainsFunc(w.in, func(s scope) bool { return s.function })
}

// member tells whether the walk is in a type, and in no function of it.
func (w *walk) member() bool {
	for _, s := range slices.Backward(w.in) {
		switch {
		case s.function || s.kind == Module:
			return false
		case s.kind == Class || s.kind == Interface, s.kind == "" && s.name != "":
			return true
		}
	}
	return false
}

func (w *walk) container() string {
	var parts []string
	for _, s := range w.in {
		if s.name != "" && len(parts) < 16 {
			parts = append(parts, s.name)
		}
	}
	return strings.Join(parts, ".")
}

// leaf notes a name that code uses.
func (w *walk) leaf(n code.Node) {
	out := Name{Text: n.Text(), Start: n.Start(), End: n.End(), Line: w.file.Line(n.Start())}
	p := n.Parent()
	switch {
	case w.own[n.Start()]:
		out.Role = Defines
	case len(w.in) > 0 && w.in[len(w.in)-1].imports != "":
		out.Role, out.From = Imports, strings.TrimSpace(w.in[len(w.in)-1].imports)
		if p.Is("aliased_import", "import_specifier", "use_as_clause") && p.Field("alias") == n {
			out.Role = Binds
		}
	case slices.Contains(w.g.members, n.Kind()), memberOf(p, n):
		out.Role = Member
	case w.bound(n, p):
		out.Role = Binds
	}
	w.file.Names = append(w.file.Names, out)
}

// memberOf tells whether a name stands behind a dot or its like, or is a key.
func memberOf(p, n code.Node) bool {
	switch p.Kind() {
	case "attribute": // Python
		return p.Field("attribute") == n
	case "keyword_argument", "named_argument":
		return p.Field("name") == n
	case "field_access": // Java
		return p.Field("field") == n
	case "method_invocation":
		return p.Field("name") == n && p.Field("object").OK()
	case "member_access_expression", "member_call_expression", "scoped_call_expression", "class_constant_access_expression":
		return p.Field("name") == n
	case "call": // Ruby
		return p.Field("method") == n && p.Field("receiver").OK()
	case "qualified_identifier", "qualified_name":
		return p.Field("name") == n
	}
	return false
}

// bound tells whether a name is bound where it stands: a parameter, a local variable, the
// target of a loop.
func (w *walk) bound(n, p code.Node) bool {
	for range 8 { // patterns and lists within each other
		if slices.Contains(w.g.binds, p.Kind()) {
			for _, field := range []string{"value", "right", "type", "default", "default_value", "body"} {
				if f := p.Field(field); f.OK() && f.Start() <= n.Start() && n.End() <= f.End() {
					return false
				}
			}
			return true
		}
		if !strings.Contains(p.Kind(), "pattern") && !p.Is("init_declarator", "pointer_declarator", "reference_declarator", "array_declarator", "expression_list") {
			return false
		}
		p = p.Parent()
	}
	return true
}

// module is the module that an import names, without its quotes.
func module(n code.Node) string {
	for _, field := range []string{"module_name", "source", "argument"} {
		if f := n.Field(field); f.OK() {
			return strings.Trim(f.Text(), "\"'` ") + " "
		}
	}
	return " "
}

// innermost is the name within declarators of C.
func innermost(n code.Node) code.Node {
	for range 16 {
		next := n.Field("declarator")
		if !next.OK() && n.Is("parenthesized_declarator", "reference_declarator") && len(n.Parts()) == 1 {
			next = n.Parts()[0]
		}
		if !next.OK() {
			return n
		}
		n = next
	}
	return n
}

// nameOf is the text of a node that can be a name.
func nameOf(n code.Node) string {
	switch {
	case !n.OK(), n.Is("object_pattern", "array_pattern", "computed_property_name", "tuple_pattern", "pattern_list", "subscript", "attribute"):
		return ""
	case n.Is("generic_type", "reference_type", "scoped_type_identifier"):
		t := n.Field("type")
		if n.Is("scoped_type_identifier") {
			t = n.Field("name")
		}
		return nameOf(t)
	}
	t := strings.Trim(n.Text(), "\"'")
	if len(t) > 200 || strings.ContainsAny(t, " \n\t(){}[]") && !n.Is("operator_name") {
		return ""
	}
	return strings.TrimPrefix(t, "$")
}

// cutLast parts a qualified name before its last part.
func cutLast(name string) (before, last string, cut bool) {
	i := strings.LastIndex(name, "::")
	if i < 0 {
		return "", name, false
	}
	return strings.ReplaceAll(name[:i], "::", "."), name[i+2:], true
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}
