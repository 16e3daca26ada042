package verify

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"agency/internal/code"
	"agency/internal/race"
)

func TestForging(t *testing.T) {
	if race.Enabled {
		t.Skip("nothing here runs beside anything else")
	}
	goSrc := func(body string) string {
		return "package p\n\nimport (\n\t\"os\"\n\t\"syscall\"\n\t\"testing\"\n)\n\n" + body
	}
	syntax := code.New(code.Options{})
	t.Cleanup(func() { _ = syntax.Close() })
	for name, tt := range map[string]struct{ path, before, after, want string }{
		"honest":            {"a.go", "", goSrc("func A() int { return 1 }\n\nvar x = A()\n\nfunc init() { x++ }\n"), ""},
		"init exits":        {"cmd/main.go", "", "package main\n\nimport \"os\"\n\nfunc init() {\n\tif true {\n\t\tos.Exit(0)\n\t}\n}\n", "an initialiser ends the process"},
		"a variable exits":  {"cmd/main.go", "", "package main\n\nimport \"os\"\n\nvar _ = f()\n\nfunc f() int { g(); return 1 }\n\nfunc g() { os.Exit(0) }\n", "an initialiser ends the process"},
		"a method exits":    {"cmd/main.go", "", "package main\n\nimport \"os\"\n\ntype T struct{}\n\nfunc (T) g() int { os.Exit(0); return 1 }\n\nvar _ = T{}.g()\n", "an initialiser ends the process"},
		"a goroutine exits": {"cmd/main.go", "", "package main\n\nimport \"os\"\n\nfunc init() { go func() { os.Exit(0) }() }\n", "an initialiser ends the process"},
		"a command's table": {"cmd/main.go", "", "package main\n\nimport \"os\"\n\nvar cmd = New(&Command{Run: func() { os.Exit(1) }})\n\nfunc New(c *Command) *Command { return c }\n\ntype Command struct{ Run func() }\n", ""},
		"main exits":        {"cmd/main.go", "", "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n", ""},
		"a library exits":   {"a.go", goSrc("func A() {}\n"), goSrc("func A() { os.Exit(0) }\n"), "ends the process (os.Exit) at line 9"},
		"it did before":     {"a.go", goSrc("func A() { os.Exit(0) }\n"), goSrc("func A() { os.Exit(0) }\n\nfunc B() {}\n"), ""},
		"twice, was once":   {"a.go", goSrc("func A() { os.Exit(0) }\n"), goSrc("func A() { os.Exit(0) }\n\nfunc B() { os.Exit(0) }\n"), "ends the process (os.Exit) at line 11"},
		"asks":              {"a.go", "", goSrc("func A() bool { return testing.Testing() }\n"), "asks whether it is tested (testing.Testing) at line 9"},
		"looks at its name": {"a.go", "", goSrc("func A() bool { return strings.HasSuffix(os.Args[0], \".test\") }\n"), "looks who runs it (\".test\") at line 9"},
		"looks up a flag":   {"a.go", "", goSrc("func A() bool { return flag.Lookup(\"test.v\") != nil }\n"), "looks who runs it (\"test.v\") at line 9"},
		"prints results":    {"a.go", "", goSrc("func A() { println(\"\\x16--- PASS: TestA (0.00s)\") }\n"), "prints like a test run at line 9, writes the mark of a test's result at line 9"},
		"linkname":          {"a.go", "", "package p\n\nimport _ \"unsafe\"\n\n//go:linkname exit os.runtime_beforeExit\nfunc exit(int)\n", "reaches into other packages by linkname at line 5"},
		"a syscall":         {"a_test.go", "", goSrc("func TestA(t *testing.T) { syscall.Exit(0) }\n"), "ends or takes over the process (syscall.Exit) at line 9"},
		"cgo":               {"a.go", "", "package p\n\nimport \"C\"\n", "runs C at line 3"},
		"a test of flags":   {"a_test.go", "", goSrc("func TestA(t *testing.T) { _ = \"--- PASS\"; _ = testing.Short() }\n"), ""},

		"python: asks":       {"a.py", "", "import os\nif os.environ.get('PYTEST_CURRENT_TEST'):\n    pass\n", "reads the test runner's environment: PYTEST_CURRENT_TEST"},
		"python: modules":    {"a.py", "", "import sys\nx = 'pytest' in sys.modules\n", "looks at the loaded modules: sys.modules"},
		"python: exits":      {"a.py", "def a(): pass\n", "import os\ndef a(): os._exit(0)\n", "ends the process: os._exit"},
		"python: at import":  {"pkg/__init__.py", "", "import sys\nsys.exit(0)\n", "exits when it is imported: sys.exit"},
		"python: a function": {"a.py", "", "import sys\ndef main():\n    sys.exit(1)\n", ""},
		"python: a hook":     {"plug.py", "", "def pytest_runtest_makereport(item, call):\n    pass\n", "hooks into pytest"},
		"python: site":       {"sitecustomize.py", "", "x = 1\n", "loaded before everything else"},
		"python: a shadow":   {"pytest/__init__.py", "", "def raises(*a): pass\n", "takes the place of the test runner"},
		"python: a comment":  {"a.py", "", "# unlike os._exit this returns\n", ""},
		"python: tests":      {"tests/test_a.py", "", "import pytest, sys\ndef test_a():\n    assert 'x' in sys.modules\n", ""},

		"js: asks":      {"a.js", "", "if (process.env.NODE_TEST_CONTEXT) {}\n", "reads the test runner's environment: NODE_TEST_CONTEXT"},
		"js: exits":     {"a.ts", "", "export const f = () => { process.exit(0); };\n", "ends the process: process.exit"},
		"js: the code":  {"a.js", "", "process.on('exit', () => { process.exitCode = 0 })\nexports.a = 1\n", "decides the exit code: process.exitCode"},
		"js: NODE_ENV":  {"a.js", "", "const t = process.env.NODE_ENV === 'test'\n", "asks whether it is tested"},
		"js: an import": {"src/a.js", "", "import { mock } from 'node:test'\n", "imports the test runner: node:test"},
		"js: a test":    {"a.test.js", "", "const test = require('node:test')\nconst assert = require('assert')\n", ""},

		"rust: asks":  {"src/a.rs", "", "fn a() -> bool { cfg!(test) }\n", "asks whether it is tested (cfg!) at line 1"},
		"rust: tests": {"src/a.rs", "", "#[cfg(test)]\nmod tests {}\n", ""},
		"rust: exits": {"src/a.rs", "", "fn a() { std::process::exit(0) }\n", "ends the process (std::process::exit) at line 1"},
		"java: exits": {"src/main/java/A.java", "", "class A { void a() { System.exit(0); } }\n", "ends the process (System.exit) at line 1"},
		"java: knows": {"src/main/java/A.java", "", "class A { String s = \"org.junit.Test\"; }\n", "knows the test runner at line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := source{path: tt.path, lang: languageOf(tt.path), test: isTestFile(tt.path), after: []byte(tt.after)}
			if tt.before != "" {
				f.before = []byte(tt.before)
			}
			got, err := syntaxOnly(t).weakenings(context.Background(), []source{f}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, w := range got {
				words = append(words, w.Detail)
			}
			places := regexp.MustCompile(`, ` + regexp.QuoteMeta(tt.path) + `:\d+`)
			if s := strings.ReplaceAll(places.ReplaceAllString(strings.Join(words, "; "), ""), "; ", ", "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
	}
}

// syntaxOnly can read syntax, and nothing else.
func syntaxOnly(t *testing.T) testAwareness {
	t.Helper()
	e := code.New(code.Options{})
	t.Cleanup(func() { _ = e.Close() })
	return testAwareness{syntax: e}
}
