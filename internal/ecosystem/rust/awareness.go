package rust

import (
	"path"
	"slices"
	"sync"

	"agency/internal/awareness"
	"agency/internal/awareness/dataflow"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// awareReader reads sources of Rust for what they can know of their tests.
type awareReader struct{}

func testAwareness() ecosystem.Awareness {
	return ecosystem.Awareness{
		Read:   awareReader{}.read,
		Model:  func(dataflow.Repository) *dataflow.Model { return awareModel() },
		Handed: handedIn,
	}
}

// read reads a source into the common form, with what it shows by itself. Items for
// tests alone are left out of the form of a product's source.
func (awareReader) read(src dataflow.Source) (*dataflow.File, []awareness.Finding, error) {
	root, err := src.Tree()
	if err != nil {
		return nil, nil, err
	}
	spans, err := src.TestSpans()
	if err != nil {
		return nil, nil, err
	}
	inTests := func(n code.Node) bool {
		return src.Test || slices.ContainsFunc(spans, func(s code.Span) bool { return s.Start <= n.Start() && n.End() <= s.End })
	}
	whole := readForm(src, root, func(code.Node) bool { return false })
	found := slices.Concat(src.Mentions(whole, nil), comparisons(whole), attributes(src.Test, root, inTests), foreign(root))
	if src.Test {
		return whole, found, nil
	}
	return readForm(src, root, inTests), found, nil
}

// processOrigins are the ways by which code of Rust can look at who runs it.
var processOrigins = map[string]dataflow.Origin{
	"std::thread::current":                     {Grade: dataflow.GradeStrong, Silent: []string{"id", "unpark"}},
	"std::backtrace::Backtrace::capture":       {Grade: dataflow.GradeStrong},
	"std::backtrace::Backtrace::force_capture": {Grade: dataflow.GradeStrong},
	"std::panic::Location::caller":             {Grade: dataflow.GradeStrong},
	"std::env::current_exe":                    {Grade: dataflow.GradeStrong, Own: true},
	"std::os::unix::process::parent_id":        {Grade: dataflow.GradeStrong},
	"std::thread::panicking":                   {Grade: dataflow.GradeWeak},
	"std::env::args":                           {Grade: dataflow.GradeArgs},
	"std::env::args_os":                        {Grade: dataflow.GradeArgs},
	"std::env::current_dir":                    {Grade: dataflow.GradeWeak},
	"debug_assertions":                         {Grade: dataflow.GradeWeak},
	"file!":                                    {Grade: dataflow.GradeStrong},
	"module_path!":                             {Grade: dataflow.GradeStrong},
	"line!":                                    {Grade: dataflow.GradeStrong, Number: true},
	"column!":                                  {Grade: dataflow.GradeStrong, Number: true},
	"std::io::stdout":                          {Stream: true},
	"std::io::stderr":                          {Stream: true},
	"std::io::stdin":                           {Stream: true, Input: true},
	"atty::is":                                 {Grade: dataflow.GradeStrong, Stream: true},
	"std::env::vars":                           {Grade: dataflow.GradeWeak, Loads: true},
	"std::env::vars_os":                        {Grade: dataflow.GradeWeak, Loads: true},
	"backtrace::Backtrace::new":                {Grade: dataflow.GradeStrong},
	"backtrace::trace":                         {Grade: dataflow.GradeStrong},
}

// saying tells of macros that print, assert or log.
func saying(name string) bool {
	return slices.Contains([]string{
		"println!", "eprintln!", "print!", "eprint!", "write!", "writeln!", "format!", "panic!", "assert!", "assert_eq!", "assert_ne!", "debug_assert!",
		"debug_assert_eq!", "debug_assert_ne!", "dbg!", "trace!", "debug!", "info!", "warn!", "error!", "log!", "unreachable!", "todo!", "bail!", "anyhow!", "ensure!",
	}, dataflow.Last(name))
}

// flowCalls are functions of the library that give on what they are given.
var flowCalls = regexp.MustCompile(`^(?:Some|Ok|Err|format!|matches!|vec!|cfg!|String::from|std::env::(?:var|var_os)|std::path::(?:Path|PathBuf)::\w+|std::fs::(?:metadata|exists|read_to_string|read|read_dir|canonicalize|File::open)|contains|starts_with|ends_with|eq|cmp|join|concat!)$`)

// awareModel is what is known of Rust.
var awareModel = sync.OnceValue(func() *dataflow.Model {
	files := regexp.MustCompile(`^std::(?:fs::(?:metadata|exists|read_to_string|read|read_dir|canonicalize|File::open)|path::(?:Path|PathBuf)::(?:new|from))$`)
	tests := regexp.MustCompile(`(?:\.rs|Cargo\.(?:toml|lock))$|^(?:\./)?(?:target|tests|src)(?:/|$)`)
	args := regexp.MustCompile(`^(?:&?(?:mut )?(?:\[String\]|\[&str\]|str|dyn (?:std::io::)?(?:Write|Read))|Vec<String>|String|i32|u8|!|(?:std::process::)?ExitCode|impl (?:std::io::)?(?:Write|Read)|impl Iterator<Item ?= ?(?:String|OsString)>|(?:\w+::)*Result<\(\)(?:, .*)?>|&?Box<dyn .*Error.*>|(?:std::env::)?Args)$`)
	return &dataflow.Model{
		Origins: processOrigins,
		Members: map[string]dataflow.Origin{},
		Asked: func(f *dataflow.File, name, constant string) (dataflow.Origin, bool) {
			switch {
			case path.Base(f.Path) == "build.rs":
			case name == "std::env::var" || name == "std::env::var_os":
				return dataflow.Origin{Grade: dataflow.GradeStrong}, awareForm().cargo.MatchString(constant)
			case name == "option_env!" || name == "env!":
				return dataflow.Origin{Grade: dataflow.GradeStrong}, awareForm().built.MatchString(constant)
			case files.MatchString(name):
				return dataflow.Origin{Grade: dataflow.GradeWeak}, tests.MatchString(constant) || constant == "."
			}
			return dataflow.Origin{}, false
		},
		Askers:  regexp.MustCompile(`^(?:is_terminal|as_raw_fd|as_fd|isatty|fstat|is_term|terminal_size_of)$`),
		Flows:   flowCalls.MatchString,
		Ends:    awareReader{}.ends,
		Tells:   saying,
		ArgType: args.MatchString,
		Free:    true,
	}
})

// handedIn are the ways by which a test can hand something to code beside its
// arguments.
var handedIn = sync.OnceValue(func() ecosystem.Handed {
	re := regexp.MustCompile
	variables := re(`(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?static\s+(?:mut\s+)?(\w+)`)
	return ecosystem.Handed{
		Environment: re(`\benv::var(?:_os)?\(\s*"([^"]+)`),
		Variables:   func(src []byte) []string { return ecosystem.NamesIn(variables, src) },
		Channels: []ecosystem.Channel{
			{Reads: re(`temp_dir\(\)[^\n]*?"([^"]+)"`), Sets: re(`"([^"]+)"`)},
		},
	}
})
