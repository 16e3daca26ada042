package check

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/ecosystem"
)

func TestOnly(t *testing.T) {
	const npm = `package.json={"scripts": {"test": "jest --ci", "m": "mocha", "n": "node --test test/", "x": "mocha --require ./test/setup.js", "two": "jest && mocha"}, "jest": {"setupFiles": ["./first.js"]}}`
	js := []string{npm, "src/a.js", "src/b.js", "test/a.test.js", "test/b.test.js", "test/c.test.js", "test/setup.js", "web/x.js", "web/x.test.js"}
	py := []string{"p/a.py", "p/b.py", "tests/test_a.py", "tests/test_b.py", "tests/sub/test_c.py"}
	for _, tt := range []struct {
		line string
		repo []string
		hit  []string
		want string
	}{
		{"npx jest --ci", js, []string{"src/a.js", "test/a.test.js"}, "npx jest --ci --findRelatedTests src/a.js test/a.test.js"},
		{"npm test", js, []string{"src/a.js"}, `(PATH="$PWD/node_modules/.bin:$PATH"; export PATH; jest --ci --findRelatedTests src/a.js)`},
		{"npx jest src", js, []string{"src/a.js"}, ""},
		{"npx jest --onlyChanged", js, []string{"src/a.js"}, ""},
		{"npx jest", js, []string{"gone.js"}, ""},
		{"npx vitest run --pool forks", js, []string{"src/a.js"}, "npx vitest related --run --pool forks src/a.js"},
		{"npx vitest", js, []string{"src/a.js"}, "npx vitest related --run src/a.js"},
		{"npx mocha", js, []string{"src/a.js", "test/a.test.js"}, "npx mocha --ignore test/b.test.js --ignore test/setup.js --ignore web/x.test.js"},
		{"npx mocha 'test/**/*.js'", js, []string{"test/a.test.js", "test/setup.js", "web/x.test.js"}, "npx mocha --ignore test/b.test.js 'test/**/*.js'"},
		{"node --test", js, []string{"src/a.js", "test/a.test.js"}, "node --test test/a.test.js"},
		{"node --test test/", js, []string{"src/a.js", "test/a.test.js", "web/x.test.js"}, "node --test test/a.test.js"},
		{"node --test 'test/**/*.test.js' web/x.test.js", js, []string{"web/x.test.js", "test/setup.js"}, "node --test web/x.test.js"},
		{"(cd web && node --test)", append(js, "web/y.test.js"), []string{"web/x.test.js", "src/a.js"}, "(cd web && node --test x.test.js)"},
		{"npm run n", js, []string{"test/b.test.js"}, `(PATH="$PWD/node_modules/.bin:$PATH"; export PATH; node --test test/b.test.js)`},
		{"node --test", js, []string{"src/a.js"}, ""},
		{"node --test --test-isolation=none", js, []string{"test/a.test.js"}, ""},
		{"npm run two", js, []string{"src/a.js"}, ""},
		{"npx jest && npx mocha", js, []string{"src/a.js"}, ""},
		{"go test ./... && npx jest", js, []string{"src/a.js"}, ""},
		{"make test", js, []string{"src/a.js"}, ""},

		{"python3 -m pytest -q", py, []string{"p/a.py", "tests/test_a.py"}, "python3 -m pytest --ignore=tests/sub/test_c.py --ignore=tests/test_b.py -q"},
		{"pytest tests", py, []string{"tests/test_a.py", "tests/test_b.py"}, "pytest --ignore=tests/sub/test_c.py tests"},
		{"python3 -m unittest", py, []string{"p/a.py", "tests/test_a.py"}, "python3 -m unittest -k 'a.*' -k '*.a.*' -k 'test_a.*' -k '*.test_a.*'"},
		{"python3 -m unittest -k x", py, []string{"p/a.py"}, ""},
	} {
		var code []string
		for name := range repoOf(tt.repo...) {
			if name != "package.json" && !(name == "test/c.test.js") {
				code = append(code, name)
			}
		}
		slices.Sort(code)
		got, ok := Only(tt.line, ecosystem.Affected{Hit: tt.hit, Code: code}, repoOf(tt.repo...))
		if !ok {
			got.Line = ""
		}
		if got.Line != tt.want {
			t.Errorf("`%s` of %v:\n got %s\nwant %s", tt.line, tt.hit, got.Line, tt.want)
		}
	}
}

// What a narrowed line leaves out is told by the names of tests; what is gone or
// unknown never is.
func TestLeft(t *testing.T) {
	code := []string{"p/a.py", "tests/test_a.py", "tests/test_b.py"}
	for line, tests := range map[string]map[string]bool{
		"pytest":              {"tests/test_a.py::T::x": false, "tests/test_b.py::x[1]": true, "tests/test_gone.py::x": false, "tests/test_made.py::x": false, "tests/test_b.py [failed]": true},
		"python3 -m unittest": {"tests.test_a.T.x": false, "tests.test_b.T.x": true, "tests.test_gone.T.x": false, "tests.test_b [failed]": true},
	} {
		n, ok := Only(line, ecosystem.Affected{Hit: []string{"p/a.py", "tests/test_a.py", "tests/test_gone.py"}, Code: code}, repoOf(code...))
		if !ok {
			t.Fatalf("%s: not narrowed", line)
		}
		for name, want := range tests {
			if got := n.Left(name); got != want {
				t.Errorf("%s: %s: %t", line, name, got)
			}
		}
	}
}

func TestOnlyCrates(t *testing.T) {
	a := ecosystem.Affected{Packages: []string{"core-x", "mid"}, All: []string{"app", "core-x", "mid"}}
	for line, want := range map[string]string{
		"cargo test --workspace":              "cargo test -p core-x -p mid",
		"cargo test -- --test-threads=1":      "cargo test -p core-x -p mid -- --test-threads=1",
		"cargo +stable nextest run --all":     "cargo +stable nextest run -p core-x -p mid",
		"cargo test -p app":                   "",
		"cargo test --features x --workspace": "",
	} {
		if got, ok := Only(line, a, repoOf("Cargo.toml")); ok != (want != "") || ok && (got.Line != want || !got.Both) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestSays(t *testing.T) {
	repo := repoOf(`package.json={"scripts": {"test": "npm run x --", "x": "mocha --require ./test/setup.js", "y": "other"}, "mocha": {"file": "first.js"}}`, ".mocharc.json={\"spec\": \"hooks.js\"}")
	one, ok := FindOneCall("npm test", repo)
	if !ok || !one.Together || one.Language != ecosystem.Node {
		t.Fatalf("%+v", one)
	}
	py, _ := FindOneCall("pytest", repoOf("pyproject.toml=[project]\nname = \"x\"\n[tool.pytest.ini_options]\naddopts = \"-p plug\"\n[tool.y]\nz = 1\n"))
	tables := py.Says
	if !strings.Contains(tables, "-p plug") || strings.Contains(tables, "name") || strings.Contains(tables, "z") {
		t.Errorf("%q", tables)
	}
	for text, want := range map[string]bool{"setup.js": true, "first.js": true, "hooks.js": true, "other": false} {
		if got := strings.Contains(one.Says, text); got != want {
			t.Errorf("%s: %t in %s", text, got, one.Says)
		}
	}
}
