package quality

import (
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/regexp"
)

// source is a file that a grammar of tree-sitter reads.
type source struct {
	*findings
	root     code.Node
	text     string
	assigned map[string][]code.Node // what is given to a name, by function and name
	known    map[string]bool        // what was looked up in a function, once for all that ask
	docs     *documents
}

// once is what is found out, which is found out once for a function and a question.
func (s *source) once(n code.Node, question string, find func() bool) bool {
	key := s.scope(n) + question
	is, ok := s.known[key]
	if !ok {
		is = find()
		s.known[key] = is
	}
	return is
}

// quiet tells whether the function around a node has what makes a rule doubtful, or is too
// long to be looked through.
func (s *source) quiet(n code.Node, doubt *regexp.Regexp) bool {
	return s.once(n, doubt.String(), func() bool {
		body := s.body(n)
		return len(body) > maxFunction || doubt.MatchString(body)
	})
}

// treeFile looks through a file by its tree.
func treeFile(f *findings, root, before code.Node) {
	f.judgeShapes(treeShapes(root), treeShapes(before))
	s := &source{findings: f, root: root, text: string(f.file.After), assigned: map[string][]code.Node{}, known: map[string]bool{}}
	for n := range root.All() {
		if n.Is("assignment", "variable_declarator", "assignment_expression") {
			left, right := n.Field("left"), n.Field("right")
			if n.Is("variable_declarator") {
				left, right = n.Field("name"), n.Field("value")
			}
			if left.Is("identifier") && right.OK() {
				key := s.scope(n) + left.Text()
				s.assigned[key] = append(s.assigned[key], right)
			}
		}
	}
	switch code.LanguageOf(f.file.Path) {
	case code.Python:
		f.performance = false
		for n := range root.All() {
			s.python(n)
		}
	case code.JavaScript, code.TypeScript, code.TSX:
		for n := range root.All() {
			s.script(n)
		}
	}
	for n := range root.All() {
		s.dead(n)
	}
}

func (s *source) at(n code.Node, r rule) { s.tell(n.Line(), r) }

// functionOf is the function around a node.
func functionOf(n code.Node) code.Node {
	for p := range n.Around() {
		if isFunction(p) {
			return p
		}
	}
	return code.Node{}
}

func isFunction(n code.Node) bool {
	return n.Is("function_definition", "function_declaration", "function_expression", "arrow_function", "method_definition",
		"generator_function_declaration", "function_item", "method_declaration", "constructor_declaration", "lambda")
}

// scope names the function around a node; the file's own is empty.
func (s *source) scope(n code.Node) string {
	f := functionOf(n)
	if !f.OK() {
		return ""
	}
	return strconv.Itoa(f.Start()) + " "
}

// body is the source of the function around a node; of the file where there is none.
func (s *source) body(n code.Node) string {
	if f := functionOf(n); f.OK() {
		return f.Text()
	}
	return s.text
}

// value is what an expression stands for: what a variable of the function was given, where
// that is one thing.
func (s *source) value(n code.Node) code.Node {
	if !n.Is("identifier") {
		return n
	}
	if given := s.assigned[s.scope(n)+n.Text()]; len(given) == 1 {
		return given[0]
	}
	return n
}

// arguments are those of a call, without the named ones of Python.
func arguments(call code.Node) (out []code.Node) {
	for _, a := range call.Field("arguments").Parts() {
		if !a.Is("keyword_argument") {
			out = append(out, a)
		}
	}
	return out
}

func argument(call code.Node, i int) code.Node {
	if all := arguments(call); i >= 0 && i < len(all) {
		return all[i]
	}
	return code.Node{}
}

// parts are the values that a text is put together from; nil where it is none that is put
// together.
func parts(n code.Node) (out []code.Node) {
	switch {
	case n.Is("string", "template_string", "concatenated_string"):
		for c := range n.All() {
			if c.Is("interpolation", "template_substitution") {
				out = append(out, c)
			}
		}
	case n.Is("binary_operator", "binary_expression"):
		op := n.Field("operator").Text()
		left, right := n.Field("left"), n.Field("right")
		switch {
		case op == "%" && left.Is("string"):
			if right.Is("tuple") {
				return right.Parts()
			}
			return []code.Node{right}
		case op == "+":
			for _, side := range []code.Node{left, right} {
				if side.Is("string", "template_string", "binary_operator", "binary_expression", "parenthesized_expression") {
					out = append(out, parts(side)...)
				} else if !side.Is("integer", "number") {
					out = append(out, side)
				}
			}
		}
	case n.Is("parenthesized_expression"):
		for _, p := range n.Parts() {
			out = append(out, parts(p)...)
		}
	case n.Is("call"):
		if f := n.Field("function"); f.Is("attribute") && f.Field("attribute").Text() == "format" && f.Field("object").Is("string") {
			return n.Field("arguments").Parts()
		}
	}
	return out
}

// literal is the first literal in a text that is put together.
func literal(n code.Node) string {
	for c := range n.All() {
		if c.Is("string", "template_string") {
			return c.Text()
		}
	}
	return ""
}

// mixes tells whether a text is put together from literals and values.
func mixes(n code.Node) bool { return literal(n) != "" && len(spoken(parts(n))) > 0 }

// bare is an interpolated value without what is around it.
var bare = strings.NewReplacer("${", "", "{", "", "}", "")

// spoken are the values that may be said by somebody: no constants.
func spoken(all []code.Node) (out []code.Node) {
	for _, p := range all {
		if name := strings.TrimSpace(bare.Replace(p.Text())); !constantName.MatchString(name) {
			out = append(out, p)
		}
	}
	return out
}

var constantName = regexp.MustCompile(`^(?:[\w.]+\.)?[A-Z][A-Z0-9_]*$|^\d+$`)

// sql tells whether a statement is put together from values that somebody says.
func sql(n code.Node) bool {
	if !statement.MatchString(literal(n)) {
		return false
	}
	for _, p := range spoken(parts(n)) {
		if !harmless.MatchString(bare.Replace(p.Text())) {
			return true
		}
	}
	return false
}

// dead tells of what stands behind the end of a block.
func (s *source) dead(n code.Node) {
	if !n.Is("block", "statement_block", "module", "program") {
		return
	}
	all := n.Parts()
	for i, st := range all {
		if i+1 < len(all) && st.Is("return_statement", "raise_statement", "throw_statement", "break_statement", "continue_statement") &&
			!all[i+1].Is("function_declaration", "class_declaration", "generator_function_declaration", "interface_declaration", "type_alias_declaration") &&
			!strings.HasPrefix(all[i+1].Text(), "yield") {
			s.at(all[i+1], deadCode)
			return
		}
	}
}

// treeShapes are the sizes of a file's functions.
func treeShapes(root code.Node) (out []shape) {
	for n := range root.All() {
		name, body := nameOf(n), n.Field("body")
		if name == "" || !body.OK() {
			continue // it counts for the one around it
		}
		for p := range n.Around() {
			if p.Is("class_definition", "class_declaration", "impl_item") {
				name = p.Field("name").Text() + p.Field("type").Text() + "." + name
			}
			if isFunction(p) || strings.Contains(name, ".") {
				break
			}
		}
		s := shape{name: name, from: n.Line(), to: n.Line() + strings.Count(n.Text(), "\n")}
		s.ofTree(body, 0)
		out = append(out, s)
	}
	return out
}

// nameOf is the name of a function that is measured by itself, which one may have of the
// variable that it is given to.
func nameOf(n code.Node) string {
	if !isFunction(n) || n.Is("lambda") {
		return ""
	}
	if p := n.Parent(); p.Is("variable_declarator") && !n.Field("name").OK() {
		return p.Field("name").Text()
	}
	return n.Field("name").Text()
}

// ofTree counts decisions, and how deep they are in each other.
func (s *shape) ofTree(within code.Node, depth int) {
	for _, n := range within.Parts() {
		if nameOf(n) != "" {
			continue
		}
		switch {
		case n.Is("if_statement", "if_expression", "elif_clause", "for_statement", "for_in_statement", "while_statement", "while_expression",
			"for_expression", "loop_expression", "do_statement", "except_clause", "catch_clause", "conditional_expression", "ternary_expression",
			"switch_statement", "match_statement", "match_expression", "switch_expression", "enhanced_for_statement", "boolean_operator"):
			s.branches++
		case n.Is("binary_expression"):
			if op := n.Field("operator").Text(); op == "&&" || op == "||" {
				s.branches++
			}
		}
		deep := depth
		if nests(n) {
			deep++
			s.nesting = max(s.nesting, deep)
		}
		s.ofTree(n, deep)
	}
}

// nests tells of a block within which everything is one deeper. An else if stands beside
// its if.
func nests(n code.Node) bool {
	if n.Is("if_statement", "if_expression") {
		return !n.Parent().Is("else_clause") && n.Parent().Field("alternative") != n
	}
	return n.Is("for_statement", "for_in_statement", "while_statement", "while_expression", "for_expression", "loop_expression", "do_statement",
		"switch_statement", "match_statement", "match_expression", "try_statement", "with_statement", "enhanced_for_statement")
}

// The rules of several languages.
var (
	evaluates  = rule{"eval", agency.IssueCritical, agency.Security, "a text that is no literal is run as code"}
	emptyCatch = rule{"swallowed-error", agency.IssueMinor, agency.Correctness, "every error is dropped here without a word"}
)
