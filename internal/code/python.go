package code

import (
	"bytes"
	"fmt"
	"strings"
)

// pythonFunctions are functions and methods; a lambda belongs to what is around
// it.
func pythonFunctions(t *tree) []found {
	l := lister{t: t, lines: linesOf(t.src)}
	nameOf := func(n Node) string {
		if n.Is("class_definition", "function_definition") {
			return n.Field("name").Text()
		}
		return ""
	}
	for n := range t.root().All() {
		body := n.Field("body")
		if !n.Is("function_definition") || !body.OK() || body.Start() == body.End() {
			continue
		}
		f := found{node: n, body: body}
		own := n.Field("name").Text()
		f.Name = pathTo(n, own, nameOf)
		f.Test = strings.HasPrefix(own, "test_") || own == "test" || strings.HasPrefix(own, "test") && strings.Contains(f.Name, ".")
		start := n.Start()
		if p := n.Parent(); p.Is("decorated_definition") {
			start = p.Start()
		}
		l.add(f, start, body.Start(), body.End())
	}
	return l.out
}

// isDocstring tells whether a statement is the documentation of what it is in.
func isDocstring(n Node) bool {
	if !n.Is("expression_statement") || !n.Parent().Is("block", "module") || n.Parent().Is("block") && !n.Parent().Parent().Is("function_definition", "class_definition") {
		return false
	}
	for c := range n.Parent().children() {
		if c.named() && !c.isComment() {
			s := c.Child("string")
			return c == n && s.OK() && s.Start() == n.Start() && s.End() == n.End() && strings.IndexAny(s.Text(), "fFbB") != 0
		}
	}
	return false
}

// pythonSwitches puts a line in front of a body's first statement, behind the
// docstring, and at the start of the module what it asks, before anything can
// be called. Lines are taken in exchange (package comment).
//
// Zero is None and other 0. A generator ends at once for zero and
// raises for other; __init__ can return None only.
func pythonSwitches(t *tree, asked []request, n switchNames) (edits []edit, skipped []Skipped) {
	w := newLineTrade(t)
	name := "_" + strings.ToLower(n.fn())
	for _, r := range asked {
		e, lines, why := pythonSwitch(w, r, name)
		if why != "" {
			skipped = append(skipped, Skipped{r.id, why})
			continue
		}
		edits = append(edits, e...)
		w.trade(r.FromLine, lines, e[len(e)-1].at)
	}
	if len(edits) > 0 {
		edits = append(pythonAsk(w, name, n.env), edits...)
	}
	return append(edits, w.taken...), skipped
}

// pythonAsk sets what the switches ask, in front of the module's first statement
// that is neither its docstring nor of __future__.
func pythonAsk(w *lineTrade, name, env string) []edit {
	text := fmt.Sprintf(`%s = (lambda v: v if v[0] in ('panic', 'zero', 'other') else ('', '', ''))(__import__('os').environ.get('%s', '').replace('there:', 'zero:').partition(':'))`, name, env)
	for s := range w.t.root().children() {
		if !s.named() || s.isComment() || s.Is("future_import_statement") || isDocstring(s) {
			continue
		}
		if !compound(s) {
			return []edit{{at: s.Start(), end: s.Start(), text: text + "; "}}
		}
		w.trade(w.lines.line(s.Start()), 1, s.Start())
		return []edit{{at: s.Start(), end: s.Start(), text: text + w.newline}}
	}
	return nil
}

func compound(s Node) bool {
	return s.Is("if_statement", "for_statement", "while_statement", "try_statement", "with_statement", "match_statement",
		"function_definition", "class_definition", "decorated_definition")
}

// pythonSwitch gives the edits of one function, and how many lines they add.
func pythonSwitch(w *lineTrade, r request, name string) (edits []edit, lines int, why string) {
	put := func(at int, text string) {
		edits = append(edits, edit{at: at, end: at, text: text})
		lines += strings.Count(text, "\n")
	}
	text := fmt.Sprintf("if %s[2] in ('%s', '*'): %s", name, r.id, pythonAnswer(r, name))
	body := r.body.Parts()
	if len(body) == 0 {
		return nil, 0, "no statement"
	}
	first := r.body.Start()
	indent, alone := w.indent(first)
	if w.continued(first) {
		return nil, 0, "a body behind a line that goes on"
	}
	if !alone {
		indent, _ = w.indent(r.node.Start())
		if strings.HasSuffix(indent, "\t") {
			indent += "\t"
		} else {
			indent += "    "
		}
		put(first, w.newline+indent)
	}
	doc := isDocstring(body[0])
	switch {
	case !doc:
		put(first, text+w.newline+indent)
	case len(body) == 1:
		put(w.lineEnd(body[0].End()), w.newline+indent+text)
	default:
		at := body[1].Start()
		if _, alone := w.indent(at); alone {
			put(at, text+w.newline+indent)
		} else {
			put(at, w.newline+indent+text+w.newline+indent)
		}
	}
	return edits, lines, ""
}

// pythonAnswer is what a function does that is cut, in one line.
func pythonAnswer(r request, name string) string {
	raise := "(_ for _ in ()).throw(__import__('builtins').RuntimeError('taken out'))"
	generator := false
	for n := range r.body.all(func(n Node) bool { return n.Is("function_definition", "class_definition", "lambda") }) {
		generator = generator || n.Is("yield")
	}
	switch {
	case generator:
		return fmt.Sprintf("%s[0] == 'zero' or %s; return", name, raise)
	case strings.HasSuffix(r.Name, "__init__"):
		return fmt.Sprintf("return None if %s[0] != 'panic' else %s", name, raise)
	}
	return fmt.Sprintf("return None if %s[0] == 'zero' else 0 if %[1]s[0] == 'other' else %s", name, raise)
}

// lineTrade gives up lines of a file that say nothing for lines that are put in.
type lineTrade struct {
	t       *tree
	lines   lineTable
	newline string
	free    []int32 // by line, from 1: the next one that can be given up, itself or later; 0: not looked up yet
	taken   []edit
}

func newLineTrade(t *tree) *lineTrade {
	w := &lineTrade{t: t, lines: linesOf(t.src), newline: "\n"}
	if i := bytes.IndexByte(t.src, '\n'); i > 0 && t.src[i-1] == '\r' {
		w.newline = "\r\n"
	}
	w.free = make([]int32, len(w.lines)+2)
	inText := make([]bool, len(w.lines)+2)
	for n := range t.root().All() {
		if n.Is("string") {
			for l := w.lines.line(n.Start()); l <= w.lines.line(n.End()); l++ {
				inText[l] = true
			}
		}
	}
	last := int32(len(w.lines) + 1)
	w.free[last] = last
	for l := len(w.lines); l > 0; l-- {
		if w.says(l, inText[l]) {
			w.free[l] = w.free[l+1]
		} else {
			w.free[l] = int32(l)
		}
	}
	return w
}

// says tells whether a line must stay.
func (w *lineTrade) says(l int, inText bool) bool {
	from, to := w.bounds(l)
	text := bytes.TrimSpace(w.t.src[from:to])
	comment := len(text) > 0 && text[0] == '#'
	switch {
	case inText, len(text) > 0 && !comment, to == len(w.t.src):
		return true
	case comment && l <= 2: // may name the interpreter or the encoding
		return true
	}
	return w.continued(from)
}

// bounds are the bytes of a line, with what ends it.
func (w *lineTrade) bounds(l int) (from, to int) {
	if l < len(w.lines) {
		return w.lines[l-1], w.lines[l]
	}
	return w.lines[l-1], len(w.t.src)
}

func (w *lineTrade) lineEnd(at int) int {
	_, to := w.bounds(w.lines.line(at))
	return len(bytes.TrimRight(w.t.src[:to], "\r\n"))
}

// continued tells whether the line of a byte goes on from the one before.
func (w *lineTrade) continued(at int) bool {
	from, _ := w.bounds(w.lines.line(at))
	return bytes.HasSuffix(bytes.TrimRight(w.t.src[:from], "\r\n"), []byte(`\`))
}

// indent is what stands before a byte on its line, up to the first word; alone
// says that nothing else does.
func (w *lineTrade) indent(at int) (indent string, alone bool) {
	from, _ := w.bounds(w.lines.line(at))
	text := w.t.src[from:at]
	rest := bytes.TrimLeft(text, " \t\f\ufeff")
	return string(bytes.TrimPrefix(text[:len(text)-len(rest)], []byte("\ufeff"))), len(rest) == 0
}

// trade gives up that many lines for ones that were put in at a byte, for a
// declaration that begins at a line.
func (w *lineTrade) trade(begins, lines, at int) {
	for ; lines > 0; lines-- {
		l := w.next(begins)
		if l >= w.lines.line(at) { // none within the head
			if l = begins - 1; l < 1 || w.next(l) != l {
				l = w.next(w.lines.line(at))
			}
		}
		if l > len(w.lines) {
			return
		}
		if l == begins-1 {
			begins--
		}
		from, to := w.bounds(l)
		w.taken = append(w.taken, edit{at: from, end: to})
		w.free[l] = int32(l + 1)
	}
}

// next is the first line from one on that can be given up.
func (w *lineTrade) next(l int) int {
	end := l
	for int(w.free[end]) != end {
		end = int(w.free[end])
	}
	for int(w.free[l]) != end && l != end {
		l, w.free[l] = int(w.free[l]), int32(end)
	}
	return end
}
