package code

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// rustFunctions are functions with a body, also of traits; a closure belongs to
// the function around it, and what stands in a macro is not seen.
func rustFunctions(t *tree) []found {
	l := lister{t: t, lines: linesOf(t.src)}
	for n := range t.root().All() {
		body := n.Field("body")
		if !n.Is("function_item") || !body.OK() {
			continue
		}
		f := found{node: n, body: body}
		f.Name = pathTo(n, n.Field("name").Text(), rustName)
		start := n.Start()
		for _, a := range n.Attributes() {
			start = min(start, a.Start())
			f.Test = f.Test || rustTestMark.MatchString(a.Text())
		}
		l.add(f, start, body.Start()+1, body.End()-1)
	}
	return l.out
}

// rustName is what an item adds to the name of a function in it.
func rustName(n Node) string {
	switch n.Kind() {
	case "function_item", "trait_item", "mod_item":
		return n.Field("name").Text()
	case "impl_item":
		t := n.Field("type")
		for t.Is("generic_type", "reference_type") {
			t = t.Field("type")
		}
		s := t.Text()
		return s[strings.LastIndexByte(s, ':')+1:]
	}
	return ""
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
	for n := range t.root().All() {
		if n.Is("inner_attribute_item") && n.Parent() == t.root() && rustTestOnly.MatchString(n.Text()) {
			whole := []Span{{0, len(t.src)}}
			return whole, whole
		}
		if n.Start() < done || !n.Is(rustItems...) {
			continue
		}
		marks := n.Attributes()
		if !slices.ContainsFunc(marks, func(a Node) bool {
			return rustTestOnly.MatchString(a.Text()) || rustTestMark.MatchString(a.Text())
		}) {
			continue
		}
		s := Span{marks[len(marks)-1].Start(), n.End()}
		if next := n.rec().next; n.Is("macro_invocation") && int(next) < len(t.nodes) && (Node{t, next}).Text() == ";" {
			s.End = Node{t, next}.End()
		}
		all, done = append(all, s), s.End
		if n.Parent() == t.root() {
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
	for x := range t.root().All() {
		switch {
		case x.Is("inner_attribute_item"):
			bare = bare || strings.Contains(x.Text(), "no_std")
		case x.Is("struct_item", "enum_item", "type_item", "union_item"):
			taken[x.Field("name").Text()] = true
		case x.Is("use_declaration"):
			for leaf := range x.All() {
				if leaf.Is("identifier", "type_identifier") {
					taken[leaf.Text()] = true
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
		zero, other := rustValues(r.node.Field("return_type"), taken)
		at := rustInside(r.body)
		edits = append(edits, edit{at: at, end: at, text: rustSwitch(r.id, zero, other, rustThere(r.node.Field("return_type"), taken, zero), n)})
	}
	return edits, skipped
}

func rustUnfit(fn Node, bare bool, hidden []Span) string {
	mods := fn.Child("function_modifiers").Text()
	next, _ := slices.BinarySearchFunc(hidden, fn.Start(), func(s Span, at int) int { return s.Start - at })
	switch {
	case bare:
		return "a file without std"
	case next > 0 && fn.Start() < hidden[next-1].End, next < len(hidden) && hidden[next].Start == fn.Start():
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
func rustInside(body Node) int {
	at, first := body.Start()+1, false
	for c := range body.children() {
		switch {
		case c.Is("inner_attribute_item"), c.isComment() && strings.HasPrefix(c.Text(), "//!"), c.isComment() && strings.HasPrefix(c.Text(), "/*!"):
			first = true
		case c.Start() > body.Start() && !c.isComment():
			if first {
				at = c.Start()
			}
			return at
		}
	}
	return at
}

// rustValues are zero and other by the result's type; "" where none is known.
func rustValues(t Node, taken map[string]bool) (zero, other string) {
	if !t.OK() || t.Text() == "()" {
		return "()", "()"
	}
	switch t.Kind() {
	case "primitive_type":
		switch s := t.Text(); s {
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
		if t.Field("type").Text() == "str" && !t.Child("mutable_specifier").OK() {
			return `""`, `"taken out"`
		}
	case "type_identifier":
		if t.Text() == "String" && !taken["String"] {
			return "::std::string::String::new()", `::std::string::String::from("taken out")`
		}
	case "generic_type":
		name := t.Field("type").Text()
		args := t.Field("type_arguments").Parts()
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
func rustThere(t Node, taken map[string]bool, zero string) string {
	name := t.Field("type").Text()
	args := t.Field("type_arguments").Parts()
	form := map[string]string{"Option": "::std::option::Option::Some(%s)", "Result": "::std::result::Result::Ok(%s)"}[name[strings.LastIndexByte(name, ':')+1:]]
	if !t.Is("generic_type") || form == "" || taken[name] || len(args) == 0 {
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
