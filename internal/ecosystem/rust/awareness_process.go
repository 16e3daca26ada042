package rust

import (
	"slices"
	"strings"
	"sync"

	"agency/internal/awareness"
	"agency/internal/awareness/dataflow"
	"agency/internal/code"
	"agency/internal/regexp"
)

// processEnds are functions that end the process.
var processEnds = []string{"std::process::exit", "std::process::abort", "libc::exit", "libc::_exit", "libc::abort", "libc::kill", "libc::raise", "std::intrinsics::abort", "nix::libc::_exit", "rustix::process::exit_group"}

// isKnown tells of a path that means something here.
func isKnown(p string) bool {
	_, ok := processOrigins[p]
	return ok || slices.Contains(processEnds, p)
}

// awareForms are what is looked for in the texts and attributes of Rust.
type awareForms struct{ cargo, built, runner, foreign, early, plainCfg, testCfg, riskyAttr *regexp.Regexp }

var awareForm = sync.OnceValue(func() awareForms {
	return awareForms{
		cargo: regexp.MustCompile(`^(?:CARGO(?:_.*)?|RUSTC(?:_.*)?|RUST_TEST_\w+|NEXTEST\w*|LLVM_PROFILE_FILE|PWD|OLDPWD|_)$`),
		// built are variables that cargo has while it builds tests alone.
		built:   regexp.MustCompile(`^(?:CARGO_TARGET_TMPDIR|CARGO_BIN_EXE_.*|CARGO_PRIMARY_PACKAGE|CARGO_ENCODED_RUSTFLAGS|RUSTFLAGS|RUST_TEST_\w+)$`),
		runner:  regexp.MustCompile(`\bRUST_TEST_\w+|^test result: |^test .* \.\.\. ok`),
		foreign: regexp.MustCompile(`^(?:_?exit|_Exit|quick_exit|abort|kill|raise|syscall|dlsym|longjmp|exit_group|execve?)$`),
		early:   regexp.MustCompile(`^#!?\[\s*(?:unsafe\s*\(\s*)?(?:ctor|dtor|link_section|no_mangle|export_name)\b|\.init_array`),
		// plainCfg is a condition that leaves an item to tests, and maybe to others;
		// testCfg any that asks for them.
		plainCfg:  regexp.MustCompile(`^#!?\[\s*cfg\s*\(\s*(?:test|any\s*\([^()]*\btest\b[^()]*\)|all\s*\([^()]*\btest\b[^()]*\))\s*\)\s*\]$`),
		testCfg:   regexp.MustCompile(`\b(?:test|doctest|debug_assertions)\b`),
		riskyAttr: regexp.MustCompile(`,\s*(?:path|cfg|link_name|export_name|link_section|no_mangle|global_allocator)\b`),
	}
})

// ends are the places where a file ends the process, but for those of a command
// line's own functions that fail, where it reaches into the runner, and where a
// product asks for it (cfg!(test) and its like).
func (awareReader) ends(a *dataflow.Analysis, f *dataflow.File) (out []awareness.Finding) {
	honest := map[*dataflow.Node]bool{}
	f.Every(func(fn *dataflow.Func, s *dataflow.Node) {
		say := func(word string) { out = append(out, awareness.Finding{Word: word, Line: s.Line}) }
		switch {
		case s.Op == dataflow.OpCall && s.Callee() == "std::process::exit" && len(s.Kids) == 2 && (fn.Entry || a.MayExit(fn, s.Kids[1])):
			honest[s.Kids[0]] = true
		case s.Op == dataflow.OpCall && !f.Test && s.Callee() == "cfg!" && s.Names(map[string]bool{"test": true, "doctest": true, "panic": true}):
			say("asks whether it is tested (cfg!)")
		case s.Op == dataflow.OpName && slices.Contains(processEnds, s.Text) && !honest[s]:
			say("ends the process (" + s.Text + ")")
		case s.Op == dataflow.OpName && s.Text == "std::panic::set_hook":
			say("reaches into the test runner")
		}
	})
	f.Texts(func(text string, line int) {
		if awareForm().runner.MatchString(text) {
			out = append(out, awareness.Finding{Word: "writes or reads like the test runner", Line: line})
		}
	})
	return out
}

// comparisons finds comparisons that do not look at what they compare.
func comparisons(f *dataflow.File) (out []awareness.Finding) {
	for _, fn := range f.Funcs {
		if fn.Owner == "" || len(fn.Params) != 1 {
			continue
		}
		switch trait := dataflow.Last(fn.Trait); {
		case trait == "PartialEq" && (fn.Name == "eq" || fn.Name == "ne"), trait == "PartialOrd" && fn.Name == "partial_cmp", trait == "Ord" && fn.Name == "cmp":
		default:
			continue
		}
		c := dataflow.Comparison{Func: fn, Self: "self", Other: fn.Params[0].Name, Both: true}
		out = append(out, c.Hollow(f)...)
	}
	return out
}

// foreign finds functions of C that end the process, and code of the
// machine.
func foreign(root code.Node) (out []awareness.Finding) {
	for n := range root.All() {
		switch n.Kind() {
		case "function_signature_item":
			if !n.Parent().Parent().Is("foreign_mod_item") {
				continue
			}
			names := []string{n.Field("name").Text()}
			for _, a := range n.Attributes() {
				if strings.Contains(a.Text(), "link_name") {
					names = append(names, dataflow.Unquoted(a.Text()[strings.IndexByte(a.Text(), '"')+1:strings.LastIndexByte(a.Text(), '"')]))
				}
			}
			for _, name := range names {
				if awareForm().foreign.MatchString(name) {
					out = append(out, awareness.Finding{Word: "takes in " + name + " of C", Line: n.Line()})
				}
			}
		case "macro_invocation":
			if slices.Contains([]string{"asm", "global_asm", "naked_asm"}, dataflow.Last(n.Field("macro").Text())) {
				out = append(out, awareness.Finding{Word: "runs code of the machine", Line: n.Line()})
			}
		}
	}
	return out
}

// attributes finds what is compiled otherwise for tests: a statement, one of
// two items of a name, another file for a module. An item for tests alone is
// one of them.
func attributes(test bool, root code.Node, inTests func(code.Node) bool) (out []awareness.Finding) {
	form := awareForm()
	say := func(n code.Node, word string) { out = append(out, awareness.Finding{Word: word, Line: n.Line()}) }
	for n := range root.All() {
		if !n.Is("attribute_item", "inner_attribute_item") {
			continue
		}
		text := n.Text()
		name := n.Child("attribute").Parts()
		if form.early.MatchString(text) {
			say(n, "runs before main, or is found by its name")
		}
		if len(name) == 0 || test || !form.testCfg.MatchString(text) {
			continue
		}
		item, own := attributed(n), strings.ReplaceAll(text, "\n", " ")
		switch name[0].Text() {
		case "cfg_attr":
			if form.riskyAttr.MatchString(own) {
				say(n, "is another for its tests (cfg_attr)")
			}
		case "cfg":
			switch {
			case inTests(n) && form.plainCfg.MatchString(own) && isItem(item) && !twin(root, item):
			case item.Is("macro_invocation", "expression_statement") && onlySays(item) && !strings.Contains(own, "test"):
			case form.plainCfg.MatchString(own) && isItem(item) && !twin(root, item):
			case strings.Contains(own, "debug_assertions") && !form.plainCfg.MatchString(own) && isItem(item) && !twin(root, item) && !strings.Contains(own, "test"):
			case nested(n, inTests):
			default:
				say(n, "asks whether it is tested (cfg)")
			}
		}
	}
	return out
}

// nested tells of what stands within an item for tests alone.
func nested(n code.Node, inTests func(code.Node) bool) bool {
	p := n.Parent()
	return p.OK() && p.Parent().OK() && inTests(p)
}

// attributed is what an attribute is of.
func attributed(a code.Node) code.Node {
	behind := false
	for _, c := range a.Parent().Children() {
		if behind && !c.Is("attribute_item") {
			return c
		}
		behind = behind || c.Start() == a.Start()
	}
	return code.Node{}
}

func isItem(n code.Node) bool {
	if n.Parent().Is("block") && !n.Is("use_declaration") {
		return n.Is("function_item", "macro_definition")
	}
	return n.Is("mod_item", "function_item", "use_declaration", "struct_item", "enum_item", "impl_item", "trait_item", "const_item", "static_item",
		"type_item", "macro_definition", "macro_invocation", "extern_crate_declaration")
}

// twin tells whether there is another item of that name beside it.
func twin(root, item code.Node) bool {
	name := item.Field("name").Text()
	if name == "" {
		return false
	}
	for _, c := range item.Parent().Parts() {
		if c.Start() != item.Start() && c.Kind() == item.Kind() && c.Field("name").Text() == name {
			return true
		}
	}
	for n := range root.All() { // or one that is taken in
		if n.Is("use_declaration") && n.Parent().Start() == item.Parent().Start() && n.Parent().Kind() == item.Parent().Kind() &&
			(strings.HasSuffix(strings.TrimSuffix(n.Text(), ";"), "::"+name) || strings.HasPrefix(n.Text(), "pub") && strings.HasSuffix(n.Text(), "::*;")) {
			return true
		}
	}
	return false
}

// onlySays tells of a statement that prints or asserts.
func onlySays(n code.Node) bool {
	for c := range n.All() {
		if c.Is("macro_invocation") {
			return saying(c.Field("macro").Text() + "!")
		}
	}
	return false
}
