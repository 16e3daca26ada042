package check_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/testreport"
)

// runsOnly narrows a line to what is affected and looks which tests then run.
func runsOnly(t *testing.T, w *world, line string, a ecosystem.Affected, want map[string]agency.TestStatus) {
	t.Helper()
	n, ok := check.Only(line, a, os.DirFS(w.dir))
	if !ok {
		t.Fatalf("`%s` is not narrowed", line)
	}
	r := w.run(w.subject(""), test(n.Line))
	if !r.Parsed || !r.OK() {
		t.Errorf("`%s`: exit code %d, cause %q, parsed %t\n%s", n.Line, r.ExitCode, r.Cause, r.Parsed, r.Output)
	}
	if diff := cmp.Diff(want, statuses(r)); diff != "" {
		t.Errorf("`%s` (-want +got):\n%s\n%s", n.Line, diff, r.Output)
	}
	for name := range want {
		if slices.Contains(a.Hit, testreport.FileOf(name)) && n.Left(name) {
			t.Errorf("`%s` runs %s and says that it does not", n.Line, name)
		}
	}
}

func TestOnlyRuns(t *testing.T) {
	t.Parallel()
	const nodeTest = "const { test } = require('node:test');\n"
	for name, tt := range map[string]struct {
		needs []string
		line  string
		files map[string]string
		a     ecosystem.Affected
		want  map[string]agency.TestStatus
	}{
		"node": {
			[]string{"node", "--test", "--help"},
			"npm test",
			map[string]string{
				"package.json": `{"scripts": {"test": "node --test test/"}}`, "src/a.js": "module.exports = 1;\n",
				"test/a.test.js": nodeTest + "test('a', () => { require('../src/a'); });\n", "test/b.test.js": nodeTest + "test('b', () => {});\n",
			},
			ecosystem.Affected{Hit: []string{"src/a.js", "test/a.test.js"}, Code: []string{"src/a.js", "test/a.test.js", "test/b.test.js"}},
			map[string]agency.TestStatus{"test/a.test.js > a": passed},
		},
		"pytest": {
			[]string{"/usr/bin/python3", "-c", "import pytest"},
			"/usr/bin/python3 -m pytest -q tests",
			map[string]string{"p/a.py": "x = 1\n", "tests/test_a.py": "def test_a(): pass\n", "tests/sub/test_b.py": "def test_b(): pass\n", "conftest.py": ""},
			ecosystem.Affected{Hit: []string{"p/a.py", "tests/test_a.py"}, Code: []string{"p/a.py", "tests/test_a.py", "tests/sub/test_b.py"}},
			map[string]agency.TestStatus{"tests/test_a.py::test_a": passed},
		},
		"unittest": {
			[]string{"/usr/bin/python3", "-c", "import unittest"},
			"/usr/bin/python3 -m unittest discover -s tests",
			map[string]string{
				"p/a.py": "x = 1\n", "tests/test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n",
				"tests/test_b.py": "import unittest\nclass B(unittest.TestCase):\n    def test_b(self): pass\n",
			},
			ecosystem.Affected{Hit: []string{"p/a.py", "tests/test_a.py"}, Code: []string{"p/a.py", "tests/test_a.py", "tests/test_b.py"}},
			map[string]agency.TestStatus{"test_a.A.test_a": passed},
		},
		"cargo": {
			[]string{"cargo", "--version"},
			"cargo test --workspace",
			map[string]string{
				"Cargo.toml":     "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"2\"\n",
				"Cargo.lock":     "version = 3\n\n[[package]]\nname = \"one\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"two\"\nversion = \"0.1.0\"\n",
				"one/Cargo.toml": "[package]\nname = \"one\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ndoctest = false\n",
				"two/Cargo.toml": "[package]\nname = \"two\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ndoctest = false\n",
				"one/src/lib.rs": "#[test]\nfn first() {}\n", "two/src/lib.rs": "#[test]\nfn second() {}\n",
			},
			ecosystem.Affected{Packages: []string{"two"}, All: []string{"one", "two"}},
			map[string]agency.TestStatus{"two::second": passed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			needs(t, tt.needs[0], tt.needs[1:]...)
			w := newWorld(t, tt.files)
			w.checker = check.New(check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Environment: ecosystem.Environment{Tools: toolsOf(t, w.dir)}})
			runsOnly(t, w, tt.line, tt.a, tt.want)
		})
	}
}

// TestRealAffected narrows and measures Jest, Vitest and Mocha as npm installs
// them: what their own options mean no recording tells.
func TestRealAffected(t *testing.T) {
	if !*realRunners {
		t.Skip("needs -real, npm and a registry")
	}
	const src = "module.exports = (a) => {\n  if (a > 0) {\n    return 1;\n  }\n  return 2;\n};\n"
	for name, tt := range map[string]struct {
		line, at string
		install  []string
		files    map[string]string
		covered  bool
	}{
		"jest": {"npm test", "test/a.test.js", []string{"jest"}, map[string]string{
			"src/a.js": src, "test/a.test.js": "const f = require('../src/a');\ntest('a', () => { f(1); });\n", "test/b.test.js": "test('b', () => {});\n",
		}, true},
		"mocha": {"npx mocha", "test/a.test.js", []string{"mocha"}, map[string]string{
			"src/a.js": src, "test/a.test.js": "const f = require('../src/a');\nit('a', () => { f(1); });\n", "test/b.test.js": "it('b', () => {});\n",
		}, true},
		"vitest": {"npx vitest run", "test/a.test.js", []string{"vitest@3", "@vitest/coverage-v8@3"}, map[string]string{
			"src/a.js": "export default (a) => {\n  if (a > 0) {\n    return 1;\n  }\n  return 2;\n};\n", "test/a.test.js": "import { test } from 'vitest';\nimport f from '../src/a';\ntest('a', () => { f(1); });\n",
			"test/b.test.js": "import { test } from 'vitest';\ntest('b', () => {});\n",
		}, true},
		"vitest without what measures": {"npx vitest run", "test/a.test.js", []string{"vitest@3"}, map[string]string{
			"src/a.js": "export default 1;\n", "test/a.test.js": "import { test } from 'vitest';\nimport '../src/a';\ntest('a', () => {});\n",
			"test/b.test.js": "import { test } from 'vitest';\ntest('b', () => {});\n",
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.files["package.json"] = `{"name": "x", "version": "1.0.0", "scripts": {"test": "jest"}}`
			w := newWorld(t, tt.files)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			npm := exec.CommandContext(ctx, "npm", append([]string{"install", "--no-audit", "--no-fund"}, tt.install...)...)
			npm.Dir = w.dir
			if out, err := npm.CombinedOutput(); err != nil {
				t.Fatalf("npm install: %v\n%s", err, out)
			}
			w.checker = check.New(check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Environment: ecosystem.Environment{Tools: toolsOf(t, w.dir)}})
			a := ecosystem.Affected{Hit: []string{"src/a.js"}, Code: []string{"src/a.js", "test/a.test.js", "test/b.test.js"}}
			if name == "mocha" { // which knows of no imports
				a.Hit = append(a.Hit, tt.at)
			}
			runsOnly(t, w, tt.line, a, map[string]agency.TestStatus{tt.at + " > a": passed})

			s := w.subject("tree")
			s.Measure = []string{"src/a.js"}
			r := w.run(s, test(tt.line))
			files, _, err := w.checker.LastCoverage(t.Context(), s.Run, s.Contract)
			if !r.OK() || r.Passed != 2 || (err == nil) != tt.covered {
				t.Fatalf("%+v, %v", r, err)
			}
			got := check.OfChange(files, map[string][]check.Lines{"src/a.js": {{From: 1, To: 100}}})
			if tt.covered && (len(got.Missed) != 1 || !strings.HasPrefix(got.Missed[0], "src/a.js:5")) {
				t.Errorf("%+v of %+v", got, files)
			}
		})
	}
}
