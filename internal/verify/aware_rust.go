package verify

import (
	"path"
	"slices"
	"strings"

	"agency/internal/code"
)

// rustReader reads a file of Rust into the common form. Items for tests alone
// are left out where tests is false.
type rustReader struct {
	file *synFile
	uses map[string]string // what names of use declarations stand for
	skip func(code.Node) bool
}

// readRust reads a file; its unit is its module.
func readRust(p string, src []byte, root code.Node, skip func(code.Node) bool) *synFile {
	f := &synFile{path: p, text: string(src), bare: map[string]bool{}, unit: strings.TrimSuffix(path.Base(p), ".rs")}
	if f.unit == "mod" || f.unit == "lib" || f.unit == "main" {
		f.unit = path.Base(path.Dir(p))
	}
	f.program = path.Base(p) == "main.rs" || strings.Contains(p, "src/bin/") || path.Base(p) == "build.rs" || strings.HasPrefix(p, "examples/")
	r := rustReader{file: f, uses: map[string]string{}, skip: skip}
	for n := range root.All() {
		switch n.Kind() {
		case "use_declaration":
			r.use(n.Field("argument"), "")
		case "struct_item":
			if body := n.Field("body"); !body.OK() || len(body.Parts()) == 0 {
				f.bare[n.Field("name").Text()] = true
			}
		}
	}
	vars := &synFunc{body: &syn{op: opBlock}}
	r.items(root, "", "", vars)
	f.funcs = append(f.funcs, vars)
	return f
}

// use notes the names of a use declaration.
func (r *rustReader) use(n code.Node, prefix string) {
	join := func(s string) string { return strings.TrimPrefix(prefix+"::"+s, "::") }
	switch n.Kind() {
	case "use_as_clause":
		r.uses[n.Field("alias").Text()] = join(n.Field("path").Text())
	case "scoped_use_list":
		r.use(n.Field("list"), join(n.Field("path").Text()))
	case "use_list":
		for _, c := range n.Parts() {
			r.use(c, prefix)
		}
	case "use_wildcard":
		for _, c := range n.Parts() {
			r.uses["*"+join(c.Text())] = join(c.Text())
		}
	case "self":
		r.uses[last(prefix)] = prefix
	case "identifier", "scoped_identifier":
		r.uses[last(n.Text())] = join(n.Text())
	}
}

// path is a name with what it stands for, without the crate's own beginning.
func (r *rustReader) path(text string) string {
	text = strings.TrimPrefix(strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "\n", ""), "::")
	head, rest, more := strings.Cut(text, "::")
	if full := r.uses[head]; full != "" && full != text {
		text = full
		if more {
			text += "::" + rest
		}
	} else if !more {
		for key, glob := range r.uses {
			if strings.HasPrefix(key, "*std::") && rustKnown(glob+"::"+text) {
				text = glob + "::" + text
			}
		}
	}
	return strings.Replace(strings.Replace(text, "core::", "std::", 1), "alloc::", "std::", 1)
}

func (r *rustReader) items(n code.Node, owner, hook string, vars *synFunc) {
	for _, c := range n.Parts() {
		if r.skip(c) {
			continue
		}
		switch c.Kind() {
		case "function_item":
			r.file.funcs = append(r.file.funcs, r.function(c, owner, hook))
		case "impl_item":
			t := c.Field("type")
			for t.Is("generic_type", "reference_type") {
				t = t.Field("type")
			}
			trait := c.Field("trait")
			if trait.Is("generic_type") {
				trait = trait.Field("type")
			}
			r.items(c.Field("body"), t.Text(), r.path(trait.Text()), vars)
		case "trait_item", "mod_item":
			r.items(c.Field("body"), owner, "", vars)
		case "const_item", "static_item":
			vars.body.kids = append(vars.body.kids, r.let(c, c.Field("name")))
		case "macro_definition":
			r.file.funcs = append(r.file.funcs, &synFunc{
				name: c.Field("name").Text() + "!", line: c.Line(),
				body: &syn{op: opBlock, line: c.Line(), kids: []*syn{{op: opReturn, line: c.Line(), kids: []*syn{r.tokens(c)}}}},
			})
		case "macro_invocation":
			vars.body.kids = append(vars.body.kids, r.expr(c))
		}
	}
}

func (r *rustReader) function(n code.Node, owner, hook string) *synFunc {
	fn := &synFunc{name: n.Field("name").Text(), owner: owner, hook: hook, line: n.Line()}
	fn.top = r.file.program && fn.name == "main" && owner == ""
	for _, p := range n.Field("parameters").Parts() {
		if p.Is("parameter") {
			fn.params = append(fn.params, synParam{last(strings.TrimPrefix(p.Field("pattern").Text(), "mut ")), p.Field("type").Text()})
		}
	}
	if t := n.Field("return_type"); t.OK() && t.Text() != "()" {
		fn.results = []string{t.Text()}
	}
	fn.body = r.ending(r.expr(n.Field("body")), len(fn.results) > 0)
	return fn
}

// ending makes the value that a body ends with what it returns.
func (r *rustReader) ending(body *syn, returns bool) *syn {
	if n := len(body.kids); returns && body.op == opBlock && n > 0 {
		switch l := body.kids[n-1]; l.op {
		case opReturn, opAssign, opLoop, opEach, opThrow, opJump:
		case opIf, opSwitch:
			for i := range l.kids[1:] {
				if k := l.kids[i+1]; k.op == opCase {
					k.kids[len(k.kids)-1] = r.ending(asBlock(k.kids[len(k.kids)-1]), true)
				} else {
					l.kids[i+1] = r.ending(asBlock(k), true)
				}
			}
		case opBlock:
			body.kids[n-1] = r.ending(l, true)
		default:
			body.kids[n-1] = &syn{op: opReturn, line: l.line, kids: []*syn{l}}
		}
	}
	return body
}

func asBlock(s *syn) *syn {
	if s.op == opBlock {
		return s
	}
	return &syn{op: opBlock, line: s.line, kids: []*syn{s}}
}

func (r *rustReader) let(n, pattern code.Node) *syn {
	v := n.Field("value")
	if !v.OK() {
		return &syn{}
	}
	return r.bind(n, pattern, r.expr(v))
}

// bind gives the names of a pattern a value.
func (r *rustReader) bind(at, pattern code.Node, v *syn) *syn {
	s := &syn{op: opAssign, line: at.Line(), text: "="}
	for p := range pattern.All() {
		if p.Is("identifier", "shorthand_field_identifier") && !p.Parent().Is("scoped_identifier") && strings.ToLower(p.Text()[:1]) == p.Text()[:1] {
			s.kids = append(s.kids, &syn{op: opName, text: p.Text(), line: p.Line()})
		}
	}
	if len(s.kids) == 0 {
		return v
	}
	s.lhs = len(s.kids)
	s.kids = append(s.kids, v)
	return s
}

func (r *rustReader) all(parts []code.Node) (out []*syn) {
	for _, p := range parts {
		if !p.Is("attribute_item", "inner_attribute_item", "type_arguments", "empty_statement") && !r.skip(p) {
			out = append(out, r.expr(p))
		}
	}
	return out
}

func (r *rustReader) expr(n code.Node) *syn {
	s := &syn{op: opOther, line: n.Line()}
	if !n.OK() {
		return s
	}
	switch n.Kind() {
	case "identifier", "self", "scoped_identifier", "type_identifier":
		s.op, s.text = opName, r.path(n.Text())
	case "generic_function":
		return r.expr(n.Field("function"))
	case "string_literal", "raw_string_literal":
		s.op, s.str, s.text = opLit, true, unquoted(n.Text())
	case "integer_literal", "float_literal", "boolean_literal", "char_literal":
		s.op, s.text = opLit, n.Text()
	case "field_expression":
		s.op, s.text, s.kids = opMember, n.Field("field").Text(), []*syn{r.expr(n.Field("value"))}
	case "call_expression":
		s.op, s.kids = opCall, append([]*syn{r.expr(n.Field("function"))}, r.all(n.Field("arguments").Parts())...)
	case "macro_invocation":
		s.op, s.kids = opCall, []*syn{{op: opName, text: n.Field("macro").Text() + "!", line: s.line}, r.tokens(n.Child("token_tree"))}
	case "index_expression":
		s.op, s.kids = opIndex, r.all(n.Parts())
	case "binary_expression":
		s.op, s.text, s.kids = opBinary, n.Field("operator").Text(), []*syn{r.expr(n.Field("left")), r.expr(n.Field("right"))}
	case "let_chain":
		s.op, s.text, s.kids = opBinary, "&&", r.all(n.Parts())
	case "unary_expression":
		s.kids = r.all(n.Parts())
		if strings.HasPrefix(n.Text(), "!") {
			s.op = opNot
		}
	case "assignment_expression", "compound_assignment_expr":
		s.op, s.lhs, s.text, s.kids = opAssign, 1, "=", []*syn{r.expr(n.Field("left")), r.expr(n.Field("right"))}
	case "closure_expression":
		s.op, s.fn = opFunc, &synFunc{line: s.line, body: r.expr(n.Field("body"))}
		for p := range n.Field("parameters").All() {
			if p.Is("identifier") {
				s.fn.params = append(s.fn.params, synParam{name: p.Text()})
			}
		}
	default:
		return r.stmt(n, s)
	}
	return s
}

func (r *rustReader) stmt(n code.Node, s *syn) *syn {
	switch n.Kind() {
	case "expression_statement", "parenthesized_expression", "unsafe_block", "try_expression", "await_expression", "reference_expression", "else_clause", "const_block", "labeled_expression":
		if parts := r.all(n.Parts()); len(parts) > 0 {
			return parts[len(parts)-1]
		}
	case "type_cast_expression":
		return r.expr(n.Field("value"))
	case "let_declaration":
		v := r.let(n, n.Field("pattern"))
		if alt := n.Field("alternative"); alt.OK() && v.op == opAssign {
			return &syn{op: opBlock, line: s.line, kids: []*syn{v, {op: opIf, line: s.line, kids: []*syn{v.kids[v.lhs], r.expr(alt)}}}}
		}
		return v
	case "let_condition":
		b := r.bind(n, n.Field("pattern"), r.expr(n.Field("value")))
		if b.op != opAssign {
			return b
		}
		s.kids = []*syn{b, b.kids[b.lhs]}
	case "const_item", "static_item":
		return r.let(n, n.Field("name"))
	case "block":
		s.op, s.kids = opBlock, r.all(n.Parts())
	case "if_expression":
		s.op, s.kids = opIf, []*syn{r.expr(n.Field("condition")), r.expr(n.Field("consequence"))}
		if alt := n.Field("alternative"); alt.OK() {
			s.kids = append(s.kids, r.expr(alt))
		}
	case "while_expression":
		s.op, s.kids = opLoop, []*syn{r.expr(n.Field("condition")), r.expr(n.Field("body"))}
	case "loop_expression":
		s.op, s.kids = opLoop, []*syn{{}, r.expr(n.Field("body"))}
	case "for_expression":
		b := r.bind(n, n.Field("pattern"), r.expr(n.Field("value")))
		if b.op != opAssign {
			b = &syn{op: opAssign, kids: []*syn{b}}
		}
		s.op, s.lhs, s.kids = opEach, b.lhs, append(b.kids, r.expr(n.Field("body")))
	case "match_expression":
		s.op, s.kids = opSwitch, []*syn{r.expr(n.Field("value"))}
		for _, arm := range n.Field("body").Parts() {
			if !arm.Is("match_arm") {
				continue
			}
			one := &syn{op: opCase, line: arm.Line()}
			for _, p := range arm.Field("pattern").Parts() {
				one.kids = append(one.kids, r.bind(p, p, r.expr(n.Field("value"))))
			}
			if c := arm.Field("pattern").Field("condition"); c.OK() {
				one.kids = append(one.kids, r.expr(c))
			}
			one.kids = append(one.kids, r.expr(arm.Field("value")))
			s.kids = append(s.kids, one)
		}
	case "return_expression":
		s.op, s.kids = opReturn, r.all(n.Parts())
	case "break_expression", "continue_expression":
		s.op = opJump
		if parts := r.all(n.Parts()); len(parts) > 0 {
			return parts[len(parts)-1]
		}
	case "function_item":
		r.file.funcs = append(r.file.funcs, r.function(n, "", ""))
	case "use_declaration", "mod_item", "struct_item", "foreign_mod_item", "impl_item", "enum_item", "label", "type_item":
	default:
		s.kids = r.all(n.Parts())
	}
	return s
}

// tokens are the paths, members and literals of a macro's text, which has no
// structure; a word of control in it makes a condition of them. In the text of its
// definition a name with brackets is a call.
func (r *rustReader) tokens(n code.Node) *syn {
	s := &syn{op: opOther, line: n.Line()}
	all := r.flat(n)
	control := false
	for _, t := range all {
		control = control || slices.Contains([]string{"if", "match", "while", "&&", "||"}, t.Text())
	}
	s.kids = r.tokenParts(all, n.Is("macro_definition"))
	if control && !rustTells(n.Parent().Field("macro").Text()+"!") {
		names := &syn{op: opOther, line: s.line, kids: s.kids}
		return &syn{op: opIf, line: s.line, kids: []*syn{names, {op: opCall, line: s.line, kids: []*syn{{op: opName, text: "macro"}}}}}
	}
	return s
}

// rustPlaces are macros that say where they are used.
var rustPlaces = []string{"file", "line", "column", "module_path"}

func (r *rustReader) tokenParts(all []code.Node, calls bool) (out []*syn) {
	for i := 0; i < len(all); i++ {
		t := all[i]
		if t.Is("string_literal", "raw_string_literal", "integer_literal", "boolean_literal") {
			out = append(out, r.expr(t))
		}
		if !t.Is("identifier", "self", "type_identifier") {
			continue
		}
		text, line := t.Text(), t.Line()
		for i+2 < len(all) && all[i+1].Text() == "::" && all[i+2].Is("identifier", "type_identifier") {
			text += "::" + all[i+2].Text()
			i += 2
		}
		one := &syn{op: opName, text: r.path(text), line: line}
		switch next := i + 1; {
		case next < len(all) && all[next].Text() == "!" && slices.Contains(rustPlaces, text):
			one.text = text + "!"
		case next < len(all) && all[next].Text() == "!" && text != "cfg":
			continue
		case calls && next < len(all) && all[next].Text() == "(":
			args, end := r.tokenArgs(all, next)
			one, i = &syn{op: opCall, line: line, kids: append([]*syn{one}, args...)}, end
		}
		if k := len(out); k > 0 && all[max(0, i-1)].Text() == "." && one.op == opName {
			one = &syn{op: opMember, text: text, line: line, kids: []*syn{out[k-1]}}
			out = out[:k-1]
		}
		out = append(out, one)
	}
	return out
}

// tokenArgs are the arguments in the brackets that begin at a token, and where
// these end.
func (r *rustReader) tokenArgs(all []code.Node, from int) (args []*syn, end int) {
	depth, start := 0, from+1
	part := func(to int) {
		if to > start {
			args = append(args, &syn{op: opOther, line: all[start].Line(), kids: r.tokenParts(all[start:to], true)})
		}
		start = to + 1
	}
	for end = from; end < len(all); end++ {
		switch all[end].Text() {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				part(end)
				return args, end
			}
		case ",":
			if depth == 1 {
				part(end)
			}
		}
	}
	return args, len(all) - 1
}

// flat are the tokens of a macro, in order.
func (r *rustReader) flat(n code.Node) (out []code.Node) {
	for c := range n.All() {
		if len(c.Children()) == 0 || c.Is("string_literal", "raw_string_literal") {
			out = append(out, c)
		}
	}
	return slices.DeleteFunc(out, func(c code.Node) bool { return c.Is("string_content", "escape_sequence", `"`) })
}

// unquoted is what a literal of Rust or Java says, as far as it is plain.
func unquoted(s string) string {
	s = strings.TrimLeft(s, "rbc#")
	s = strings.TrimRight(s, "#")
	return strings.Trim(s, `"`)
}
