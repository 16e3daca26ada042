package code

import (
	"fmt"
	"slices"
	"strings"
)

var scriptForms = []string{
	"function_declaration", "generator_function_declaration", "function_expression", "generator_function", "arrow_function", "method_definition",
}

// scriptFunctions are the functions of JavaScript and TypeScript, of every form.
func scriptFunctions(t *tree) []found {
	l := lister{t: t, lines: linesOf(t.src)}
	for n := range t.root().All() {
		body := n.Field("body")
		if !n.Is(scriptForms...) || !body.OK() {
			continue
		}
		f := found{node: n, body: body}
		if call := testCall(n); call.OK() {
			f.Test, f.Name = true, title(call)
		} else {
			f.Name = pathTo(n, scriptOwn(n), scriptScope)
		}
		if body.Is("statement_block") {
			l.add(f, n.Start(), body.Start()+1, body.End()-1)
		} else {
			l.add(f, n.Start(), body.Start(), body.End())
		}
	}
	return l.out
}

// scriptOwn is a function's or class's own name, or that of what it is assigned
// to.
func scriptOwn(n Node) string {
	if s := n.Field("name"); s.OK() {
		return strings.Trim(s.Text(), `"'`)
	}
	p := n.Parent()
	for p.Is("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression", "type_assertion") {
		p = p.Parent()
	}
	switch p.Kind() {
	case "variable_declarator", "public_field_definition":
		return simple(p.Field("name"))
	case "pair":
		return simple(p.Field("key"))
	case "field_definition":
		return simple(p.Field("property"))
	case "assignment_expression", "assignment_pattern":
		s := simple(p.Field("left"))
		for _, prefix := range []string{"module.exports.", "exports.", "this."} {
			s = strings.TrimPrefix(s, prefix)
		}
		return s
	case "export_statement":
		return "default"
	}
	return ""
}

// simple is the text of a name, none of a pattern or something computed.
func simple(n Node) string {
	if !n.Is("identifier", "property_identifier", "private_property_identifier", "string", "number", "member_expression") || n.End()-n.Start() > 200 {
		return ""
	}
	return strings.Trim(n.Text(), `"'`)
}

// scriptScope is what a node adds to the name of a function in it.
func scriptScope(n Node) string {
	switch n.Kind() {
	case "class_declaration", "class", "abstract_class_declaration", "object":
		return scriptOwn(n)
	case "internal_module", "module":
		return n.Field("name").Text()
	}
	if n.Is(scriptForms...) && !testCall(n).OK() {
		return scriptOwn(n)
	}
	return ""
}

// testCall is the call of it() or test() that a function is handed to.
func testCall(fn Node) Node {
	call := fn.Parent().Parent()
	if !fn.Parent().Is("arguments") || !call.Is("call_expression") {
		return Node{}
	}
	callee := call.Field("function")
	for range 4 { // it.each(...)(...), test.concurrent.only(...)
		switch callee.Kind() {
		case "call_expression":
			callee = callee.Field("function")
		case "member_expression":
			callee = callee.Field("object")
		}
	}
	if callee.Is("identifier") && slices.Contains([]string{"it", "test", "fit", "xit", "xtest", "specify"}, callee.Text()) {
		return call
	}
	return Node{}
}

// title is the text that a test is called by; none where it is computed.
func title(call Node) string {
	for a := range call.Field("arguments").children() {
		switch {
		case a.Is("string"), a.Is("template_string") && !a.Child("template_substitution").OK():
			return strings.Trim(a.Text(), "\"'`")
		case a.named() && !a.isComment():
			return ""
		}
	}
	return ""
}

// scriptSwitches puts a statement behind the brace, or behind the directives
// there, and a function at the end of the file, which is hoisted. An arrow
// without braces gets some.
//
// Zero is undefined and other 0, in TypeScript as never, which any
// type takes. A constructor that must call another class's throws for every cut,
// and in TypeScript any constructor, where fields must be set before a return;
// so does there a function whose result TypeScript can take for a type guard.
func scriptSwitches(t *tree, asked []request, n switchNames) (edits []edit, skipped []Skipped) {
	typed := slices.Contains(t.symbols, "type_annotation")
	for _, r := range asked {
		mode, zero, other := scriptCuts(r.found, typed)
		text := fmt.Sprintf(` switch (%s("%s", %d)) { case 1: return%s; case 2: return%s; } `, n.fn(), r.id, mode, zero, other)
		if mode == modePanic {
			text = fmt.Sprintf(` %s("%s", %d); `, n.fn(), r.id, mode)
		}
		if !r.body.Is("statement_block") {
			edits = append(edits, edit{at: r.BodyStart, end: r.BodyStart, text: "{" + text + "return ("})
			edits = append(edits, edit{at: r.BodyEnd, end: r.BodyEnd, text: "); }"})
			continue
		}
		at := scriptInside(r)
		if at > r.BodyStart { // a directive may lack its semicolon
			text = ";" + text
		}
		edits = append(edits, edit{at: at, end: at, text: text})
	}
	return append(edits, epilogue(t.src, scriptHelper(typed, n))), nil
}

// scriptInside is where a body's statements begin: behind directives, and
// behind super() where it comes first.
func scriptInside(r request) int {
	at := r.BodyStart
	for _, s := range r.body.Parts() {
		e := s.Child("string")
		if s.Is("expression_statement") && e.OK() {
			at = s.End()
			continue
		}
		if derived(r.node) && s.Is("expression_statement") && s.Child("call_expression").Field("function").Is("super") {
			at = s.End()
		}
		break
	}
	return at
}

func derived(fn Node) bool {
	class := fn.Parent().Parent()
	return isConstructor(fn) && class.Child("class_heritage").OK()
}

func isConstructor(fn Node) bool {
	return fn.Is("method_definition") && fn.Field("name").Text() == "constructor" && !fn.Child("static").OK() && fn.Parent().Is("class_body")
}

func scriptCuts(f found, typed bool) (mode int, zero, other string) {
	generator := f.node.Is("generator_function", "generator_function_declaration") || f.node.Child("*").OK()
	switch {
	case derived(f.node), typed && isConstructor(f.node):
		return modePanic, "", ""
	case f.node.Child("set").OK():
		return modeAll, "", ""
	case generator:
		return modeZero, "", ""
	case !typed:
		return modeAll, "", " 0"
	}
	returns, values := scriptReturns(f)
	annotated := f.node.Field("return_type").OK()
	switch {
	case !annotated && len(values) == 1 && len(returns) == 1 && mayGuard(values[0]):
		return modePanic, "", ""
	case !annotated && len(values) == 0:
		return modeAll, "", ""
	}
	return modeAll, " undefined as never", " 0 as never"
}

// scriptReturns are a function's own return statements, and what they return.
func scriptReturns(f found) (returns, values []Node) {
	if !f.body.Is("statement_block") {
		return []Node{f.body}, []Node{f.body}
	}
	for n := range f.body.all(func(n Node) bool { return n.Is(scriptForms...) || n.Is("class_body") }) {
		if n.Is("return_statement") {
			returns = append(returns, n)
			values = append(values, n.Parts()...)
		}
	}
	return returns, values
}

// mayGuard tells whether an expression can narrow a parameter's type, so that
// its function becomes a type guard, but only while it has this one return.
func mayGuard(e Node) bool {
	for e.Is("parenthesized_expression") {
		if p := e.Parts(); len(p) == 1 {
			e = p[0]
			continue
		}
		break
	}
	switch e.Kind() {
	case "binary_expression":
		return slices.Contains([]string{"===", "!==", "==", "!=", "instanceof", "in", "&&", "||"}, e.Field("operator").Text())
	case "unary_expression":
		return e.Field("operator").Text() == "!"
	case "call_expression":
		callee := e.Field("function").Text()
		return strings.HasPrefix(callee[strings.LastIndexByte(callee, '.')+1:], "is")
	}
	return false
}

// scriptHelper is what a file's switches ask. It reads the variable when the
// file is loaded, or earlier where a cycle of imports calls in.
func scriptHelper(typed bool, n switchNames) string {
	id, mode, result, global := "id", "mode", "", "globalThis"
	if typed {
		id, mode, result, global = "id: string", "mode: number", ": number", "(globalThis as any)"
	}
	text := `
function FN(SIG)RESULT {
  var own = AGENT, cut = 3;
  if (own.value === undefined) {
    own.value = ((GLOBAL.process && GLOBAL.process.env && GLOBAL.process.env.ENV) || "").replace("there:", "zero:");
  }
  if (id === "" || own.value === "") return 0;
  if (own.value === "zero:" + id || own.value === "zero:*") cut = 1;
  else if (own.value === "other:" + id || own.value === "other:*") cut = 2;
  else if (own.value !== "panic:" + id && own.value !== "panic:*") return 0;
  if (cut + mode < 3) return cut;
  throw new GLOBAL.Error("taken out");
}
FN("", 0);
`
	own := n.fn()
	if typed {
		own = "(" + n.fn() + " as any)"
	}
	return strings.NewReplacer("FN", n.fn(), "SIG", id+", "+mode, "RESULT", result, "AGENT", own, "GLOBAL", global, "ENV", n.env).Replace(text)
}
