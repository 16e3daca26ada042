package verify

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agency/internal/code"
)

// rustOrigins are the ways by which code of Rust can look at who runs it.
var rustOrigins = map[string]origin{
	"std::thread::current":                     {grade: gradeStrong, silent: []string{"id", "unpark"}},
	"std::backtrace::Backtrace::capture":       {grade: gradeStrong},
	"std::backtrace::Backtrace::force_capture": {grade: gradeStrong},
	"std::panic::Location::caller":             {grade: gradeStrong},
	"std::env::current_exe":                    {grade: gradeStrong, own: true},
	"std::os::unix::process::parent_id":        {grade: gradeStrong},
	"std::thread::panicking":                   {grade: gradeWeak},
	"std::env::args":                           {grade: gradeArgs},
	"std::env::args_os":                        {grade: gradeArgs},
	"std::env::current_dir":                    {grade: gradeWeak},
	"debug_assertions":                         {grade: gradeWeak},
	"file!":                                    {grade: gradeStrong},
	"module_path!":                             {grade: gradeStrong},
	"line!":                                    {grade: gradeStrong, number: true},
	"column!":                                  {grade: gradeStrong, number: true},
	"std::io::stdout":                          {stream: true},
	"std::io::stderr":                          {stream: true},
	"std::io::stdin":                           {stream: true, input: true},
	"atty::is":                                 {grade: gradeStrong, stream: true},
	"std::env::vars":                           {grade: gradeWeak, loads: true},
	"std::env::vars_os":                        {grade: gradeWeak, loads: true},
	"backtrace::Backtrace::new":                {grade: gradeStrong},
	"backtrace::trace":                         {grade: gradeStrong},
}

// rustExits are functions that end the process.
var rustExits = []string{"std::process::exit", "std::process::abort", "libc::exit", "libc::_exit", "libc::abort", "libc::kill", "libc::raise", "std::intrinsics::abort", "nix::libc::_exit", "rustix::process::exit_group"}

// rustKnown tells of a path that means something here.
func rustKnown(p string) bool {
	_, ok := rustOrigins[p]
	return ok || slices.Contains(rustExits, p)
}

// rustForms are what is looked for in the texts and attributes of Rust.
type rustForms struct{ cargo, built, runner, foreign, early, plainCfg, testCfg, riskyAttr *regexp.Regexp }

var rustForm = sync.OnceValue(func() rustForms {
	return rustForms{
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

func rustTells(name string) bool {
	return slices.Contains([]string{
		"println!", "eprintln!", "print!", "eprint!", "write!", "writeln!", "format!", "panic!", "assert!", "assert_eq!", "assert_ne!", "debug_assert!",
		"debug_assert_eq!", "debug_assert_ne!", "dbg!", "trace!", "debug!", "info!", "warn!", "error!", "log!", "unreachable!", "todo!", "bail!", "anyhow!", "ensure!",
	}, last(name))
}

// rustFlows are functions of the library that give on what they are given.
var rustFlows = regexp.MustCompile(`^(?:Some|Ok|Err|format!|matches!|vec!|cfg!|String::from|std::env::(?:var|var_os)|std::path::(?:Path|PathBuf)::\w+|std::fs::(?:metadata|exists|read_to_string|read|read_dir|canonicalize|File::open)|contains|starts_with|ends_with|eq|cmp|join|concat!)$`)

var rustLore = sync.OnceValue(func() *lore {
	files := regexp.MustCompile(`^std::(?:fs::(?:metadata|exists|read_to_string|read|read_dir|canonicalize|File::open)|path::(?:Path|PathBuf)::(?:new|from))$`)
	tests := regexp.MustCompile(`(?:\.rs|Cargo\.(?:toml|lock))$|^(?:\./)?(?:target|tests|src)(?:/|$)`)
	args := regexp.MustCompile(`^(?:&?(?:mut )?(?:\[String\]|\[&str\]|str|dyn (?:std::io::)?(?:Write|Read))|Vec<String>|String|i32|u8|!|(?:std::process::)?ExitCode|impl (?:std::io::)?(?:Write|Read)|impl Iterator<Item ?= ?(?:String|OsString)>|(?:\w+::)*Result<\(\)(?:, .*)?>|&?Box<dyn .*Error.*>|(?:std::env::)?Args)$`)
	return &lore{
		origins: rustOrigins,
		members: map[string]origin{},
		asked: func(f *synFile, name, constant string) (origin, bool) {
			switch {
			case path.Base(f.path) == "build.rs":
			case name == "std::env::var" || name == "std::env::var_os":
				return origin{grade: gradeStrong}, rustForm().cargo.MatchString(constant)
			case name == "option_env!" || name == "env!":
				return origin{grade: gradeStrong}, rustForm().built.MatchString(constant)
			case files.MatchString(name):
				return origin{grade: gradeWeak}, tests.MatchString(constant) || constant == "."
			}
			return origin{}, false
		},
		askers:  regexp.MustCompile(`^(?:is_terminal|as_raw_fd|as_fd|isatty|fstat|is_term|terminal_size_of)$`),
		flows:   rustFlows.MatchString,
		tells:   rustTells,
		argType: args.MatchString,
		free:    true,
	}
})

// rustSide finds the marks of one side of the changed files of Rust.
func (j *job) rustSide(ctx context.Context, files []source, after bool, _ func(string) bool) (map[string][]aware, error) {
	out := map[string][]aware{}
	var product []*synFile
	for _, f := range files {
		src := f.before
		if after {
			src = f.after
		}
		if src == nil {
			continue
		}
		root, fault, err := j.syntaxOf(ctx, f.path, src)
		if err != nil {
			return nil, err
		}
		if out[f.path] = fault; !root.OK() {
			continue
		}
		spans, err := j.v.o.Syntax.TestSpans(ctx, f.path, src)
		if err != nil {
			return nil, err
		}
		inTests := func(n code.Node) bool {
			return f.test || slices.ContainsFunc(spans, func(s code.Span) bool { return s.Start <= n.Start() && n.End() <= s.End })
		}
		whole := readRust(f.path, src, root, func(code.Node) bool { return false })
		out[f.path] = slices.Concat(out[f.path], common(whole), rustHooks(whole), rustAttributes(f, root, inTests), rustForeign(root))
		p := readRust(f.path, src, root, inTests)
		if f.test {
			p = whole
		}
		out[f.path] = append(out[f.path], p.marks...)
		product = append(product, p)
	}
	k := newKnower(rustLore(), product)
	for i, f := range product {
		out[f.path] = append(out[f.path], k.rustEnds(f)...)
		if !isTestFile(product[i].path) {
			out[f.path] = append(out[f.path], k.marks(f)...)
			out[f.path] = append(out[f.path], rustAsks(f)...)
		}
	}
	return out, nil
}

// rustEnds are the places where a file ends the process, but for those of a
// command line's own functions that fail.
func (k *knower) rustEnds(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		k.at = fn
		honest := map[*syn]bool{}
		fn.body.every(func(s *syn) bool {
			if s.op == opCall && s.callee() == "std::process::exit" && len(s.kids) == 2 && (fn.top || k.endsHonestly(fn, s.kids[1])) {
				honest[s.kids[0]] = true
			}
			if s.op == opName && slices.Contains(rustExits, s.text) && !honest[s] {
				out = append(out, aware{word: "ends the process (" + s.text + ")", line: s.line})
			}
			return true
		})
		fn.body.texts(func(text string, line int) {
			if rustForm().runner.MatchString(text) {
				out = append(out, aware{word: "writes or reads like the test runner", line: line})
			}
		})
		fn.body.every(func(s *syn) bool {
			if s.op == opName && s.text == "std::panic::set_hook" {
				out = append(out, aware{word: "reaches into the test runner", line: s.line})
			}
			return true
		})
	}
	return out
}

// endsHonestly tells of an exit in a function of a command line, whatever kind of
// file it is in, with a code that is not zero for sure.
func (k *knower) endsHonestly(fn *synFunc, exit *syn) bool {
	was := fn.file.program
	fn.file.program = false
	defer func() { fn.file.program = was }()
	return k.commands(fn, nil) && fails(exit)
}

// rustAsks finds cfg!(test) and its like.
func rustAsks(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		fn.body.every(func(s *syn) bool {
			if s.op == opCall && s.callee() == "cfg!" && s.names(map[string]bool{"test": true, "doctest": true, "panic": true}) {
				out = append(out, aware{word: "asks whether it is tested (cfg!)", line: s.line})
			}
			return true
		})
	}
	return out
}

// rustHooks finds comparisons that do not look at what they compare.
func rustHooks(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		if fn.owner == "" || f.bare[fn.owner] || len(fn.params) != 1 {
			continue
		}
		switch trait := last(fn.hook); {
		case trait == "PartialEq" && (fn.name == "eq" || fn.name == "ne"), trait == "PartialOrd" && fn.name == "partial_cmp", trait == "Ord" && fn.name == "cmp":
		default:
			continue
		}
		c := comparing{fn: fn, self: "self", other: fn.params[0].name, both: true}
		if c.hollowEqual() {
			out = append(out, aware{word: fn.owner + "." + fn.name + " gives the same whatever it is compared with", line: fn.line})
		}
	}
	return out
}

// rustForeign finds functions of C that end the process, and code of the
// machine.
func rustForeign(root code.Node) (out []aware) {
	for n := range root.All() {
		switch n.Kind() {
		case "function_signature_item":
			if !n.Parent().Parent().Is("foreign_mod_item") {
				continue
			}
			names := []string{n.Field("name").Text()}
			for _, a := range n.Attributes() {
				if strings.Contains(a.Text(), "link_name") {
					names = append(names, unquoted(a.Text()[strings.IndexByte(a.Text(), '"')+1:strings.LastIndexByte(a.Text(), '"')]))
				}
			}
			for _, name := range names {
				if rustForm().foreign.MatchString(name) {
					out = append(out, aware{word: "takes in " + name + " of C", line: n.Line()})
				}
			}
		case "macro_invocation":
			if slices.Contains([]string{"asm", "global_asm", "naked_asm"}, last(n.Field("macro").Text())) {
				out = append(out, aware{word: "runs code of the machine", line: n.Line()})
			}
		}
	}
	return out
}

// rustAttributes finds what is compiled otherwise for tests: a statement, one of
// two items of a name, another file for a module. An item for tests alone is
// one of them.
func rustAttributes(f source, root code.Node, inTests func(code.Node) bool) (out []aware) {
	form := rustForm()
	say := func(n code.Node, word string) { out = append(out, aware{word: word, line: n.Line()}) }
	for n := range root.All() {
		if !n.Is("attribute_item", "inner_attribute_item") {
			continue
		}
		text := n.Text()
		name := n.Child("attribute").Parts()
		if form.early.MatchString(text) {
			say(n, "runs before main, or is found by its name")
		}
		if len(name) == 0 || f.test || !form.testCfg.MatchString(text) {
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
			case item.Is("macro_invocation", "expression_statement") && rustOnlyTells(item) && !strings.Contains(own, "test"):
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

// rustOnlyTells tells of a statement that prints or asserts.
func rustOnlyTells(n code.Node) bool {
	for c := range n.All() {
		if c.Is("macro_invocation") {
			return rustTells(c.Field("macro").Text() + "!")
		}
	}
	return false
}
