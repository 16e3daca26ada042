package verify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/awareness/dataflow"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/languages"
)

const goHead = "package p\n\nimport \"testing\"\n\n"

func TestLessAsserted(t *testing.T) {
	for name, tt := range map[string]struct {
		path, before, after string
		want                string
	}{
		"go: one check less": {
			"a_test.go", goHead + "func TestA(t *testing.T) {\n\tif A() != 1 {\n\t\tt.Error(1)\n\t}\n\tif B() != 2 {\n\t\tt.Error(2)\n\t}\n}\n",
			goHead + "func TestA(t *testing.T) {\n\tif A() != 1 {\n\t\tt.Error(1)\n\t}\n}\n", "a_test.go: TestA (1, was 2)",
		},
		"go: a helper": {
			"a_test.go", goHead + "func TestA(t *testing.T) {\n\tt.Log(1)\n\trequire.Equal(t, A(), 1)\n}\n",
			goHead + "func TestA(t *testing.T) { same(t, A(), 1) }\n\nfunc same(t *testing.T, a, b int) {\n\tif a != b {\n\t\tt.Fatal(a)\n\t}\n}\n", "",
		},
		"go: a helper that asserts nothing any more": {
			"a_test.go", goHead + "func same(t testing.TB, a, b int) {\n\tif a != b {\n\t\tt.Fatal(a)\n\t}\n}\n",
			goHead + "func same(t testing.TB, a, b int) { t.Log(a, b) }\n", "a_test.go: same (0, was 1)",
		},
		"go: checks become a table": {
			"a_test.go", goHead + "func TestA(t *testing.T) {\n\tif A(1) != 1 {\n\t\tt.Error(1)\n\t}\n\tif A(2) != 2 {\n\t\tt.Error(2)\n\t}\n}\n",
			goHead + "func TestA(t *testing.T) {\n\tfor _, v := range []int{1, 2} {\n\t\tif A(v) != v {\n\t\t\tt.Error(v)\n\t\t}\n\t}\n}\n", "",
		},
		"go: a row less": {
			"a_test.go", goHead + "func TestA(t *testing.T) {\n\tfor _, v := range []int{1, 2} {\n\t\tif A(v) != v {\n\t\t\tt.Error(v)\n\t\t}\n\t}\n}\n",
			goHead + "func TestA(t *testing.T) {\n\tfor _, v := range []int{1} {\n\t\tif A(v) != v {\n\t\t\tt.Error(v)\n\t\t}\n\t}\n}\n", "a_test.go: TestA (1, was 2)",
		},
		"go: in a subtest": {
			"a_test.go", goHead + "func TestA(t *testing.T) {\n\tt.Run(\"x\", func(tt *testing.T) { tt.Fatal(1) })\n}\n",
			goHead + "func TestA(t *testing.T) {\n\tt.Run(\"x\", func(tt *testing.T) {})\n}\n", "a_test.go: TestA (0, was 1)",
		},
		"go: an example": {
			"a_test.go", goHead + "func ExampleA() {\n\tprintln(1)\n\t// Output: 1\n}\n", goHead + "func ExampleA() { println(1) }\n", "a_test.go: ExampleA (0, was 1)",
		},
		"python": {
			"tests/test_a.py", "def test_a():\n    assert a() == 1\n    assert b() == 2\n\ndef test_b():\n    with pytest.raises(ValueError):\n        c()\n",
			"def test_a():\n    assert a() == 1\n    # assert b() == 2\n    x = 'assert b'\n\ndef test_b():\n    c()\n", "tests/test_a.py: test_a (1, was 2); tests/test_a.py: test_b (0, was 1)",
		},
		"python: unittest": {
			"test_a.py", "class T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, a())\n",
			"class T(unittest.TestCase):\n    def test_a(self):\n        \"\"\"self.assertEqual(1, a())\"\"\"\n", "test_a.py: test_a (0, was 1)",
		},
		"javascript": {
			"a.test.ts", "describe('a', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n    assert.equal(1, 1);\n  });\n  test(\"subs\", () => { expect(sub(1)).toBe(0) });\n});\n",
			"describe('a', () => {\n  it('adds', () => {\n    // expect(add(1, 2)).toBe(3);\n    assert.equal(1, 1);\n  });\n  test(\"subs\", () => { expect(sub(1)).toBe(0) });\n});\n", "a.test.ts: adds (1, was 2)",
		},
		"rust": {
			"src/lib.rs", "fn f<'a>(x: &'a str) {}\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n", "fn f<'a>(x: &'a str) {}\n#[test]\nfn adds() {\n    add(1, 2);\n}\n", "src/lib.rs: adds (0, was 1)",
		},
		"java": {
			"src/test/java/ATest.java", "class ATest {\n  @Test\n  void adds() {\n    if (x) { assertEquals(3, add(1, 2)); }\n  }\n  @Test\n  public void subs() throws Exception {\n    assertThat(1).isEqualTo(1);\n  }\n}\n",
			"class ATest {\n  @Test\n  void adds() {\n    if (x) { add(1, 2); }\n  }\n  @Test\n  public void subs() throws Exception {\n    assertThat(1).isEqualTo(1);\n  }\n}\n", "src/test/java/ATest.java: adds (0, was 1)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := []source{{path: tt.path, lang: languageOf(tt.path), test: isTestFile(tt.path), before: []byte(tt.before), after: []byte(tt.after)}}
			var got []string
			for _, w := range lessAsserted(files, false) {
				got = append(got, strings.TrimPrefix(w.String(), "fewer assertions: "))
			}
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
			if same := lessAsserted([]source{{path: tt.path, lang: languageOf(tt.path), test: true, before: []byte(tt.after), after: []byte(tt.after)}}, true); len(same) > 0 {
				t.Errorf("a file that did not change: %v", same)
			}
		})
	}
}

// A test that moves to another file keeps what it asserts.
func TestMovedTestIsFound(t *testing.T) {
	test := "def test_a():\n    assert a()\n"
	files := []source{
		{path: "test_a.py", lang: ecosystem.Python, test: true, before: []byte(test), after: []byte("")},
		{path: "test_b.py", lang: ecosystem.Python, test: true, after: []byte(test)},
	}
	if got := lessAsserted(files, true); len(got) > 0 {
		t.Error(got)
	}
}

// Where the results name no tests the sources tell which are gone or left out.
func TestSourcesStandInForResults(t *testing.T) {
	files := []source{
		{path: "a.test.js", lang: ecosystem.Node, test: true, before: []byte("it('one', () => { expect(1) })\nit('two', () => {})\n"), after: []byte("it('one', () => { expect(1) })\n")},
		{path: "b.test.js", lang: ecosystem.Node, test: true, before: []byte("it('x', () => {})\n"), after: []byte("it.skip('x', () => {})\n")},
		{path: "test_c.py", lang: ecosystem.Python, test: true, before: []byte("def test_c():\n    pass\n"), after: []byte("@pytest.mark.skip\ndef test_c():\n    pass\n")},
	}
	want := []agency.Weakening{
		{Kind: agency.WeakDeleted, Name: "a.test.js: two"}, {Kind: agency.WeakSkipped, Name: "b.test.js"}, {Kind: agency.WeakSkipped, Name: "test_c.py"},
	}
	if diff := cmp.Diff(want, lessAsserted(files, true)); diff != "" {
		t.Error(diff)
	}
	if got := lessAsserted(files, false); len(got) > 0 {
		t.Errorf("beside results that name tests: %v", got)
	}
}

func TestEditedOutsideOfTheWrites(t *testing.T) {
	changes := []git.Change{{Path: "a/x_test.go", Status: 'M'}, {Path: "b/y_test.go", Status: 'D'}, {Path: "b/new_test.go", Status: 'A'}, {Path: "b/y.go", Status: 'M'}}
	for name, tt := range map[string]struct {
		writes []string
		want   string
	}{
		"none declared": {nil, ""},
		"one folder":    {[]string{"a/"}, "b/y_test.go"},
		"the code only": {[]string{"a/x.go#X", "b/*.md"}, "a/x_test.go b/y_test.go"},
		"all":           {[]string{"**/*.go"}, ""},
	} {
		var got []string
		for _, w := range edited(changes, tt.writes) {
			got = append(got, w.Name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: got %q, want %q", name, s, tt.want)
		}
	}
}

func TestChangedParts(t *testing.T) {
	for name, tt := range map[string]struct{ path, before, after, want string }{
		"a dependency":        {"package.json", `{"scripts":{"test":"jest"},"dependencies":{}}`, `{"scripts": {"test": "jest"}, "dependencies": {"x": "1"}}`, ""},
		"a script":            {"package.json", `{"scripts":{"test":"jest"}}`, `{"scripts":{"test":"true"}}`, "scripts"},
		"jest's own":          {"web/package.json", `{}`, `{"jest":{"testMatch":[]}}`, "jest"},
		"setup.py: a version": {"setup.py", "setup(name='a', version='1', install_requires=['b'])", "setup(name='a', version='2', install_requires=['b>2', \"c\"])", ""},
		"setup.py: a plugin":  {"setup.py", "setup(version='1', entry_points={})", "setup(version='1', entry_points={'pytest11': ['a = b']})", ecosystem.TheWholeFile},
		"setup.py: a program": {"setup.py", "setup(install_requires=['b'])", "setup(install_requires=['b'] + hidden())", ecosystem.TheWholeFile},
		"not JSON any more":   {"package.json", `{}`, `{`, "the whole file"},
		"a new package":       {"sub/package.json", "", `{"scripts":{"test":"x"}}`, ""},
		"pytest's table":      {"pyproject.toml", "[project]\nname = 'x'\n", "[project]\nname = 'y'\n\n[tool.pytest.ini_options]\naddopts = '-k none'\n", "[tool.pytest.ini_options]"},
		"a comment":           {"setup.cfg", "[tool:pytest]\naddopts = -q\n", "[tool:pytest]\n# quiet\naddopts = -q\n", ""},
		"a test turned off":   {"Cargo.toml", "[package]\nname = 'x'\n", "[package]\nname = 'x'\n[lib]\ntest = false\n", "[lib]"},
		"go: a new module":    {"go.mod", "module x\n\ngo 1.22\n", "module x\n\ngo 1.22\n\nrequire y v1.0.0\n", ""},
		"go: a replacement":   {"go.mod", "module x\n", "module x\n\nreplace testing => ./t\n", "replace"},
		"go: in a block":      {"go.mod", "module x\n", "module x\n\nreplace (\n\ta => ./a\n)\n", "replace"},
		"maven: a version":    {"pom.xml", "<project><properties><a.version>1</a.version></properties></project>", "<project><properties><a.version>2</a.version></properties></project>", ""},
		"maven: skipped":      {"pom.xml", "<project></project>", "<project><properties><maven.test.skip>true</maven.test.skip></properties></project>", "properties"},
		"gradle":              {"app/build.gradle", "test { useJUnit() }\ndependencies {\n  a\n}\n", "test { useJUnit() }\ndependencies {\n  b\n}\n", ""},
		"gradle: the task":    {"app/build.gradle", "test { useJUnit() }\n", "test { enabled = false }\n", "the whole file"},
		"code":                {"x.go", "a", "b", ""},
	} {
		if got := changedPart(tt.path, []byte(tt.before), []byte(tt.after)); (tt.before != "" || tt.want != "") && got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	if got := changedPart("sub/package.json", nil, []byte(`{"scripts":{"test":"x"}}`)); got != "" {
		t.Errorf("a new package: %q", got)
	}
}

func TestDoesNothing(t *testing.T) {
	for line, want := range map[string]bool{
		"true": true, "echo ok && exit 0": true, ":": true, "make test": false, "true && go test": false, "$(x)": false, "": false,
	} {
		if got := doesNothing(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func FuzzSources(f *testing.F) {
	f.Add("a.test.js", "it('x', () => { expect(`${a}`) /* \" */ })")
	f.Add("test_a.py", "def test_a():\n  '''x\n")
	f.Add("x_test.go", "package p\nfunc TestX(t *testing.T) {")
	f.Add("src/lib.rs", "#[test] fn a() { \"\\\"\" }")
	f.Add("ATest.java", "@Test void a() {")
	f.Fuzz(func(t *testing.T, name, src string) {
		s := source{path: name, lang: languageOf(name), test: true, before: []byte(src), after: []byte(src)}
		if got := lessAsserted([]source{s}, true); len(got) > 0 {
			t.Errorf("the same text differs: %v", got)
		}
		if got := changedPart(name, s.before, s.after); got != "" {
			t.Errorf("the same text differs: %v", got)
		}
		if got := beyond(textMarks(s, s.after), textMarks(s, s.before)); len(got) > 0 {
			t.Errorf("the same text differs: %v", got)
		}
		if _, _, err := languages.Of("a.go").Awareness.Read(dataflow.Source{Path: name, Text: s.after, Words: wordsAnywhere, Beside: func() ([][]byte, error) { return nil, nil }}); err != nil {
			t.Error(err)
		}
	})
}

// Tests in languages that are not read are told by their names.
func TestFilesOfTests(t *testing.T) {
	for path, want := range map[string]bool{
		"config/duration_test.sh": true, "spec/models/user_spec.rb": true, "lib/test_parse.lua": true, "src/ParserTests.cs": true,
		"src/ParserTest.php": true, "check/install.bats": true, "lib/t/basic.t": true, "src/map.spec.lua": true,
		"lib/latest.sh": false, "lib/contest.rb": false, "src/Protest.cs": false, "doc/how_to_test.md": false, "data/smoke_test.json": false, "bin/run-test": false,
	} {
		if got := isTestFile(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
