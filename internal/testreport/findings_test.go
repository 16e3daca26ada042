package testreport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadFindings reads the outputs of compilers, linters and type checkers as
// they print them.
func TestReadFindings(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"go build":      {"# ex.com/p/b\nb/b.go:3:25: cannot use \"\" (untyped string constant) as int value in return statement\nb/b.go:9:1: undefined: x\n", "b/b.go: cannot use \"\" (untyped string constant) as int value in return statement|b/b.go: undefined: x"},
		"go vet":        {"# ex.com/p\n# [ex.com/p]\nvet: ./b.go:3:28: cannot use x\n", "b.go: cannot use x"},
		"golangci-lint": {"a.go:3:2: Error return value is not checked (errcheck)\n\tos.Remove(x)\n\t^\na.go:9:2: Error return value is not checked (errcheck)\n\tos.Remove(y)\n\t^\n2 issues:\n* errcheck: 2\n", "a.go: Error return value is not checked (errcheck) x2|# issue: x2"},
		"mypy":          {"p/a.py:3: error: Incompatible return value type  [return-value]\np/a.py:4: note: See docs\nFound 1 error in 1 file (checked 2 source files)\n", "p/a.py: error: Incompatible return value type [return-value]|p/a.py: note: See docs"},
		"flake8, ruff":  {"/repo/a.py:1:1: F401 'os' imported but unused\nb.py:2:80: E501 line too long (90 > 79 characters)\n", "a.py: F401 'os' imported but unused|b.py: E501 line too long (90 > 79 characters)"},
		"ruff in full":  {"F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n  |        ^^\n\nFound 1 error.\n", "a.py: F401 [*] `os` imported but unused"},
		"tsc":           {"src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/b.ts:1:7 - error TS6133: 'x' is declared.\n\n1 const x = 1\n        ~\n", "src/a.ts: error TS2322: Type 'string' is not assignable to type 'number'.|src/b.ts: error TS6133: 'x' is declared."},
		"eslint":        {"\n/repo/src/a.js\n  1:7   error    'x' is assigned a value but never used  no-unused-vars\n  9:1   warning  Unexpected console statement            no-console\n\n/repo/src/b.js\n  1:7   error    'x' is assigned a value but never used  no-unused-vars\n\n✖ 3 problems (2 errors, 1 warning)\n", "src/a.js: error 'x' is assigned a value but never used no-unused-vars|src/a.js: warning Unexpected console statement no-console|src/b.js: error 'x' is assigned a value but never used no-unused-vars|✖ # problem (# error, # warning) x6"},
		"rustc":         {"   Compiling x v0.1.0 (/repo)\nerror[E0308]: mismatched types\n --> src/main.rs:2:18\n  |\n2 |     let x: i32 = \"error\";\n  |                  ^^^ expected `i32`\n\nerror: could not compile `x` (bin \"x\") due to 1 previous error\n", "src/main.rs: error[E0308]: mismatched types"},
		"javac, maven":  {"A.java:3: error: ';' expected\n    int x\n         ^\n1 error\n[ERROR] /repo/src/B.java:[3,5] cannot find symbol\n[INFO] 1 error\n", "A.java: error: ';' expected|src/B.java: cannot find symbol|# error x1"},
		"compact":       {"/repo/a.js: line 1, col 7, Error - 'x' is unused (no-unused-vars)\n", "a.js: Error - 'x' is unused (no-unused-vars)"},
		"two linters":   {"a.go:3:2: bad\nb.go\ngoimports: cannot read c\nall in order\n", "a.go: bad|b.go|goimports: cannot read c"},
		"lines":         {"3 checks ran in 0.42s at 2024-05-06T07:08:09Z\nREADME lacks section 4\ntmp in /tmp/lint-xyz/out\nptr 0xc000123456\n", "# checks ran in #time at #time|README lacks section #|tmp in /tmp/#|ptr #x#"},
		"tests":         {"..F.E\nFAILED (failures=1, errors=1)\nRan 5 tests in 0.001s\nok  \tex.com/p\t0.003s\nlistening on 127.0.0.1:8080\n", "F x2|FAILED (failures=#, errors=#) x2|Ran # tests in #time|listening on #.#.#.#"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range ReadFindings(strings.NewReader(tt.text), []string{"/repo"}, false).List {
				text := f.String()
				if f.N > 1 || strings.Contains(text, "#") && f.File == "" && (strings.Contains(text, "error") || f.N > 1) {
					text += fmt.Sprintf(" x%d", f.N)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(strings.Split(tt.want, "|"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Nothing is left out of a long output without a word.
func TestFindingsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxFindings + 5 {
		fmt.Fprintf(&b, "a.go:1:1: no %d\n", i)
	}
	if got := ReadFindings(strings.NewReader(b.String()), nil, false); !got.Cut || len(got.List) != maxFindings {
		t.Errorf("%d findings, cut %v", len(got.List), got.Cut)
	}
	long := strings.Repeat("x", 2*maxFindingText)
	if got := ReadFindings(strings.NewReader("a.go:1: "+long+"1\na.go:2: "+long+"2\n"), nil, false); len(got.List) != 2 || len(got.List[0].Text) > maxFindingText {
		t.Errorf("%d findings", len(got.List))
	}
}
