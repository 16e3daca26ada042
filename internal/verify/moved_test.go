package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

// src is a changed file, or one that is new or gone.
func src(path, before, after string) source {
	s := source{path: path, lang: languageOf(path), test: isTestFile(path)}
	if before != "" {
		s.before = []byte(before)
	}
	if after != "" {
		s.after = []byte(after)
	}
	return s
}

// A test that is gone is another one's new name or place only where the body
// says so; what took its name and not its body is another test.
func TestMovedTests(t *testing.T) {
	goTest := func(name, body string) string { return goHead + "func " + name + "(t *testing.T) {\n" + body + "}\n" }
	const sum, gutted = "\t// adds\n\tif Add(1, 2) != 3 {\n\t\tt.Error(\"sum\")\n\t}\n", "\tt.Log(Add(1, 2))\n"
	for name, tt := range map[string]struct {
		files     []source
		was, now  string // the test that is gone, and one that is new
		different bool
	}{
		"go: renamed":            {[]source{src("p/a_test.go", goTest("TestA", sum), goTest("TestB", strings.ReplaceAll(sum, "// adds", "// it adds")))}, "ex.com/p.TestA", "ex.com/p.TestB", false},
		"go: to another package": {[]source{src("p/a_test.go", goTest("TestA", sum), ""), src("q/a_test.go", "", goTest("TestA", sum))}, "ex.com/p.TestA", "ex.com/q.TestA", false},
		"go: and qualified":      {[]source{src("p/a_test.go", goTest("TestA", sum), ""), src("q/a_test.go", "", goTest("TestA", strings.ReplaceAll(sum, "Add(", "p.Add(")))}, "ex.com/p.TestA", "ex.com/q.TestA", false},
		"go: gutted on the way":  {[]source{src("p/a_test.go", goTest("TestA", sum), ""), src("q/a_test.go", "", goTest("TestA", gutted))}, "ex.com/p.TestA", "ex.com/q.TestA", true},
		"go: as many assertions of nothing": {[]source{
			src("p/a_test.go", goTest("TestA", sum), ""),
			src("q/a_test.go", "", goTest("TestA", "\tif false {\n\t\tt.Fatal(1)\n\t}\n")),
		}, "ex.com/p.TestA", "ex.com/q.TestA", true},
		"go: renamed and gutted": {[]source{src("p/a_test.go", goTest("TestA", sum), goTest("TestB", gutted))}, "ex.com/p.TestA", "ex.com/p.TestB", true},
		"go: it does not run":    {[]source{src("p/a_test.go", goTest("TestA", sum), ""), src("q/a_test.go", "", goTest("TestA", sum))}, "ex.com/p.TestA", "ex.com/r.TestA", true},
		"python: to another file": {[]source{
			src("tests/test_a.py", "def test_a():\n    assert a() == 1\n\n\n@mark.slow\ndef test_b():\n    assert b()\n", "@mark.slow\ndef test_b():\n    assert b()\n"),
			src("tests/test_c.py", "", "from x import a\n\ndef test_a():\n    # moved\n    assert a() == 1\n"),
		}, "tests/test_a.py::test_a", "tests/test_c.py::test_a", false},
		"python: with what it is given": {[]source{
			src("tests/test_a.py", "@given(1)\ndef test_a(x):\n    assert x\n", ""),
			src("tests/test_c.py", "", "@given(1)\ndef test_a(x):\n    assert x\n"),
		}, "tests/test_a.py::test_a[1]", "tests/test_c.py::test_a[1]", false},
		"python: gutted": {[]source{src("tests/test_a.py", "def test_a():\n    assert a() == 1\n", ""), src("tests/test_c.py", "", "def test_a():\n    pass\n")}, "tests/test_a.py::test_a", "tests/test_c.py::test_a", true},
		"js: renamed":    {[]source{src("a.test.js", "it('adds', () => { expect(add(1, 2)).toBe(3); });\n", "it('sums up', () => {\n  expect(add(1, 2)).toBe(3)\n})\nit('more', () => {})\n")}, "a.test.js > adds", "a.test.js > sums up", false},
		"js: gutted":     {[]source{src("a.test.js", "it('adds', () => { expect(add(1, 2)).toBe(3); });\n", ""), src("b.test.js", "", "it('adds', () => { expect(1).toBe(1); });\n")}, "a.test.js > adds", "b.test.js > adds", true},
		"rust: moved":    {[]source{src("src/a.rs", "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n", "fn x() {}\n"), src("src/b.rs", "", "#[test]\nfn adds() { assert_eq!(add(1, 2), 3); }\n")}, "x::a::adds", "x::b::adds", false},
		"java: renamed": {[]source{src("src/test/java/ATest.java", "class ATest {\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }\n}\n",
			"class ATest {\n  @Test\n  void sums() {\n    assertEquals(3, add(1, 2));\n  }\n}\n")}, "ATest.adds", "ATest.sums", false},
	} {
		t.Run(name, func(t *testing.T) {
			base, claim := map[string]agency.TestStatus{tt.was: agency.TestFailed}, map[string]agency.TestStatus{tt.now: agency.TestPassed}
			got := pairTests([]string{tt.was}, readBodies(tt.files), base, claim)
			want := map[string]string{tt.was: tt.now}
			if tt.different {
				want = map[string]string{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	// One new test stands for one old one.
	two := []source{src("p/a_test.go", goTest("TestA", sum)+goTest("TestB", sum)[len(goHead):], goTest("TestC", sum))}
	status := func(names ...string) map[string]agency.TestStatus {
		out := map[string]agency.TestStatus{}
		for _, n := range names {
			out[n] = agency.TestPassed
		}
		return out
	}
	if got := pairTests([]string{"ex.com/p.TestA", "ex.com/p.TestB"}, readBodies(two), status("ex.com/p.TestA", "ex.com/p.TestB"), status("ex.com/p.TestC")); len(got) != 1 {
		t.Errorf("two tests are one: %v", got)
	}
	s := suiteOf(result("p.TestA", agency.TestFailed), result("p.TestA/x", agency.TestFailed), result("p.TestAB", agency.TestPassed)).Renamed(map[string]string{"p.TestA": "q.TestB"})
	if diff := cmp.Diff(map[string]agency.TestStatus{"q.TestB": agency.TestFailed, "q.TestB/x": agency.TestFailed, "p.TestAB": agency.TestPassed}, s.Tests); diff != "" {
		t.Error(diff)
	}
}

// Helpers by which tests assert count as tests, wherever they are kept.
func TestHelpersOfTests(t *testing.T) {
	const goHelper = "package testutil\n\nimport \"testing\"\n\nfunc Same(t testing.TB, a, b int) {\n\tt.Helper()\n\tif a != b {\n\t\tt.Fatal(a)\n\t}\n}\n"
	const uses = "import { same } from './support';\nit('adds', () => { same(add(1, 2), 3); });\n"
	for name, tt := range map[string]struct {
		files []source
		want  string
	}{
		"go: gutted":              {[]source{src("internal/testutil/a.go", goHelper, strings.Replace(goHelper, "t.Fatal(a)", "t.Log(a)", 1))}, "internal/testutil/a.go: Same (0, was 1)"},
		"go: deleted":             {[]source{src("internal/testutil/a.go", goHelper, "package testutil\n")}, "internal/testutil/a.go: Same (a helper by which tests assert is gone)"},
		"go: moved":               {[]source{src("internal/testutil/a.go", goHelper, "package testutil\n"), src("internal/testutil/b.go", "", goHelper)}, ""},
		"go: beside the code":     {[]source{src("p/helper.go", strings.Replace(goHelper, "testutil", "p", 1), "package p\n")}, "p/helper.go: Same (a helper by which tests assert is gone)"},
		"go: code of the product": {[]source{src("p/p.go", "package p\n\nfunc Must(err error) {\n\tif err != nil {\n\t\tpanic(err)\n\t}\n}\n", "package p\n")}, ""},
		"go: another one of its name": {
			[]source{src("p/a_test.go", goHead+"func same(t *testing.T, a, b int) {\n\tif a != b {\n\t\tt.Fatal(a)\n\t}\n}\n", ""), src("p/b_test.go", "", goHead+"func same(t *testing.T, a, b int) {}\n")},
			"p/a_test.go: same (a helper by which tests assert is gone: another one of its name is in b_test.go)",
		},
		"go: a test behind another file": {
			[]source{src("p/a_test.go", goHead+"func TestA(t *testing.T) {\n\tif A() != 1 {\n\t\tt.Fatal(1)\n\t}\n}\n", ""), src("p/b_test.go", "", goHead+"func TestA(t *testing.T) {}\n")},
			"test deleted: p/a_test.go: TestA (another one of its name is in b_test.go)",
		},
		"go: shadowed": {
			[]source{src("p/a_test.go", goHead+"func TestA(t *testing.T) {\n\tsame(t, A(), 1)\n}\n", goHead+"func TestA(t *testing.T) {\n\tsame := func(t *testing.T, a, b int) {}\n\tsame(t, A(), 1)\n}\n")},
			"p/a_test.go: same (its tests called it from elsewhere, and it is defined among them now)",
		},
		"python: handed to a new helper": {[]source{
			src("tests/test_a.py", "def test_a():\n    assert a() == 1\n", "def same(a, b):\n    assert a == b\n\ndef test_a():\n    same(a(), 1)\n"),
		}, ""},
		"python: a comment names a new helper": {[]source{
			src("tests/test_a.py", "def test_a():\n    assert a() == 1\n", "def same(a, b):\n    assert a == b\n\ndef test_a():\n    a()  # same(a(), 1)\n"),
		}, "tests/test_a.py: test_a (0, was 1)"},
		"python: gutted":   {[]source{src("tests/helpers.py", "def same(a, b):\n    assert a == b\n", "def same(a, b):\n    return a == b\n")}, "tests/helpers.py: same (0, was 1)"},
		"python: shadowed": {[]source{src("tests/test_a.py", "from helpers import same\n\ndef test_a():\n    same(a(), 1)\n", "same = lambda *a: None\n\ndef test_a():\n    same(a(), 1)\n")}, "tests/test_a.py: same (its tests called it from elsewhere"},
		"python: brought along": {[]source{
			src("tests/helpers.py", "def same(a, b):\n    assert a == b\n", ""),
			src("tests/test_a.py", "from helpers import same\n\ndef test_a():\n    same(a(), 1)\n", "def same(a, b):\n    assert a == b\n\ndef test_a():\n    same(a(), 1)\n"),
		}, ""},
		"js: gutted":        {[]source{src("test/support.js", "export function same(a, b) {\n  assert.equal(a, b);\n}\n", "export function same(a, b) {}\n")}, "test/support.js: same (0, was 1)"},
		"js: an arrow":      {[]source{src("test/support.js", "exports.same = (a, b) => {\n  assert.equal(a, b);\n};\n", "exports.other = 1;\n")}, "test/support.js: same (a helper by which tests assert is gone)"},
		"js: shadowed":      {[]source{src("test/a.test.js", uses, "const same = () => {};\nit('adds', () => { same(add(1, 2), 3); });\n")}, "test/a.test.js: same (its tests called it from elsewhere"},
		"rust: gutted":      {[]source{src("tests/common.rs", "pub fn same(a: i32, b: i32) {\n    assert_eq!(a, b);\n}\n", "pub fn same(_a: i32, _b: i32) {}\n")}, "tests/common.rs: same (0, was 1)"},
		"rust: the product": {[]source{src("src/lib.rs", "pub fn get(a: &[i32]) -> i32 {\n    assert!(!a.is_empty());\n    a[0]\n}\n", "pub fn get(a: &[i32]) -> i32 { a[0] }\n")}, ""},
		"java: deleted":     {[]source{src("src/test/java/Checks.java", "class Checks {\n  static void same(int a, int b) {\n    assertEquals(a, b);\n  }\n}\n", "class Checks {}\n")}, "src/test/java/Checks.java: same (a helper by which tests assert is gone)"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range lessAsserted(tt.files, false) {
				got = append(got, strings.TrimPrefix(w.String(), "fewer assertions: "))
			}
			if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, tt.want) }) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAsserting(t *testing.T) {
	for name, tt := range map[string]struct {
		path, text, test string
		want             bool
	}{
		"go":              {"a_test.go", goHead + "func TestA(t *testing.T) {\n\tif A() != 1 {\n\t\tt.Fatal(1)\n\t}\n}\n", "TestA", true},
		"go: hollow":      {"a_test.go", goHead + "func TestA(t *testing.T) {\n\tt.Log(A())\n}\n", "TestA", false},
		"go: of a suite":  {"a_test.go", goHead + "func (s *S) TestA() {\n\ts.Equal(1, A())\n}\n", "TestA", true},
		"go: another one": {"a_test.go", goHead + "func TestA(t *testing.T) {\n\tt.Fatal(1)\n}\n", "TestB", false},
		"python":          {"test_a.py", "def test_a():\n    a()\n\ndef test_b():\n    assert b()\n", "test_b", true},
		"python: hollow":  {"test_a.py", "def test_a():\n    a()\n\ndef test_b():\n    assert b()\n", "test_a", false},
		"python: helper":  {"test_a.py", "def same(a, b):\n    assert a == b\n\ndef test_a():\n    same(a(), 1)\n", "test_a", true},
		"js":              {"a.test.js", "it('adds', () => { expect(add(1)).toBe(1) })\nit('is', () => { add(1) })\n", "adds", true},
		"js: hollow":      {"a.test.js", "it('adds', () => { expect(add(1)).toBe(1) })\nit('is', () => { add(1) })\n", "is", false},
		"no test of it":   {"a.rb", "assert 1\n", "a", false},
	} {
		if got, _ := asserting(tt.path, []byte(tt.text), tt.test); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
