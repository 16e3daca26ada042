package code

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rustFunctions are functions with a body, also of traits; a closure belongs to
// the function around it, and what stands in a macro is not seen.
func rustFunctions(t *tree) []found {
	l := lister{t: t, lines: linesOf(t.src)}
	for n := range t.root().all(nil) {
		body := n.field("body")
		if !n.is("function_item") || !body.ok() {
			continue
		}
		f := found{node: n, body: body}
		f.Name = pathTo(n, n.field("name").text(), rustName)
		start := n.start()
		for _, a := range attributes(n) {
			start = min(start, a.start())
			f.Test = f.Test || rustTestMark.MatchString(a.text())
		}
		l.add(f, start, body.start()+1, body.end()-1)
	}
	return l.out
}

// rustName is what an item adds to the name of a function in it.
func rustName(n node) string {
	switch n.kind() {
	case "function_item", "trait_item", "mod_item":
		return n.field("name").text()
	case "impl_item":
		t := n.field("type")
		for t.is("generic_type", "reference_type") {
			t = t.field("type")
		}
		s := t.text()
		return s[strings.LastIndexByte(s, ':')+1:]
	}
	return ""
}

// attributes are those before an item, the nearest first.
func attributes(item node) (out []node) {
	nodes := item.t.nodes
	for i := item.i - 1; i > item.rec().parent; {
		// Step over what is within the sibling before.
		for nodes[i].parent != item.rec().parent {
			i = nodes[i].parent
		}
		switch n := (node{item.t, i}); {
		case n.is("attribute_item"):
			out = append(out, n)
		case !n.isComment():
			return out
		}
		i--
	}
	return out
}

var (
	rustTestMark = regexp.MustCompile(`^#\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b`)
	rustTestOnly = regexp.MustCompile(`^#!?\[\s*cfg\s*\(\s*(?:test\s*\)|all\s*\((?:[^()]*,)?\s*test\s*[,)])`)
	rustItems    = []string{
		"mod_item", "function_item", "use_declaration", "struct_item", "enum_item", "union_item", "impl_item", "trait_item",
		"const_item", "static_item", "type_item", "macro_definition", "macro_invocation", "extern_crate_declaration", "foreign_mod_item",
	}
)

// rustTests are the items that are compiled for tests alone, with what belongs
// to them before; a file that is so as a whole is one.
func rustTests(t *tree) (all, top []Span) {
	done := 0
	for n := range t.root().all(nil) {
		if n.is("inner_attribute_item") && n.parent() == t.root() && rustTestOnly.MatchString(n.text()) {
			whole := []Span{{0, len(t.src)}}
			return whole, whole
		}
		if n.start() < done || !n.is(rustItems...) {
			continue
		}
		marks := attributes(n)
		if !slices.ContainsFunc(marks, func(a node) bool {
			return rustTestOnly.MatchString(a.text()) || rustTestMark.MatchString(a.text())
		}) {
			continue
		}
		s := Span{marks[len(marks)-1].start(), n.end()}
		if next := n.rec().next; n.is("macro_invocation") && int(next) < len(t.nodes) && (node{t, next}).text() == ";" {
			s.End = node{t, next}.end()
		}
		all, done = append(all, s), s.End
		if n.parent() == t.root() {
			top = append(top, s)
		}
	}
	return all, top
}

// rustSwitches puts a block behind the brace, which keeps what it decided in a
// static of its own: it needs nothing of the module that it stands in. Functions
// that are evaluated by the compiler or called by another language are skipped.
func rustSwitches(t *tree, asked []request, n switchNames) (edits []edit, skipped []Skipped) {
	bare := false
	taken := map[string]bool{} // names of std that mean something else here
	for x := range t.root().all(nil) {
		switch {
		case x.is("inner_attribute_item"):
			bare = bare || strings.Contains(x.text(), "no_std")
		case x.is("struct_item", "enum_item", "type_item", "union_item"):
			taken[x.field("name").text()] = true
		case x.is("use_declaration"):
			for leaf := range x.all(nil) {
				if leaf.is("identifier", "type_identifier") {
					taken[leaf.text()] = true
				}
			}
		}
	}
	hidden, _ := rustTests(t)
	for _, r := range asked {
		if why := rustUnfit(r.node, bare, hidden); why != "" {
			skipped = append(skipped, Skipped{r.id, why})
			continue
		}
		zero, other := rustValues(r.node.field("return_type"), taken)
		at := rustInside(r.body)
		edits = append(edits, edit{at: at, end: at, text: rustSwitch(r.id, zero, other, rustThere(r.node.field("return_type"), taken, zero), n)})
	}
	return edits, skipped
}

func rustUnfit(fn node, bare bool, hidden []Span) string {
	mods := fn.child("function_modifiers").text()
	next, _ := slices.BinarySearchFunc(hidden, fn.start(), func(s Span, at int) int { return s.Start - at })
	switch {
	case bare:
		return "a file without std"
	case next > 0 && fn.start() < hidden[next-1].End, next < len(hidden) && hidden[next].Start == fn.start():
		return "for tests alone"
	case slices.Contains(strings.Fields(mods), "const"):
		return "a const fn"
	case strings.Contains(mods, "extern"):
		return "an extern fn"
	}
	return ""
}

// rustInside is where a block's statements may begin: behind the brace, or
// behind what must come first.
func rustInside(body node) int {
	at, first := body.start()+1, false
	for c := range body.children() {
		switch {
		case c.is("inner_attribute_item"), c.isComment() && strings.HasPrefix(c.text(), "//!"), c.isComment() && strings.HasPrefix(c.text(), "/*!"):
			first = true
		case c.start() > body.start() && !c.isComment():
			if first {
				at = c.start()
			}
			return at
		}
	}
	return at
}

// rustValues are zero and other by the result's type; "" where none is known.
func rustValues(t node, taken map[string]bool) (zero, other string) {
	if !t.ok() || t.text() == "()" {
		return "()", "()"
	}
	switch t.kind() {
	case "primitive_type":
		switch s := t.text(); s {
		case "bool":
			return "false", "true"
		case "char":
			return `'\0'`, "'t'"
		case "str":
			return "", ""
		case "f32", "f64":
			return "0.0", "1.0"
		}
		return "0", "1"
	case "reference_type":
		if t.field("type").text() == "str" && !t.child("mutable_specifier").ok() {
			return `""`, `"taken out"`
		}
	case "type_identifier":
		if t.text() == "String" && !taken["String"] {
			return "::std::string::String::new()", `::std::string::String::from("taken out")`
		}
	case "generic_type":
		name := t.field("type").text()
		args := t.field("type_arguments").parts()
		if taken[name] || len(args) != 1 {
			return "", ""
		}
		_, inner := rustValues(args[0], taken)
		return rustGeneric(name, inner)
	}
	return "", ""
}

// rustThere is a value that is there where the type says that it may be missing;
// else zero.
func rustThere(t node, taken map[string]bool, zero string) string {
	name := t.field("type").text()
	args := t.field("type_arguments").parts()
	form := map[string]string{"Option": "::std::option::Option::Some(%s)", "Result": "::std::result::Result::Ok(%s)"}[name[strings.LastIndexByte(name, ':')+1:]]
	if !t.is("generic_type") || form == "" || taken[name] || len(args) == 0 {
		return zero
	}
	if _, inner := rustValues(args[0], taken); inner != "" {
		return fmt.Sprintf(form, inner)
	}
	return ""
}

func rustGeneric(name, inner string) (zero, other string) {
	form := ""
	switch name {
	case "Option":
		zero, form = "::std::option::Option::None", "::std::option::Option::Some(%s)"
	case "Vec":
		zero, form = "::std::vec::Vec::new()", "::std::vec![%s]"
	default:
		return "", ""
	}
	if inner == "" {
		return zero, ""
	}
	return zero, fmt.Sprintf(form, inner)
}

// rustSwitch is the block. 9 stands for a variable that was not read yet.
func rustSwitch(id, zero, other, there string, n switchNames) string {
	panics := `::std::panic!("taken out")`
	arm := func(value string) string {
		if value == "" {
			return panics
		}
		return "return " + value
	}
	text := ` { static CUT: ::std::sync::atomic::AtomicU8 = ::std::sync::atomic::AtomicU8::new(9);` +
		` let mut cut = CUT.load(::std::sync::atomic::Ordering::Relaxed);` +
		` if cut == 9 { let all = ::std::env::var("ENV").unwrap_or_default();` +
		` cut = match &all[..] { "zero:ID" | "zero:*" => 1, "other:ID" | "other:*" => 2, "panic:ID" | "panic:*" => 3, "there:ID" | "there:*" => 4, _ => 0 };` +
		` CUT.store(cut, ::std::sync::atomic::Ordering::Relaxed); }` +
		` match cut { 1 => ZERO, 2 => OTHER, 3 => PANIC, 4 => THERE, _ => {} } } `
	return strings.NewReplacer("ENV", n.env, "ID", id, "ZERO", arm(zero), "OTHER", arm(other), "THERE", arm(there), "PANIC", panics).Replace(text)
}
