package code

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var listings = []struct {
	name, path, src string
	want            string // name, lines, * for a test
	broken          bool
}{
	{"go", "a.go", "package a\n\nfunc (s *Stack[T]) Push(v T) {\n}\nfunc f()\nfunc g() { func() {}() }\nvar h = func() {}\n", "Stack.Push 3-4, g 6-6", false},
	{"go tests", "a_test.go", `package a
import tt "testing"
func TestA(t *tt.T) {}
func Testify(t *tt.T) {}
func TestB(t *testing.T) {}
func TestMain(m *tt.M) {}
func FuzzA(f *tt.F) {}
func ExampleA() {}
func helper() {}
func (s S) TestC(t *tt.T) {}
`, "TestA 3-3*, Testify 4-4, TestB 5-5, TestMain 6-6, FuzzA 7-7*, ExampleA 8-8*, helper 9-9, S.TestC 10-10", false},
	{"go test in no test file", "a.go", "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n", "TestA 3-3", false},
	{"go broken", "a.go", "package a\nfunc f() { 1x }\nvar = 3\nfunc g() {}\n", "g 4-4", true},
	{"go lines", "a.go", "package a\n//line b.go:100\nfunc f() {\n}\n", "f 3-4", false},
	{"go nothing", "a.go", "", "", true},
	{"python", "a.py", `class Calc:
    @property
    @other(1)
    def add(self):
        def test_no(): pass
        return lambda: 1
    async def test_it(self): ...
def test_x():
    pass
def testing(): 1
`, "Calc.add 2-6, Calc.add.test_no 5-5*, Calc.test_it 7-7*, test_x 8-9*, testing 10-10", false},
	{"python broken", "a.py", "def f(:\n    pass\n\n\ndef g():\n    pass\n", "g 5-6", true},
	{"javascript", "a.js", `const a = () => 1, b = function () {}, { c } = () => 2;
class A { #p() {} static s = () => 1; get g() { return 1 } }
const B = class { m() {} };
exports.d = async () => {}; module.exports.e = function () { function inner() {} };
const o = { k: () => 1, m() {}, 'x-y': function* () {}, n: { deep() {} } };
export default () => 3;
list.map(x => x);
`, "a 1-1, b 1-1,  1-1, A.#p 2-2, A.s 2-2, A.g 2-2, B.m 3-3, d 4-4, e 4-4, e.inner 4-4, o.k 5-5, o.m 5-5, o.x-y 5-5, o.n.deep 5-5, default 6-6,  7-7", false},
	{
		"javascript tests", "a.test.js", "describe('d', () => {\n  it('does', async () => { help(() => 1) });\n  test.each([1])(`of`, function (n) {});\n  it.only(name, () => {});\n  visit('x', () => {});\n});\n",
		" 1-6, does 2-2*,  2-2, of 3-3*,  4-4*,  5-5", false,
	},
	{
		"typescript", "a.ts", "abstract class A<T> {\n  abstract m(): void;\n  constructor(private x: number) {}\n  f = (a: T): T => a;\n}\nfunction over(a: string): void;\nfunction over(a: any) {}\nnamespace N { export const g = (() => 1) as any }\ndeclare function d(): void;\n",
		"A.constructor 3-3, A.f 4-4, over 7-7, N.g 8-8", false,
	},
	{"tsx", "a.tsx", "export const App = <T,>(p: T) => <div onClick={() => go()}>hi</div>;\n", "App 1-1,  1-1", false},
	{"rust", "a.rs", `impl<T> fmt::Display for a::Stack<T> { fn fmt(&self) -> R { || 1; x() } }
trait Named { fn name(&self) -> u8 { 1 } fn none(&self); }
/// Documented.
#[inline]
// Why.
#[must_use]
fn outer() { fn inner() {} }
mod tests { #[tokio::test] async fn works() {} #[testing] fn no() {} #[test_case(1)] fn cases() {} }
macro_rules! m { () => { fn unseen() {} } }
`, "Stack.fmt 1-1, Named.name 2-2, outer 4-7, outer.inner 7-7, tests.works 8-8*, tests.no 8-8, tests.cases 8-8*", false},
	{"java", "A.java", `class A<T> {
  A() {}
  @org.junit.jupiter.api.Test
  @Name("x") void t() { new Runnable() { public void run() {} }; }
  @ParameterizedTest void p() {}
  abstract void a();
  Runnable r = () -> {};
  interface I { default int d() { return 1; } int no(); }
}
`, "A.A 2-2, A.t 3-4*, A.t.run 4-4, A.p 5-5*, A.I.d 8-8", false},
	{"java broken", "A.java", "class A { void f( { } void g() { } }", "A.g 1-1", true},
	{"a mark of the encoding", "a.js", "\ufefffunction f() {}\n", "f 1-1", false},
	{"carriage returns", "a.py", "def f():\r\n    return 1\r\n", "f 1-2", false},
}

func TestFunctions(t *testing.T) {
	e := newEngine(t)
	for _, tt := range listings {
		fns, broken, err := e.Functions(context.Background(), tt.path, []byte(tt.src))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, f := range fns {
			s := fmt.Sprintf("%s %d-%d", f.Name, f.FromLine, f.ToLine)
			if f.Test {
				s += "*"
			}
			got = append(got, s)
			if f.Start > f.BodyStart || f.BodyStart > f.BodyEnd || f.BodyEnd > f.End || f.End > len(tt.src) {
				t.Errorf("%s: %s lies at %+v", tt.name, f.Name, f)
			}
		}
		if s := strings.Join(got, ", "); s != tt.want || broken != tt.broken {
			t.Errorf("%s: %s, broken %v\nwant %s, %v", tt.name, s, broken, tt.want, tt.broken)
		}
	}
}

func TestSwitchRefuses(t *testing.T) {
	e := newEngine(t)
	src := []byte("def f(): return 1\n")
	fn := functionsOf(t, e, "a.py", src)[0]
	for _, tt := range []struct{ id, env, want string }{
		{"*", "X", "no id"}, {"a'b", "X", "no id"}, {"", "X", "no id"}, {"a", "X Y", "no name"}, {"a", "", "no name"},
	} {
		_, err := e.Switch(context.Background(), "a.py", src, []SwitchedFunction{{fn.Function, tt.id}}, tt.env)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("id %q, variable %q: %v", tt.id, tt.env, err)
		}
	}
	_, err := e.Switch(context.Background(), "a.py", []byte("\n"+string(src)), []SwitchedFunction{fn}, "X")
	if err == nil || !strings.Contains(err.Error(), "list its functions anew") {
		t.Errorf("a function of another text: %v", err)
	}
	out, err := e.Switch(context.Background(), "a.py", src, nil, "X")
	if err != nil || string(out.Source) != string(src) {
		t.Errorf("no functions: %q, %v", out.Source, err)
	}
}

func TestSwitchSkips(t *testing.T) {
	e := newEngine(t)
	for _, tt := range []struct{ path, src, want string }{
		{"a_test.go", "package a\nfunc helper() {}\n", "a file of tests"},
		{"a.go", "package a\nimport \"C\"\nfunc f() {}\n", "a file with C in it"},
		{"a.go", "package a\n//go:nosplit\nfunc f() {}\n", "a function that must not call others"},
		{"a.go", "package a\nimport _ \"unsafe\"\nfunc f() {}\n//go:linkname f runtime.f\n", "linked to by name"},
		{"a.rs", "#![no_std]\nfn f() {}\n", "a file without std"},
		{"a.rs", "#[cfg(all(unix, test))]\nmod m { fn f() {} }\n", "for tests alone"},
		{"a.py", "def f(): \\\n    return 1\n", "a body behind a line that goes on"},
		{"a.js", "it('x', () => {})\n", "a test"},
	} {
		fns := functionsOf(t, e, tt.path, []byte(tt.src))
		out, err := e.Switch(context.Background(), tt.path, []byte(tt.src), fns, "X")
		if err != nil || len(out.Skipped) != 1 || out.Skipped[0].Why != tt.want || string(out.Source) != tt.src {
			t.Errorf("%q: %q, skipped %v, %v", tt.src, out.Source, out.Skipped, err)
		}
	}
}

// What has blank lines above its functions keeps every line of their bodies.
func TestPythonTradesLines(t *testing.T) {
	e := newEngine(t)
	src := `"""Module."""

import os


class A:
    """Class."""

    def f(self):
        if self:
            return 1

    @property
    def g(self):
        """Doc."""
        return 2


def h(a,
      b):
    # why
    return a


TEXT = """

"""


def last():
    for x in TEXT:

        yield x
`
	fns := functionsOf(t, e, "a.py", []byte(src))
	out, err := e.Switch(context.Background(), "a.py", []byte(src), fns, "X")
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(src, "\n"), strings.Split(string(out.Source), "\n")
	if len(was) != len(is) {
		t.Fatalf("%d lines became %d:\n%s", len(was), len(is), out.Source)
	}
	for i := range was {
		if s := strings.TrimSpace(was[i]); s == "" || strings.HasPrefix(s, "#") || strings.HasPrefix(s, "def ") || strings.HasPrefix(s, "@") || s == "b):" || s == `"""Doc."""` {
			continue
		}
		if !strings.HasSuffix(is[i], was[i]) {
			t.Errorf("line %d is %q and was %q", i+1, is[i], was[i])
		}
	}
}

func TestTestSpans(t *testing.T) {
	e := newEngine(t)
	product := `//! Crate.
pub fn code() -> u8 { 1 }
impl A {
    #[cfg(test)]
    fn peek(&self) {}
}

/// For tests.
#[cfg(test)]
#[allow(dead_code)]
mod tests {
    #[test] fn new() {}
}
#[cfg(not(test))]
fn real() {}
#[cfg(any(test, feature = "x"))]
fn both() {}
`
	base := `pub fn code() -> u8 { 2 }
#[cfg(all(unix, test))]
use std::fmt;
#[cfg(test)]
mod tests {
    #[test] fn old() {}
}
#[test]
fn top() {}
`
	spans, err := e.TestSpans(context.Background(), "a.rs", []byte(product))
	if err != nil || len(spans) != 2 {
		t.Fatalf("%v, %v", spans, err)
	}
	if s := product[spans[1].Start:spans[1].End]; !strings.HasPrefix(s, "#[cfg(test)]\n#[allow") || !strings.HasSuffix(s, "{}\n}") {
		t.Errorf("a span is %q", s)
	}
	got, err := e.ReplaceTests(context.Background(), "a.rs", []byte(product), []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"code() -> u8 { 1 }", "fn peek", "fn real", "fn both", "use std::fmt", "fn old", "fn top"} {
		if !strings.Contains(string(got), in) {
			t.Errorf("%q is not in\n%s", in, got)
		}
	}
	if strings.Contains(string(got), "fn new") || strings.Contains(string(got), "{ 2 }") {
		t.Errorf("what was replaced is in\n%s", got)
	}
	same, err := e.ReplaceTests(context.Background(), "a.rs", []byte(base), []byte(base))
	if err != nil || string(same) != base {
		t.Errorf("its own tests make\n%s\n%v", same, err)
	}
	whole, err := e.TestSpans(context.Background(), "a.rs", []byte("#![cfg(test)]\nfn f() {}\n"))
	if err != nil || len(whole) != 1 || whole[0] != (Span{0, 24}) {
		t.Errorf("a file for tests: %v, %v", whole, err)
	}
	for path, src := range map[string]string{"a.py": "if __name__ == '__main__':\n    pass\n", "a.go": "package a\n", "a.js": "it('', () => {})\n"} {
		if spans, err := e.TestSpans(context.Background(), path, []byte(src)); err != nil || len(spans) > 0 {
			t.Errorf("%s: %v, %v", path, spans, err)
		}
	}
}

func TestShape(t *testing.T) {
	e := newEngine(t)
	for _, tt := range []struct {
		path, a, b string
		same       bool
	}{
		{"a.go", "package a\nfunc f() int { return g(1, 2) }", "package a\nfunc f() int {\n\t// why\n\treturn g(\n\t\t1,\n\t\t2,\n\t)\n}", true},
		{"a.go", "package a\nfunc f() { f() }", "package a\n\n// h says why.\nfunc f() { f() }", true},
		{"a.go", "package a\nfunc f() { f() }", "package a\nfunc h() { h() }", false},
		{"a.go", "package a\nvar x = 1", "package a\nvar x = 2", false},
		{"a.go", "//go:build linux\npackage a", "//go:build darwin\npackage a", false},
		{"a.go", "package a\n// #define A 1\nimport \"C\"", "package a\n// #define A 2\nimport \"C\"", false},
		{"a.go", "package a\nfunc f() { x(\"a  b\") }", "package a\nfunc f() { x(\"a b\") }", false},
		{"a.py", "def f():\n  if a:\n    b()\n  c()\n", "def f():\n    'doc'\n    if a: b() # why\n    c()\n", true},
		{"a.py", "def f():\n  if a:\n    b()\n  c()\n", "def f():\n  if a:\n    b()\n    c()\n", false},
		{"a.py", "def f():\n  x('a  b\\n')\n", "def f():\n  x('a b\\n')\n", false},
		{"a.js", "function f() { return\nx }", "function f() { return x }", false},
		{"a.js", "function f() { a(); b() }", "function f() {\n  a()\n  b(); // why\n}", true},
		{"a.js", "it('x', () => { eq(`a b`) })", "it('x', () => { eq(`a  b`) })", false},
		{"a.js", "it('x', () => { for (;a;) b() })", "it('x', () => { for (a;;) b() })", false},
		{"a.rs", "#[test] fn f() { assert_eq!(1, 2); }", "#[test] fn f() {\n assert_eq!(1,\n 2); /* why */ }", true},
		{"A.java", "class A { void f() { g(\"a \"); } }", "class A { void f() { g(\"a\"); } }", false},
	} {
		shape := func(src string) string {
			s, err := e.Shape(context.Background(), tt.path, []byte(src))
			if err != nil || s == "" {
				t.Errorf("%q: %q, %v", src, s, err)
			}
			return s
		}
		if a, b := shape(tt.a), shape(tt.b); (a == b) != tt.same {
			t.Errorf("%q\n%q\nsame: %v, want %v\n%q\n%q", tt.a, tt.b, a == b, tt.same, a, b)
		}
	}
}

func TestCodeLines(t *testing.T) {
	e := newEngine(t)
	for _, tt := range []struct {
		path, src string
		want      []int
	}{
		{"a.go", "package a\nvar x = 1\nfunc f() {\n\t// c\n\n\ta(\n\t\t1,\n\t)\n\tif b {\n\t} else {\n\t}\n\ts := `x\n\ny`\n}\n", []int{6, 7, 9, 10, 12, 13, 14}},
		{"a.py", "x = 1\ndef f():\n    '''doc\n    more'''\n    # c\n\n    def g():\n        return [\n            1,\n        ]\n    return g\n", []int{7, 8, 9, 11}},
		{"a.js", "x()\nconst f = () => {\n  // c\n  a(() => {\n    b\n  });\n}\n", []int{4, 5}},
		{"a.rs", "fn f() {\n    /* c\n    */\n    g(\n        1,\n    );\n}\nconst X: u8 = 1;\n", []int{4, 5}},
		{"A.java", "class A {\n  int x = 1;\n  void f() {\n    g();\n    {\n    }\n  }\n}\n", []int{4}},
	} {
		got, err := e.CodeLines(context.Background(), tt.path, []byte(tt.src))
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v, %v", tt.path, got, tt.want, err)
		}
	}
}

// Whatever a file holds, reading it ends without a panic, and what is switched
// has no error that it had not.
func FuzzSwitch(f *testing.F) {
	paths := []string{"a.go", "a.py", "a.js", "a.ts", "a.tsx", "a.rs", "A.java"}
	for _, l := range listings {
		for i, path := range paths {
			if LanguageOf(path) == LanguageOf(l.path) {
				f.Add(uint8(i), l.src)
			}
		}
	}
	e := New(Options{})
	f.Cleanup(func() { _ = e.Close() })
	f.Fuzz(func(t *testing.T, language uint8, src string) {
		ctx, path := context.Background(), paths[int(language)%len(paths)]
		fns, broken, err := e.Functions(ctx, path, []byte(src))
		if errors.Is(err, ErrTooMuch) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		var cuts []SwitchedFunction
		for i, fn := range fns {
			if fn.Start < 0 || fn.Start > fn.BodyStart || fn.BodyStart > fn.BodyEnd || fn.BodyEnd > fn.End || fn.End > len(src) {
				t.Fatalf("%+v of %d bytes", fn, len(src))
			}
			cuts = append(cuts, SwitchedFunction{fn, fmt.Sprint(i)})
		}
		if _, err := e.Switch(ctx, path, []byte(src), cuts, "X"); err != nil && !broken {
			t.Fatal(err)
		}
		if _, err := e.CodeLines(ctx, path, []byte(src)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Shape(ctx, path, []byte(src)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.ReplaceTests(ctx, path, []byte(src), []byte(src)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDefinitions(t *testing.T) {
	e := New(Options{})
	t.Cleanup(func() { _ = e.Close() })
	for name, tt := range map[string]struct{ path, src, want string }{
		"go":     {"a.go", "package a\nimport \"x\"\nfunc (s *Stack[T]) Push(v T) { var in int }\nfunc f()\ntype T struct{ a int }\nconst (\n\tA, B = 1, 2\n)\nvar h = func() {}\n", "Stack.Push f T A B h"},
		"python": {"a.py", "X = 1\nclass C:\n    y = 2\n    @p\n    def m(self, d=3):\n        z = 4\n        def inner(): pass\nf(k=1)\n", "X C C.y C.m"},
		"script": {"a.js", "import {q} from 'q'\nconst a = x => { const b = 1 }\nclass C { m() { let l } }\nfunction f() { return g() }\n", "a C C.m f"},
		"typed":  {"a.ts", "interface I { s(): void }\ntype T = string\nenum E { A }\nexport const k: T = 'x'\n", "I I.s T E k"},
		"rust":   {"a.rs", "mod m { pub struct S { f: u8 } }\nimpl S { fn new() -> S { let l = 1; fn inner() {} } }\nconst C: u8 = 1;\nmacro_rules! mac { () => {} }\n", "m m.S m.S.f S.new C mac"},
		"java":   {"A.java", "class A { int f; A() {} void m(int p) { int l; m(1); } }\nrecord R(int x) { int y() { return x; } }\n", "A A.f A.A A.m R R.y"},
		"broken": {"a.go", "package a\nfunc g() {}\nfunc f() { 1x }\n", "g broken"},
	} {
		all, broken, err := e.Definitions(t.Context(), tt.path, []byte(tt.src))
		var got []string
		for _, d := range all {
			got = append(got, d.Name)
		}
		if broken {
			got = append(got, "broken")
		}
		if s := strings.Join(got, " "); err != nil || s != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, s, err, tt.want)
		}
	}
	if _, _, err := e.Definitions(t.Context(), "a.txt", nil); !errors.Is(err, ErrLanguage) {
		t.Error(err)
	}
}
