package check_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/check"
)

// TestCoverage measures one function of which half runs, in three languages,
// and finds the result again in the store.
func TestCoverage(t *testing.T) {
	t.Parallel()
	needs(t, "node", "--test", "--help")
	needs(t, "/usr/bin/python3", "-c", "import coverage")
	w := newWorld(t, map[string]string{
		"go.mod": goMod, "p.go": "package p\n\nfunc F(a int) int {\n\tif a > 0 {\n\t\treturn 1\n\t}\n\treturn 2\n}\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { F(1) }\n",
		"f.js":      "module.exports = (a) => {\n  if (a > 0) {\n    return 1;\n  }\n  return 2;\n};\n",
		"f.test.js": "const f = require('./f.js');\nrequire('node:test').test('f', () => { f(1); });\n",
		"f.py":      "def f(a):\n    if a > 0:\n        return 1\n    return 2\n",
		"test_f.py": "import unittest\nfrom f import f\nclass F(unittest.TestCase):\n    def test_f(self): f(1)\n",
	})
	s := w.subject("tree")
	s.Coverage = true
	for line, want := range map[string]check.FileCoverage{
		"go test ./...":                   {Path: "p.go", Ran: []check.Lines{{From: 3, To: 6}}, Missed: []check.Lines{{From: 7, To: 7}}},
		"node --test":                     {Path: "f.js", Ran: []check.Lines{{From: 1, To: 3}}, Missed: []check.Lines{{From: 5, To: 5}}},
		"/usr/bin/python3 -m unittest":    {Path: "f.py", Ran: []check.Lines{{From: 1, To: 3}}, Missed: []check.Lines{{From: 4, To: 4}}},
		"/usr/bin/python3 -m pytest -q .": {Path: "f.py", Ran: []check.Lines{{From: 1, To: 3}}, Missed: []check.Lines{{From: 4, To: 4}}},
	} {
		r := w.run(s, test(line))
		files, of, err := w.checker.LastCoverage(t.Context(), s.Run, s.Contract)
		if err != nil || of != r.ID {
			t.Errorf("%s: %s, %v\n%s", line, of, err, r.Output)
			continue
		}
		found := false
		for _, f := range files {
			if f.Path == want.Path {
				found = true
				if diff := cmp.Diff(want, f); diff != "" {
					t.Errorf("%s (-want +got):\n%s", line, diff)
				}
			}
		}
		if !found {
			t.Errorf("%s: %+v\n%s", line, files, r.Output)
		}
		got := check.OfChange(files, map[string][]check.Lines{want.Path: {{From: 1, To: 100}}})
		if got.Covered+1 != got.Lines || len(got.Missed) != 1 {
			t.Errorf("%s: %+v", line, got)
		}
	}
	measuredInPassing(t, w)
	measuredByEngine(t)
	if _, _, err := w.checker.LastCoverage(t.Context(), "another", ""); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("%v", err)
	}
}

// measuredInPassing finds the same out of the changed files alone, and its green
// receipt is as good as that of a plain run.
func measuredInPassing(t *testing.T, w *world) {
	t.Helper()
	for line, file := range map[string]string{
		"go test ./...": "p.go", "/usr/bin/python3 -m unittest": "f.py", "/usr/bin/python3 -m pytest -q test_f.py": "f.py",
		"node --test": "f.js",
	} {
		s := w.subject("tree of " + line)
		s.Measure = []string{"f.js", "f.py", "p.go", "none.py"}
		r := w.run(s, test(line))
		files, of, err := w.checker.LastCoverage(t.Context(), s.Run, s.Contract)
		if err != nil || of != r.ID || !r.OK() {
			t.Fatalf("%s: %s, %v\n%s", line, of, err, r.Output)
		}
		got := check.OfChange(files, map[string][]check.Lines{file: {{From: 1, To: 100}}})
		if got.Covered+1 != got.Lines || len(got.Missed) != 1 {
			t.Errorf("%s: %+v of %+v", line, got, files)
		}
		plain := w.subject("tree of " + line)
		plain.Contract = "another"
		again := w.run(plain, test(line))
		if again.CopyOf != r.ID {
			t.Errorf("%s: a plain check ran again: %+v", line, again)
		}
		if files, of, err := w.checker.LastCoverage(t.Context(), s.Run, "another"); err != nil || of != again.ID || len(files) == 0 {
			t.Errorf("%s: what was measured is lost with the copy: %v", line, err)
		}
	}
}

// measuredByEngine finds nothing of a file that ran otherwise than it is written,
// and that one which nothing loads runs nowhere.
func measuredByEngine(t *testing.T) {
	t.Helper()
	w := newWorld(t, map[string]string{
		"package.json": `{"scripts": {"test": "node --require ./rewrite.js --test"}}`,
		"rewrite.js":   "const m = require('module');\nconst fs = require('fs');\nm._extensions['.cjs'] = (mod, f) => mod._compile('/* more */' + fs.readFileSync(f, 'utf8'), f);\n",
		"lib/a.cjs":    "module.exports = 1;\n", "lib/b.js": "module.exports = (a) => {\n  return a;\n};\n", "lib/c.js": "const x = 1;\n\n// nothing\nmodule.exports = x;\n",
		"lib/end.test.js": "const { test } = require('node:test');\nrequire('./a.cjs');\nconst b = require('./b.js');\ntest('x', () => { b(1); if (process.env.NODE_V8_COVERAGE) throw new Error('seen'); });\n",
	})
	s := w.subject("tree")
	s.Measure = []string{"lib/a.cjs", "lib/b.js", "lib/c.js"}
	r := w.run(s, test("npm test"))
	files, _, err := w.checker.LastCoverage(t.Context(), s.Run, s.Contract)
	if !r.OK() || err != nil {
		t.Fatalf("%v\n%s", err, r.Output)
	}
	want := []check.FileCoverage{{Path: "lib/b.js", Ran: []check.Lines{{From: 1, To: 2}}}, {Path: "lib/c.js", Missed: []check.Lines{{From: 1, To: 1}, {From: 4, To: 4}}}}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
