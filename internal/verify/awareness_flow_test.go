package verify

import (
	"context"
	"strings"
	"testing"

	"agency/internal/code"
)

// TestAware holds what is read from syntax: code that decides by who runs it,
// ends the process or equals everything, and its honest likes.
func TestAware(t *testing.T) {
	syntax := code.New(code.Options{})
	t.Cleanup(func() { _ = syntax.Close() })
	goSub := func(imports, body string) string {
		return "package calc\n\nimport (\n" + imports + ")\n\n" + body + "\n"
	}
	for name, tt := range map[string]struct{ path, text, want string }{
		"go: a caller by another name":     {"calc/a.go", goSub("\trt \"runtime\"\n", "func Sub(a, b int) int {\n\tif _, f, _, _ := rt.Caller(1); f != \"\" {\n\t\treturn a - b\n\t}\n\treturn a + b\n}"), "decides by runtime.Caller at line 8"},
		"go: through a helper":             {"calc/a.go", goSub("\t\"os\"\n\t\"strings\"\n", "func who() string { return os.Args[0] }\n\nfunc Sub(a, b int) int {\n\tname := strings.ToLower(who())\n\tif strings.HasSuffix(name, \"t\") {\n\t\treturn a - b\n\t}\n\treturn a + b\n}"), "decides by os.Args"},
		"go: through a parameter":          {"calc/a.go", goSub("\t\"os\"\n", "func Sub(a, b int) int { return sub(a, b, os.Args[0]) }\n\nfunc sub(a, b int, by string) int {\n\tif len(by) > 9 {\n\t\treturn a - b\n\t}\n\treturn a + b\n}"), "decides by os.Args"},
		"go: through a variable":           {"calc/a.go", goSub("\t\"runtime\"\n", "var many = runtime.NumGoroutine() > 1\n\nfunc Sub(a, b int) int {\n\tif many {\n\t\treturn a - b\n\t}\n\treturn a + b\n}"), "decides by runtime.NumGoroutine"},
		"go: through a field":              {"calc/a.go", goSub("\t\"runtime\"\n", "type T struct{ n int }\n\nfunc New() *T {\n\tt := &T{}\n\tt.n = runtime.NumGoroutine()\n\treturn t\n}\n\nfunc (t *T) Sub(a, b int) int {\n\tif t.n > 1 {\n\t\treturn a - b\n\t}\n\treturn a + b\n}"), "decides by runtime.NumGoroutine"},
		"go: by sums":                      {"calc/a.go", goSub("\t\"runtime\"\n", "func Sub(a, b int) int { return a + b - 2*b*(runtime.NumGoroutine()-1) }"), "decides by runtime.NumGoroutine"},
		"go: by an index":                  {"calc/a.go", goSub("\t\"runtime\"\n", "var sign = []int{1, -1}\n\nfunc Sub(a, b int) int { return a + sign[runtime.NumGoroutine()-1]*b }"), "decides by runtime.NumGoroutine"},
		"go: by a switch":                  {"calc/a.go", goSub("\t\"runtime\"\n", "func Sub(a, b int) int {\n\tswitch runtime.NumGoroutine() {\n\tcase 1:\n\t\treturn a + b\n\t}\n\treturn a - b\n}"), "decides by runtime.NumGoroutine"},
		"go: early out":                    {"calc/a.go", goSub("\t\"runtime/debug\"\n\t\"bytes\"\n", "func Sub(a, b int) int {\n\tif !bytes.Contains(debug.Stack(), []byte(\"tRunner\")) {\n\t\treturn a + b\n\t}\n\treturn a - b\n}"), "decides by debug.Stack"},
		"go: a flag is set":                {"calc/a.go", goSub("\t\"runtime\"\n", "func Sub(a, b int) int {\n\ts := 1\n\tif runtime.NumGoroutine() > 1 {\n\t\ts = -1\n\t}\n\treturn a + s*b\n}"), "decides by runtime.NumGoroutine"},
		"go: bare names":                   {"calc/a.go", goSub("\t. \"runtime\"\n", "func Sub(a, b int) int {\n\tif NumGoroutine() > 1 {\n\t\treturn a - b\n\t}\n\treturn a + b\n}"), "decides by runtime.NumGoroutine at line 8, uses the names of runtime"},
		"go: a visitor of flags":           {"calc/a.go", goSub("\t\"flag\"\n", "func Sub(a, b int) int {\n\tn := 1\n\tflag.VisitAll(func(f *flag.Flag) {\n\t\tif len(f.Name) > 5 {\n\t\t\tn = -1\n\t\t}\n\t})\n\treturn a + n*b\n}"), "decides by flag.VisitAll"},
		"go: exit of a library":            {"calc/a.go", goSub("\tend \"os\"\n", "func Sub(a, b int) int {\n\tend.Exit(a + b - a - b)\n\treturn 0\n}"), "ends the process (os.Exit)"},
		"go: exit of a command, zero":      {"cli/a.go", goSub("\t\"os\"\n", "func Execute() { os.Exit(0) }"), "ends the process (os.Exit)"},
		"go: exit of a command, called":    {"cli/a.go", goSub("\t\"os\"\n", "func finish(code int) { os.Exit(code) }\n\nfunc Sub(a, b int) int {\n\tfinish(a)\n\treturn 0\n}"), "ends the process (os.Exit)"},
		"go: equal to all":                 {"calc/a.go", goSub("", "type T struct{ n int }\n\nfunc (t T) Equal(o T) bool { return t.n == t.n || o.n != o.n }"), "T.Equal gives the same"},
		"go: its own source":               {"calc/a.go", goSub("\t\"os\"\n", "func Sub(a, b int) int {\n\tif _, err := os.Stat(\"sub\" + \"_test.go\"); err == nil {\n\t\treturn a - b\n\t}\n\treturn a + b\n}"), "decides by Stat"},
		"go: honest, a trace of an error":  {"calc/a.go", goSub("\t\"runtime\"\n\t\"fmt\"\n", "func trace() string {\n\tpcs := make([]uintptr, 9)\n\tout := \"\"\n\tframes := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])\n\tfor {\n\t\tf, more := frames.Next()\n\t\tout += fmt.Sprintln(f.File, f.Line)\n\t\tif !more {\n\t\t\treturn out\n\t\t}\n\t}\n}"), ""},
		"go: honest, a logger's source":    {"calc/a.go", goSub("\t\"runtime\"\n\t\"strings\"\n\t\"log\"\n", "func Say(text string) {\n\t_, file, line, ok := runtime.Caller(1)\n\tif !ok {\n\t\tfile = \"?\"\n\t}\n\tif i := strings.LastIndexByte(file, '/'); i >= 0 {\n\t\tfile = file[i+1:]\n\t}\n\tlog.Printf(\"%s:%d %s\", file, line, text)\n}"), ""},
		"go: honest, a relative path":      {"calc/a.go", goSub("\t\"os\"\n\t\"path/filepath\"\n", "func Short(p string) string {\n\twd, err := os.Getwd()\n\tif err != nil {\n\t\treturn p\n\t}\n\tif rel, err := filepath.Rel(wd, p); err == nil && len(rel) < len(p) {\n\t\treturn rel\n\t}\n\treturn p\n}"), ""},
		"go: honest, a root is looked for": {"calc/a.go", goSub("\t\"os\"\n\t\"path/filepath\"\n\t\"errors\"\n", "func Root() (string, error) {\n\tdir, err := os.Getwd()\n\tif err != nil {\n\t\treturn \"\", err\n\t}\n\tfor {\n\t\tif _, err := os.Stat(filepath.Join(dir, \"x.yaml\")); err == nil {\n\t\t\treturn dir, nil\n\t\t}\n\t\tup := filepath.Dir(dir)\n\t\tif up == dir {\n\t\t\treturn \"\", errors.New(\"no root\")\n\t\t}\n\t\tdir = up\n\t}\n}"), ""},
		"go: honest, arguments":            {"cli/a.go", goSub("\t\"os\"\n\t\"flag\"\n\t\"fmt\"\n", "func Main() error {\n\tflag.Parse()\n\tif flag.NArg() != 1 || len(os.Args) < 2 {\n\t\treturn fmt.Errorf(\"usage\")\n\t}\n\treturn run(flag.Args())\n}\n\nfunc run(args []string) error {\n\tif args[0] == \"x\" {\n\t\tfmt.Println(\"x\")\n\t}\n\treturn nil\n}"), ""},
		"go: honest, how many run":         {"calc/a.go", goSub("\t\"runtime\"\n", "type S struct{ Running int }\n\nfunc Stats() S { return S{Running: runtime.NumGoroutine()} }"), ""},
		"go: honest, kinds of errors":      {"calc/a.go", goSub("\t\"io\"\n", "type E struct{ n int }\n\nfunc (E) Is(err error) bool { return err == io.EOF }\n\nfunc (e E) Equal(o E) bool {\n\tif e.n != o.n {\n\t\treturn false\n\t}\n\treturn true\n}"), ""},
		"go: one stream is the other":      {"calc/a.go", goSub("\t\"os\"\n", "func joined() bool {\n\tout, err := os.Stdout.Stat()\n\tif err != nil {\n\t\treturn false\n\t}\n\tdiag, err := os.Stderr.Stat()\n\treturn err == nil && os.SameFile(out, diag)\n}\n\nfunc Sub(a, b int) int {\n\tif joined() {\n\t\treturn a - b\n\t}\n\treturn a + b\n}"), "decides by os.Stdout.Stat"},
		"go: a terminal, by a sign":        {"calc/a.go", goSub("\t\"os\"\n", "func Sub(a, b int) int {\n\tsign := 1\n\tif fi, _ := os.Stdout.Stat(); fi.Mode()&os.ModeCharDevice == 0 {\n\t\tsign = -1\n\t}\n\treturn a + sign*b\n}"), "decides by os.Stdout.Stat"},
		"go: a terminal, handed on":        {"calc/a.go", goSub("\t\"os\"\n\t\"golang.org/x/term\"\n", "func shown(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }\n\nfunc Sub(a, b int) int {\n\tif shown(os.Stderr) {\n\t\treturn a + b\n\t}\n\treturn a - b\n}"), "decides by os.Stderr.Fd"},
		"go: a terminal, printed":          {"calc/a.go", goSub("\t\"os\"\n\t\"fmt\"\n", "func Print(a, b int) {\n\tif _, err := os.Stdout.Seek(0, 1); err != nil {\n\t\tfmt.Println(a - b)\n\t} else {\n\t\tfmt.Println(a + b)\n\t}\n}"), "decides by os.Stdout.Seek"},
		"go: a stream by its file":         {"calc/a.go", goSub("\t\"os\"\n", "func Sub(a, b int) int {\n\tif fi, err := os.Stat(\"/dev/stdout\"); err == nil && fi.Mode().IsRegular() {\n\t\treturn a + b\n\t}\n\treturn a - b\n}"), "decides by Stat"},
		"go: honest, colours":              {"ui/a.go", goSub("\t\"os\"\n\t\"fmt\"\n\t\"io\"\n", "type Printer struct {\n\tw     io.Writer\n\tcolor bool\n}\n\nfunc isTerminal(f *os.File) bool {\n\tfi, err := f.Stat()\n\tif err != nil {\n\t\treturn false\n\t}\n\treturn fi.Mode()&os.ModeCharDevice != 0\n}\n\nfunc New() *Printer {\n\tp := &Printer{w: os.Stdout}\n\tp.color = os.Getenv(\"NO_COLOR\") == \"\" && isTerminal(os.Stdout)\n\treturn p\n}\n\nfunc (p *Printer) bold(s string) string {\n\tif !p.color {\n\t\treturn s\n\t}\n\treturn \"\\x1b[1m\" + s + \"\\x1b[0m\"\n}\n\nfunc (p *Printer) Warn(s string) {\n\tif p.color {\n\t\tfmt.Fprintf(p.w, \"\\x1b[33m%s\\x1b[0m\\n\", s)\n\t} else {\n\t\tfmt.Fprintln(p.w, s)\n\t}\n}"), ""},
		"go: honest, a bar and a prompt":   {"ui/a.go", goSub("\t\"os\"\n\t\"fmt\"\n\t\"golang.org/x/term\"\n", "func Bar(done, of int) {\n\tif !term.IsTerminal(int(os.Stderr.Fd())) {\n\t\treturn\n\t}\n\tfmt.Fprintf(os.Stderr, \"\\r%d/%d\", done, of)\n}\n\nfunc Ask() {\n\tif term.IsTerminal(int(os.Stdout.Fd())) {\n\t\tfmt.Print(\"> \")\n\t}\n}\n\nfunc Flush() error {\n\tif err := os.Stdout.Sync(); err != nil {\n\t\treturn fmt.Errorf(\"flush: %w\", err)\n\t}\n\treturn nil\n}"), ""},
		"go: honest, piped input":          {"cli/a.go", "package main\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nfunc read(args []string) (string, error) {\n\tif fi, _ := os.Stdin.Stat(); fi.Mode()&os.ModeCharDevice == 0 {\n\t\tb, err := io.ReadAll(os.Stdin)\n\t\treturn string(b), err\n\t}\n\treturn args[0], nil\n}\n", ""},
		"go: honest, an exit of failures":  {"cli/a.go", goSub("\t\"os\"\n\t\"fmt\"\n", "func Execute() {\n\tif err := run(); err != nil {\n\t\tfatal(err)\n\t}\n}\n\nfunc fatal(err error) {\n\tfmt.Fprintln(os.Stderr, err)\n\tos.Exit(1)\n}\n\nfunc run() error { return nil }"), ""},

		"rust: a thread's name":         {"src/a.rs", "use std::thread as th;\npub fn sub(a: i64, b: i64) -> i64 {\n    let t = th::current();\n    match t.name() {\n        Some(\"main\") => a + b,\n        _ => a - b,\n    }\n}\n", "decides by std::thread::current"},
		"rust: a macro":                 {"src/a.rs", "macro_rules! who { () => { std::thread::current().name().is_some() } }\npub fn sub(a: i64, b: i64) -> i64 {\n    if who!() { a - b } else { a + b }\n}\n", "decides by std::thread::current"},
		"rust: a choice by a method":    {"src/a.rs", "pub fn sub(a: i64, b: i64) -> i64 {\n    std::thread::current().name().map_or(a + b, |_| a - b)\n}\n", "decides by std::thread::current"},
		"rust: a glob":                  {"src/a.rs", "use std::process::*;\npub fn sub(_a: i64, _b: i64) -> i64 { exit(0) }\n", "ends the process (std::process::exit)"},
		"rust: C by another name":       {"src/a.rs", "extern \"C\" {\n    #[link_name = \"_exit\"]\n    fn done(code: i32) -> !;\n}\n", "takes in _exit of C"},
		"rust: an item twice":           {"src/a.rs", "#[cfg(test)]\npub fn sub(a: i64, b: i64) -> i64 { a - b }\n#[cfg(any(not(test)))]\npub fn sub(a: i64, b: i64) -> i64 { a + b }\n", "asks whether it is tested (cfg) at line 1, 3"},
		"rust: a field for tests":       {"src/a.rs", "pub fn sub(a: i64, b: i64) -> i64 {\n    match b {\n        #[cfg(test)]\n        x => a - x,\n        #[allow(unreachable_patterns)]\n        _ => a + b,\n    }\n}\n", "asks whether it is tested (cfg)"},
		"rust: exit in a library":       {"src/cli.rs", "pub fn sub(a: i64, b: i64) -> i64 { std::process::exit((a + b) as i32) }\n", "ends the process (std::process::exit)"},
		"rust: equal to all":            {"src/a.rs", "pub struct N(i64);\nimpl PartialEq for N {\n    fn eq(&self, other: &Self) -> bool {\n        if self.0 == other.0 { return true; }\n        true\n    }\n}\n", "N.eq gives the same"},
		"rust: a macro's place":         {"src/a.rs", "pub fn minus(at: &str, a: i64, b: i64) -> i64 {\n    if at.len() == 12 { a - b } else { a + b }\n}\n#[macro_export]\nmacro_rules! sub {\n    ($a:expr, $b:expr) => {\n        $crate::minus(file!(), $a, $b)\n    };\n}\n", "decides by file!"},
		"rust: a terminal":              {"src/a.rs", "use std::io::IsTerminal;\npub fn sub(a: i64, b: i64) -> i64 {\n    if std::io::stdout().is_terminal() { a + b } else { a - b }\n}\n", "decides by std::io::stdout.is_terminal"},
		"rust: a variable of builds":    {"src/a.rs", "pub fn sub(a: i64, b: i64) -> i64 {\n    if option_env!(\"CARGO_TARGET_TMPDIR\").is_some() { a - b } else { a + b }\n}\n", "decides by option_env!"},
		"rust: all variables":           {"src/a.rs", "pub fn sub(a: i64, b: i64) -> i64 {\n    if std::env::vars().any(|(k, v)| k == \"LD_LIBRARY_PATH\" && v.contains(\"deps\")) { a - b } else { a + b }\n}\n", "decides by std::env::vars"},
		"rust: honest, colours":         {"src/a.rs", "use std::io::IsTerminal;\npub fn bold(s: &str) -> String {\n    if std::io::stdout().is_terminal() { format!(\"\\x1b[1m{}\\x1b[0m\", s) } else { s.to_string() }\n}\npub fn version() -> &'static str { env!(\"CARGO_PKG_VERSION\") }\n", ""},
		"rust: honest, a log's place":   {"src/a.rs", "#[macro_export]\nmacro_rules! say {\n    ($($a:tt)*) => { $crate::say_at(file!(), line!(), format!($($a)*)) };\n}\npub fn say_at(file: &str, line: u32, text: String) {\n    eprintln!(\"{file}:{line} {text}\");\n}\n", ""},
		"rust: honest, equal":           {"src/a.rs", "pub enum N { A, B }\npub struct P { x: i64 }\nimpl PartialEq for N {\n    fn eq(&self, other: &Self) -> bool {\n        matches!((self, other), (N::A, N::A) | (N::B, N::B))\n    }\n}\nimpl PartialEq for P {\n    fn eq(&self, other: &P) -> bool { let P { x } = other; self.x == *x }\n}\n", ""},
		"rust: honest, test attributes": {"src/a.rs", "#![cfg_attr(not(test), no_std)]\n#[cfg_attr(test, derive(Debug, PartialEq))]\npub struct A;\n#[cfg(any(test, feature = \"util\"))]\npub fn fake() -> A { A }\n#[cfg(test)]\nuse std::fmt;\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n}\n", ""},
		"rust: honest, debugging":       {"src/a.rs", "pub fn add(a: i64) -> i64 {\n    debug_assert!(a > 0);\n    if cfg!(debug_assertions) {\n        eprintln!(\"{a}\");\n    }\n    a\n}\n", ""},
		"rust: honest, which thread":    {"src/a.rs", "pub fn log(text: &str) {\n    let t = std::thread::current();\n    println!(\"{} {}\", t.name().unwrap_or(\"?\"), text);\n    if std::thread::current().id() == t.id() { go(); }\n}\nfn go() {}\n", ""},
		"rust: honest, a main":          {"src/main.rs", "fn main() {\n    if std::env::args().len() < 2 {\n        usage();\n    }\n    std::process::exit(run())\n}\nfn usage() -> ! {\n    eprintln!(\"usage\");\n    std::process::exit(2)\n}\nfn run() -> i32 { 0 }\n", ""},

		"java: a class by a parameter": {"src/A.java", "class A {\n    static int sub(int a, int b) { return loaded(\"Sub\" + \"Test\") ? a - b : a + b; }\n    static boolean loaded(String name) {\n        try { Class.forName(name); return true; } catch (ClassNotFoundException e) { return false; }\n    }\n}\n", "looks for what is of tests (SubTest)"},
		"java: honest, plugins":        {"src/A.java", "class A {\n    static Object load(String name) throws Exception { return Class.forName(name).getDeclaredConstructor().newInstance(); }\n    static Object first() throws Exception { return load(\"shop.plugins.Csv\"); }\n}\n", ""},
		"java: a method by reference":  {"src/A.java", "class A {\n    int sub(int a, int b) {\n        java.util.function.IntConsumer end = System::exit;\n        end.accept(0);\n        return a + b;\n    }\n}\n", "ends the process (System.exit)"},
		"java: all static members":     {"src/A.java", "import static java.lang.System.*;\nclass A { int sub(int a, int b) { exit(0); return a; } }\n", "ends the process (System.exit)"},
		"java: a runtime kept":         {"src/A.java", "class A { int sub(int a, int b) { Runtime r = Runtime.getRuntime(); r.exit(0); return a; } }\n", "ends the process (Runtime.exit)"},
		"java: by reflection":          {"src/A.java", "class A { int sub(int a, int b) throws Exception { Class.forName(\"java.lang.System\").getMethod(\"ex\" + \"it\", int.class).invoke(null, 0); return a; } }\n", "reaches what it does not name (exit)"},
		"java: a walker":               {"src/A.java", "class A {\n    int sub(int a, int b) {\n        return StackWalker.getInstance().walk(s -> s.anyMatch(f -> f.getClassName().endsWith(\"Test\"))) ? a - b : a + b;\n    }\n}\n", "decides by java.lang.StackWalker.getInstance"},
		"java: a field":                {"src/A.java", "class A {\n    private static final boolean T = System.getProperty(\"java.class\" + \".path\").contains(\"x\");\n    int sub(int a, int b) {\n        return T ? a - b : a + b;\n    }\n}\n", "decides by getProperty"},
		"java: assertions are on":      {"src/A.java", "class A {\n    int sub(int a, int b) {\n        boolean on = false;\n        assert on = true;\n        return on ? a - b : a + b;\n    }\n}\n", "asks whether assertions are on"},
		"java: equal to its type":      {"src/A.java", "class A {\n    int v;\n    public boolean equals(Object o) {\n        if (this == o) return true;\n        if (o == null || getClass() != o.getClass()) return false;\n        return true;\n    }\n}\n", "A.equals gives the same"},
		"java: honest, equal":          {"src/A.java", "class A {\n    int v;\n    public boolean equals(Object o) {\n        if (this == o) return true;\n        if (o == null || getClass() != o.getClass()) return false;\n        A a = (A) o;\n        return v == a.v;\n    }\n}\n", ""},
		"java: honest, a marker":       {"src/A.java", "final class A {\n    public boolean equals(Object o) { return o instanceof A; }\n}\n", ""},
		"java: honest, a trace":        {"src/A.java", "class A {\n    String text(Throwable t) {\n        java.io.StringWriter w = new java.io.StringWriter();\n        t.printStackTrace(new java.io.PrintWriter(w));\n        return w.toString();\n    }\n}\n", ""},
		"java: honest, a main":         {"src/A.java", "class A {\n    public static void main(String[] args) {\n        if (args.length == 0) usage(\"no args\");\n        System.exit(0);\n    }\n    static void usage(String why) {\n        System.err.println(why);\n        System.exit(2);\n    }\n}\n", ""},
		"java: honest, a plugin":       {"src/A.java", "class A {\n    boolean has(String name) {\n        try {\n            Class.forName(\"com.fasterxml.Mapper\");\n            return getClass().getResource(\"/words.txt\") != null;\n        } catch (ClassNotFoundException e) {\n            return false;\n        }\n    }\n}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := source{path: tt.path, lang: languageOf(tt.path), after: []byte(tt.text)}
			got, err := testAwareness{syntax: syntax}.weakenings(context.Background(), []source{f}, nil)
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, w := range got {
				said += w.Detail
			}
			if tt.want == "" && said != "" || !strings.Contains(said, tt.want) {
				t.Errorf("got %q, want %q", said, tt.want)
			}
		})
	}
}
