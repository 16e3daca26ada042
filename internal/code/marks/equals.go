package marks

import (
	"regexp"
	"slices"
	"strings"

	"agency/internal/code"
)

// comparing are the methods by which two values are compared or brought
// together in Python; of these the result has to come from both.
var comparing = words(`__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __contains__ __instancecheck__ __subclasscheck__`)

// counting are those that give another value: of these it has to come from one.
var counting = words(`__sub__ __rsub__ __add__ __radd__ __mul__ __rmul__ __truediv__ __mod__ __xor__ __and__ __round__ __abs__ __float__ __int__ __index__ __bool__ __str__ __repr__ __format__`)

// scriptHooks are the methods by which JavaScript turns an object into a plain
// value.
var scriptHooks = words(`valueOf toString toJSON [Symbol.toPrimitive] [Symbol.hasInstance]`)

// hooks marks methods by which a value equals what it is compared with.
func (r *reader) hooks(n code.Node) {
	switch n.Kind() {
	case "function_definition":
		if f, ok := r.functionAt(n); ok {
			r.pythonHook(f, f.name)
			r.redefines(f)
		}
	case "pair":
		if !r.script {
			if name, ok := r.textOf(n.Field("key"), 0); ok {
				r.hookValue(name, n.Field("value"), n)
			}
			return
		}
		if f, ok := r.functionAt(n.Field("value")); ok {
			r.scriptHook(f, n.Field("key").Text())
		}
	case "method_definition":
		if f, ok := r.functionAt(n); ok {
			r.scriptHook(f, n.Field("name").Text())
		}
	case "assignment":
		if left := n.Field("left"); left.Is("attribute") {
			r.hookValue(left.Field("attribute").Text(), n.Field("right"), n)
		} else if f, ok := r.functionAt(n.Field("right")); ok {
			r.pythonHook(f, left.Text())
		}
	case "keyword_argument":
		r.hookValue(n.Field("name").Text(), n.Field("value"), n)
	case "call":
		if args := n.Field("arguments").Parts(); len(args) == 3 && slices.Contains(r.paths(n.Field("function")), "setattr") {
			name, _ := r.textOf(args[1], 0)
			r.hookValue(name, args[2], n)
		}
	case "assignment_expression":
		if f, ok := r.functionAt(n.Field("right")); ok && n.Field("left").Is("member_expression") {
			r.scriptHook(f, n.Field("left").Field("property").Text())
		}
	}
}

// functionAt is the function that a node is.
func (r *reader) functionAt(n code.Node) (function, bool) {
	i, ok := r.at[[2]int{n.Start(), n.End()}]
	if !ok || !n.OK() {
		return function{}, false
	}
	return r.functions[i], true
}

// hookValue marks what a class is given under the name of such a method, other
// than by its definition.
func (r *reader) hookValue(name string, value, at code.Node) {
	if !comparing[name] && !counting[name] {
		return
	}
	if f, ok := r.functionAt(value); ok {
		r.pythonHook(f, name)
		return
	}
	for _, f := range r.functions {
		if value.Is("identifier") && f.name == value.Text() {
			r.pythonHook(f, name)
			return
		}
	}
	if value.Is("call") {
		r.mark(at, equals, name)
	}
}

func (r *reader) pythonHook(f function, name string) {
	if !comparing[name] && !counting[name] || len(f.params) == 0 {
		return
	}
	own := map[string]bool{f.params[0]: true, "super": true}
	other := map[string]bool{}
	if len(f.params) > 1 {
		other[f.params[1]] = true
	}
	spread(f.body, own)
	spread(f.body, other)
	results, fixed, writes, meets := results(f), 0, false, false
	for _, e := range results {
		if isFixed(e) {
			fixed++
		}
	}
	for n := range f.body.All() {
		switch n.Kind() {
		case "assignment", "augmented_assignment":
			if l := n.Field("left"); l.Is("attribute", "subscript") && !strings.HasPrefix(name, "__i") && rootOf(l.Text()) == f.params[0] {
				writes = true
			}
		case "comparison_operator", "binary_operator":
			meets = meets || mentions(n, own) && mentions(n, other)
		case "call":
			fn := n.Field("function").Text()
			if fn != "isinstance" && fn != "issubclass" && fn != "type" && fn != "hasattr" {
				meets = meets || mentions(n, own) && mentions(n, other)
			}
		}
	}
	switch {
	case comparing[name] && (writes || !meets && len(results) > 0 && !refuses(results)):
		r.mark(f.node, equals, name)
	case counting[name] && name != "__str__" && name != "__repr__" && name != "__format__" && len(results) > 0 && fixed == len(results) && !refuses(results):
		r.mark(f.node, equals, name)
	case name == "__str__" || name == "__repr__":
		if writes {
			r.mark(f.node, equals, name)
		}
	}
}

// results are what a function returns.
func results(f function) (out []code.Node) {
	if !f.body.Is("block", "statement_block") {
		return []code.Node{f.body}
	}
	for n := range f.body.All() {
		if n.Is("return_statement") && owner(n).Start() == f.node.Start() {
			if p := n.Parts(); len(p) > 0 {
				out = append(out, p[0])
			}
		}
	}
	return out
}

func isFixed(e code.Node) bool {
	return constant(e) || e.Is("template_string", "parenthesized_expression") && fixedForm.MatchString(e.Text())
}

var fixedForm = regexp.MustCompile("^[(]?(?:`[^$]*`|-?[\\d.]+|True|False|true|false)[)]?$")

// refuses tells of results by which a method says that it does not compare.
func refuses(results []code.Node) bool {
	return !slices.ContainsFunc(results, func(n code.Node) bool { return n.Text() != "NotImplemented" })
}

// spread adds the names that are given something that mentions these.
func spread(body code.Node, names map[string]bool) {
	for range 3 {
		for n := range body.All() {
			if n.Is("assignment", "for_statement") && mentions(n.Field("right"), names) {
				for c := range n.Field("left").All() {
					if c.Is("identifier") && !c.Parent().Is("attribute") {
						names[c.Text()] = true
					}
				}
			}
		}
	}
}

func mentions(n code.Node, names map[string]bool) bool {
	for c := range n.All() {
		if c.Is("identifier") && names[c.Text()] {
			return true
		}
	}
	return false
}

// scriptHook marks a method by which an object becomes what it is compared with:
// one that gives something else each time, or the same whatever the object is.
func (r *reader) scriptHook(f function, name string) {
	name = strings.Trim(name, `"'`)
	if !scriptHooks[name] {
		return
	}
	if name == "[Symbol.hasInstance]" {
		if !mentionsAny(f.body, f.params) {
			r.mark(f.node, equals, name)
		}
		return
	}
	local := map[string]bool{}
	for _, p := range f.params {
		local[p] = true
	}
	changes := false
	for n := range f.body.All() {
		if n.Is("variable_declarator") {
			local[n.Field("name").Text()] = true
		}
	}
	for n := range f.body.All() {
		to := n.Field("left")
		if n.Is("update_expression") {
			to = n.Field("argument")
		}
		steps := n.Is("augmented_assignment_expression", "update_expression") || n.Is("assignment_expression") && strings.Contains(n.Field("right").Text(), to.Text()+" ")
		if steps && !local[rootOf(to.Text())] {
			changes = true
		}
	}
	all := results(f)
	same := name != "toString" && len(all) > 0 && !slices.ContainsFunc(all, func(n code.Node) bool { return !isFixed(n) })
	if changes || same {
		r.mark(f.node, equals, name)
	}
}

// redefines marks an assertion that a class of tests defines anew, or how its
// tests are run.
func (r *reader) redefines(f function) {
	if !r.o.Test || !assertName.MatchString(f.name) && !slices.Contains([]string{"run", "__call__", "debug"}, f.name) {
		return
	}
	var class code.Node
	for a := range f.node.Around() {
		if a.Is("class_definition") {
			class = a
			break
		}
	}
	if class.OK() && r.holdsTests(class, 0) {
		r.mark(f.node, asserts, f.name)
	}
}

// holdsTests tells of a class of tests, or one that a class of tests is made of.
func (r *reader) holdsTests(class code.Node, depth int) bool {
	name := class.Field("name").Text()
	if strings.Contains(name, "TestCase") || strings.HasSuffix(name, "Mixin") {
		return true
	}
	for _, b := range class.Field("superclasses").Parts() {
		if strings.Contains(b.Text(), "Test") || strings.HasSuffix(b.Text(), "Case") || strings.HasSuffix(b.Text(), "Mixin") {
			return true
		}
		for _, p := range r.paths(b) {
			if runnersOfPython[rootOf(p)] {
				return true
			}
		}
	}
	if depth > 3 {
		return false
	}
	for n := range r.root.All() {
		if !n.Is("class_definition") || n.Start() == class.Start() {
			continue
		}
		for _, b := range n.Field("superclasses").Parts() {
			if b.Text() == name && r.holdsTests(n, depth+1) {
				return true
			}
		}
	}
	return false
}
