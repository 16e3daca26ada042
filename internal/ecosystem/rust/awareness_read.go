package rust

import (
	"path"
	"slices"
	"strings"

	"agency/internal/awareness/dataflow"
	"agency/internal/code"
)

// formReader reads a file of Rust into the common form. Items for tests alone
// are left out where tests is false.
type formReader struct {
	file *dataflow.File
	uses map[string]string // what names of use declarations stand for
	skip func(code.Node) bool
}

// readForm reads a file; its unit is its module.
func readForm(src dataflow.Source, root code.Node, skip func(code.Node) bool) *dataflow.File {
	p := src.Path
	f := &dataflow.File{Path: p, Test: src.Test, Text: string(src.Text), Bare: map[string]bool{}, Unit: strings.TrimSuffix(path.Base(p), ".rs")}
	if f.Unit == "mod" || f.Unit == "lib" || f.Unit == "main" {
		f.Unit = path.Base(path.Dir(p))
	}
	f.Program = path.Base(p) == "main.rs" || strings.Contains(p, "src/bin/") || path.Base(p) == "build.rs" || strings.HasPrefix(p, "examples/")
	r := formReader{file: f, uses: map[string]string{}, skip: skip}
	for n := range root.All() {
		switch n.Kind() {
		case "use_declaration":
			r.use(n.Field("argument"), "")
		case "struct_item":
			if body := n.Field("body"); !body.OK() || len(body.Parts()) == 0 {
				f.Bare[n.Field("name").Text()] = true
			}
		}
	}
	vars := &dataflow.Func{Body: &dataflow.Node{Op: dataflow.OpBlock}}
	r.items(root, "", "", vars)
	f.Funcs = append(f.Funcs, vars)
	return f
}

// use notes the names of a use declaration.
func (r *formReader) use(n code.Node, prefix string) {
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
		r.uses[dataflow.Last(prefix)] = prefix
	case "identifier", "scoped_identifier":
		r.uses[dataflow.Last(n.Text())] = join(n.Text())
	}
}

// path is a name with what it stands for, without the crate's own beginning.
func (r *formReader) path(text string) string {
	text = strings.TrimPrefix(strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "\n", ""), "::")
	head, rest, more := strings.Cut(text, "::")
	if full := r.uses[head]; full != "" && full != text {
		text = full
		if more {
			text += "::" + rest
		}
	} else if !more {
		for key, glob := range r.uses {
			if strings.HasPrefix(key, "*std::") && isKnown(glob+"::"+text) {
				text = glob + "::" + text
			}
		}
	}
	return strings.Replace(strings.Replace(text, "core::", "std::", 1), "alloc::", "std::", 1)
}

func (r *formReader) items(n code.Node, owner, hook string, vars *dataflow.Func) {
	for _, c := range n.Parts() {
		if r.skip(c) {
			continue
		}
		switch c.Kind() {
		case "function_item":
			r.file.Funcs = append(r.file.Funcs, r.function(c, owner, hook))
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
			vars.Body.Kids = append(vars.Body.Kids, r.let(c, c.Field("name")))
		case "macro_definition":
			r.file.Funcs = append(r.file.Funcs, &dataflow.Func{
				Name: c.Field("name").Text() + "!", Line: c.Line(),
				Body: &dataflow.Node{Op: dataflow.OpBlock, Line: c.Line(), Kids: []*dataflow.Node{{Op: dataflow.OpReturn, Line: c.Line(), Kids: []*dataflow.Node{r.tokens(c)}}}},
			})
		case "macro_invocation":
			vars.Body.Kids = append(vars.Body.Kids, r.expr(c))
		}
	}
}

func (r *formReader) function(n code.Node, owner, hook string) *dataflow.Func {
	fn := &dataflow.Func{Name: n.Field("name").Text(), Owner: owner, Trait: hook, Line: n.Line()}
	fn.Entry = r.file.Program && fn.Name == "main" && owner == ""
	for _, p := range n.Field("parameters").Parts() {
		if p.Is("parameter") {
			fn.Params = append(fn.Params, dataflow.Param{Name: dataflow.Last(strings.TrimPrefix(p.Field("pattern").Text(), "mut ")), Type: p.Field("type").Text()})
		}
	}
	if t := n.Field("return_type"); t.OK() && t.Text() != "()" {
		fn.Results = []string{t.Text()}
	}
	fn.Body = r.ending(r.expr(n.Field("body")), len(fn.Results) > 0)
	return fn
}

// ending makes the value that a body ends with what it returns.
func (r *formReader) ending(body *dataflow.Node, returns bool) *dataflow.Node {
	if n := len(body.Kids); returns && body.Op == dataflow.OpBlock && n > 0 {
		switch l := body.Kids[n-1]; l.Op {
		case dataflow.OpReturn, dataflow.OpAssign, dataflow.OpLoop, dataflow.OpEach, dataflow.OpThrow, dataflow.OpJump:
		case dataflow.OpIf, dataflow.OpSwitch:
			for i := range l.Kids[1:] {
				if k := l.Kids[i+1]; k.Op == dataflow.OpCase {
					k.Kids[len(k.Kids)-1] = r.ending(asBlock(k.Kids[len(k.Kids)-1]), true)
				} else {
					l.Kids[i+1] = r.ending(asBlock(k), true)
				}
			}
		case dataflow.OpBlock:
			body.Kids[n-1] = r.ending(l, true)
		default:
			body.Kids[n-1] = &dataflow.Node{Op: dataflow.OpReturn, Line: l.Line, Kids: []*dataflow.Node{l}}
		}
	}
	return body
}

func asBlock(s *dataflow.Node) *dataflow.Node {
	if s.Op == dataflow.OpBlock {
		return s
	}
	return &dataflow.Node{Op: dataflow.OpBlock, Line: s.Line, Kids: []*dataflow.Node{s}}
}

func (r *formReader) let(n, pattern code.Node) *dataflow.Node {
	v := n.Field("value")
	if !v.OK() {
		return &dataflow.Node{}
	}
	return r.bind(n, pattern, r.expr(v))
}

// bind gives the names of a pattern a value.
func (r *formReader) bind(at, pattern code.Node, v *dataflow.Node) *dataflow.Node {
	s := &dataflow.Node{Op: dataflow.OpAssign, Line: at.Line(), Text: "="}
	for p := range pattern.All() {
		if p.Is("identifier", "shorthand_field_identifier") && !p.Parent().Is("scoped_identifier") && strings.ToLower(p.Text()[:1]) == p.Text()[:1] {
			s.Kids = append(s.Kids, &dataflow.Node{Op: dataflow.OpName, Text: p.Text(), Line: p.Line()})
		}
	}
	if len(s.Kids) == 0 {
		return v
	}
	s.LHS = len(s.Kids)
	s.Kids = append(s.Kids, v)
	return s
}

func (r *formReader) all(parts []code.Node) (out []*dataflow.Node) {
	for _, p := range parts {
		if !p.Is("attribute_item", "inner_attribute_item", "type_arguments", "empty_statement") && !r.skip(p) {
			out = append(out, r.expr(p))
		}
	}
	return out
}

func (r *formReader) expr(n code.Node) *dataflow.Node {
	s := &dataflow.Node{Op: dataflow.OpOther, Line: n.Line()}
	if !n.OK() {
		return s
	}
	switch n.Kind() {
	case "identifier", "self", "scoped_identifier", "type_identifier":
		s.Op, s.Text = dataflow.OpName, r.path(n.Text())
	case "generic_function":
		return r.expr(n.Field("function"))
	case "string_literal", "raw_string_literal":
		s.Op, s.IsText, s.Text = dataflow.OpLit, true, dataflow.Unquoted(n.Text())
	case "integer_literal", "float_literal", "boolean_literal", "char_literal":
		s.Op, s.Text = dataflow.OpLit, n.Text()
	case "field_expression":
		s.Op, s.Text, s.Kids = dataflow.OpMember, n.Field("field").Text(), []*dataflow.Node{r.expr(n.Field("value"))}
	case "call_expression":
		s.Op, s.Kids = dataflow.OpCall, append([]*dataflow.Node{r.expr(n.Field("function"))}, r.all(n.Field("arguments").Parts())...)
	case "macro_invocation":
		s.Op, s.Kids = dataflow.OpCall, []*dataflow.Node{{Op: dataflow.OpName, Text: n.Field("macro").Text() + "!", Line: s.Line}, r.tokens(n.Child("token_tree"))}
	case "index_expression":
		s.Op, s.Kids = dataflow.OpIndex, r.all(n.Parts())
	case "binary_expression":
		s.Op, s.Text, s.Kids = dataflow.OpBinary, n.Field("operator").Text(), []*dataflow.Node{r.expr(n.Field("left")), r.expr(n.Field("right"))}
	case "let_chain":
		s.Op, s.Text, s.Kids = dataflow.OpBinary, "&&", r.all(n.Parts())
	case "unary_expression":
		s.Kids = r.all(n.Parts())
		if strings.HasPrefix(n.Text(), "!") {
			s.Op = dataflow.OpNot
		}
	case "assignment_expression", "compound_assignment_expr":
		s.Op, s.LHS, s.Text, s.Kids = dataflow.OpAssign, 1, "=", []*dataflow.Node{r.expr(n.Field("left")), r.expr(n.Field("right"))}
	case "closure_expression":
		s.Op, s.Func = dataflow.OpFunc, &dataflow.Func{Line: s.Line, Body: r.expr(n.Field("body"))}
		for p := range n.Field("parameters").All() {
			if p.Is("identifier") {
				s.Func.Params = append(s.Func.Params, dataflow.Param{Name: p.Text()})
			}
		}
	default:
		return r.stmt(n, s)
	}
	return s
}

func (r *formReader) stmt(n code.Node, s *dataflow.Node) *dataflow.Node {
	switch n.Kind() {
	case "expression_statement", "parenthesized_expression", "unsafe_block", "try_expression", "await_expression", "reference_expression", "else_clause", "const_block", "labeled_expression":
		if parts := r.all(n.Parts()); len(parts) > 0 {
			return parts[len(parts)-1]
		}
	case "type_cast_expression":
		return r.expr(n.Field("value"))
	case "let_declaration":
		v := r.let(n, n.Field("pattern"))
		if alt := n.Field("alternative"); alt.OK() && v.Op == dataflow.OpAssign {
			return &dataflow.Node{Op: dataflow.OpBlock, Line: s.Line, Kids: []*dataflow.Node{v, {Op: dataflow.OpIf, Line: s.Line, Kids: []*dataflow.Node{v.Kids[v.LHS], r.expr(alt)}}}}
		}
		return v
	case "let_condition":
		b := r.bind(n, n.Field("pattern"), r.expr(n.Field("value")))
		if b.Op != dataflow.OpAssign {
			return b
		}
		s.Kids = []*dataflow.Node{b, b.Kids[b.LHS]}
	case "const_item", "static_item":
		return r.let(n, n.Field("name"))
	case "block":
		s.Op, s.Kids = dataflow.OpBlock, r.all(n.Parts())
	case "if_expression":
		s.Op, s.Kids = dataflow.OpIf, []*dataflow.Node{r.expr(n.Field("condition")), r.expr(n.Field("consequence"))}
		if alt := n.Field("alternative"); alt.OK() {
			s.Kids = append(s.Kids, r.expr(alt))
		}
	case "while_expression":
		s.Op, s.Kids = dataflow.OpLoop, []*dataflow.Node{r.expr(n.Field("condition")), r.expr(n.Field("body"))}
	case "loop_expression":
		s.Op, s.Kids = dataflow.OpLoop, []*dataflow.Node{{}, r.expr(n.Field("body"))}
	case "for_expression":
		b := r.bind(n, n.Field("pattern"), r.expr(n.Field("value")))
		if b.Op != dataflow.OpAssign {
			b = &dataflow.Node{Op: dataflow.OpAssign, Kids: []*dataflow.Node{b}}
		}
		s.Op, s.LHS, s.Kids = dataflow.OpEach, b.LHS, append(b.Kids, r.expr(n.Field("body")))
	case "match_expression":
		s.Op, s.Kids = dataflow.OpSwitch, []*dataflow.Node{r.expr(n.Field("value"))}
		for _, arm := range n.Field("body").Parts() {
			if !arm.Is("match_arm") {
				continue
			}
			one := &dataflow.Node{Op: dataflow.OpCase, Line: arm.Line()}
			for _, p := range arm.Field("pattern").Parts() {
				one.Kids = append(one.Kids, r.bind(p, p, r.expr(n.Field("value"))))
			}
			if c := arm.Field("pattern").Field("condition"); c.OK() {
				one.Kids = append(one.Kids, r.expr(c))
			}
			one.Kids = append(one.Kids, r.expr(arm.Field("value")))
			s.Kids = append(s.Kids, one)
		}
	case "return_expression":
		s.Op, s.Kids = dataflow.OpReturn, r.all(n.Parts())
	case "break_expression", "continue_expression":
		s.Op = dataflow.OpJump
		if parts := r.all(n.Parts()); len(parts) > 0 {
			return parts[len(parts)-1]
		}
	case "function_item":
		r.file.Funcs = append(r.file.Funcs, r.function(n, "", ""))
	case "use_declaration", "mod_item", "struct_item", "foreign_mod_item", "impl_item", "enum_item", "label", "type_item":
	default:
		s.Kids = r.all(n.Parts())
	}
	return s
}

// tokens are the paths, members and literals of a macro's text, which has no
// structure; a word of control in it makes a condition of them. In the text of its
// definition a name with brackets is a call.
func (r *formReader) tokens(n code.Node) *dataflow.Node {
	s := &dataflow.Node{Op: dataflow.OpOther, Line: n.Line()}
	all := r.flat(n)
	control := false
	for _, t := range all {
		control = control || slices.Contains([]string{"if", "match", "while", "&&", "||"}, t.Text())
	}
	s.Kids = r.tokenParts(all, n.Is("macro_definition"))
	if control && !saying(n.Parent().Field("macro").Text()+"!") {
		names := &dataflow.Node{Op: dataflow.OpOther, Line: s.Line, Kids: s.Kids}
		return &dataflow.Node{Op: dataflow.OpIf, Line: s.Line, Kids: []*dataflow.Node{names, {Op: dataflow.OpCall, Line: s.Line, Kids: []*dataflow.Node{{Op: dataflow.OpName, Text: "macro"}}}}}
	}
	return s
}

// placeMacros are macros that say where they are used.
var placeMacros = []string{"file", "line", "column", "module_path"}

func (r *formReader) tokenParts(all []code.Node, calls bool) (out []*dataflow.Node) {
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
		one := &dataflow.Node{Op: dataflow.OpName, Text: r.path(text), Line: line}
		switch next := i + 1; {
		case next < len(all) && all[next].Text() == "!" && slices.Contains(placeMacros, text):
			one.Text = text + "!"
		case next < len(all) && all[next].Text() == "!" && text != "cfg":
			continue
		case calls && next < len(all) && all[next].Text() == "(":
			args, end := r.tokenArgs(all, next)
			one, i = &dataflow.Node{Op: dataflow.OpCall, Line: line, Kids: append([]*dataflow.Node{one}, args...)}, end
		}
		if k := len(out); k > 0 && all[max(0, i-1)].Text() == "." && one.Op == dataflow.OpName {
			one = &dataflow.Node{Op: dataflow.OpMember, Text: text, Line: line, Kids: []*dataflow.Node{out[k-1]}}
			out = out[:k-1]
		}
		out = append(out, one)
	}
	return out
}

// tokenArgs are the arguments in the brackets that begin at a token, and where
// these end.
func (r *formReader) tokenArgs(all []code.Node, from int) (args []*dataflow.Node, end int) {
	depth, start := 0, from+1
	part := func(to int) {
		if to > start {
			args = append(args, &dataflow.Node{Op: dataflow.OpOther, Line: all[start].Line(), Kids: r.tokenParts(all[start:to], true)})
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
func (r *formReader) flat(n code.Node) (out []code.Node) {
	for c := range n.All() {
		if len(c.Children()) == 0 || c.Is("string_literal", "raw_string_literal") {
			out = append(out, c)
		}
	}
	return slices.DeleteFunc(out, func(c code.Node) bool { return c.Is("string_content", "escape_sequence", `"`) })
}
