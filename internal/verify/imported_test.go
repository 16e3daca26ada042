package verify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/verify"
)

func jsTest(name, lib string) string {
	return "const { test } = require('node:test');\nconst assert = require('node:assert');\ntest('" + name + "', () => { assert.equal(require('../src/" + lib + "'), 1); });\n"
}

func nodeFiles() map[string]string {
	return map[string]string{
		"package.json": `{"scripts": {"test": "node --test test/"}}`,
		"src/one.js":   "module.exports = 1;\n", "src/uses.js": "module.exports = require('./one');\n", "src/lone.js": "module.exports = 1;\n", "src/untested.js": "module.exports = 1;\n",
		"test/first.test.js": jsTest("first", "uses"), "test/second.test.js": jsTest("second", "lone"), "test/third.test.js": jsTest("third", "lone"),
		"data.json": "{}\n",
	}
}

// known makes a world whose suite is known to take long enough to be narrowed.
func known(t *testing.T, files map[string]string, line string, first map[string]string) *world {
	t.Helper()
	w := newWorld(t, files)
	w.commands.Build, w.commands.Typecheck, w.commands.Lint, w.commands.Setup, w.commands.Test = "", "", "", "", line
	w.options.AffectedAbove = time.Nanosecond
	w.verifier = verify.New(w.options)
	if v := w.verify(w.change(first)); !v.Pass || v.Partial {
		t.Fatalf("%+v", v)
	}
	return w
}

// A claim runs the tests that its change can affect, its landing all; what is
// left out hides nothing and weakens nothing.
func TestImportsNarrowClaims(t *testing.T) {
	needs(t, "node", "--test", "--help")
	w := known(t, nodeFiles(), "npm test", map[string]string{"test/new.test.js": jsTest("new", "lone")})
	const narrowed = `claim: (PATH="$PWD/node_modules/.bin:$PATH"; export PATH; node --test `

	at := len(w.receipts())
	spec := w.change(map[string]string{"src/one.js": "module.exports = 2 - 1;\n", "test/more.test.js": jsTest("more", "one")})
	v := w.verify(spec)
	wants(t, v, true, "only the tests ran that the change can affect")
	if !v.Partial || !slices.Equal(v.NewlyPass, []string{"test/more.test.js > more"}) || len(v.Weakened) > 0 {
		t.Errorf("verdict %+v", v)
	}
	if v.Coverage == nil || v.Coverage.Covered != 1 || v.Coverage.Lines != 1 {
		t.Errorf("coverage %+v", v.Coverage)
	}
	if diff := cmp.Diff([]string{narrowed + "test/first.test.js test/more.test.js)"}, w.ran(at)); diff != "" {
		t.Error(diff)
	}
	at = len(w.receipts())
	spec.Criteria = nil
	if v, err := w.verifier.VerifyTree(t.Context(), "land", spec); err != nil || !v.Pass || v.Partial {
		t.Errorf("%+v, %v", v, err)
	}
	if diff := cmp.Diff([]string{"landing: npm test"}, w.ran(at)); diff != "" {
		t.Error(diff)
	}

	for name, tt := range map[string]struct {
		files  map[string]string
		pass   bool
		reason string
		want   string // how the claim's last whole or narrowed run begins
	}{
		"a regression through a chain": {map[string]string{"src/one.js": "module.exports = 2;\n"}, false, "regression: test/first.test.js > first", narrowed},
		"a test is taken away":         {map[string]string{"test/first.test.js": "", "src/one.js": "module.exports = 0 + 1;\n", "test/f.test.js": jsTest("f", "one")}, false, "weakened: test deleted: test/first.test.js > first", ""},
		"nothing that is tested":       {map[string]string{"src/untested.js": "module.exports = 2;\n"}, true, "", "claim: npm test"},
		"data":                         {map[string]string{"data.json": "[]\n", "src/one.js": "module.exports = 3 - 2;\n"}, true, "", "claim: npm test"},
		"the script":                   {map[string]string{"package.json": `{"scripts": {"test": "node --test test/"}, "x": 1}`}, true, "", "claim: npm test"},
		"what is loaded by no name":    {map[string]string{"src/one.js": "const n = './lone';\nmodule.exports = require(n);\n", "test/second.test.js": jsTest("second", "lone") + "\nrequire(process.argv[1]);\n"}, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			at := len(w.receipts())
			v := w.verify(w.change(tt.files))
			wants(t, v, tt.pass, tt.reason)
			if ran := w.ran(at); tt.want != "" && !slices.ContainsFunc(ran, func(s string) bool { return strings.HasPrefix(s, tt.want) }) || v.NoneRan {
				t.Errorf("ran %q, verdict %+v", ran, v)
			}
			if whole := tt.want == "claim: npm test"; whole == v.Partial && tt.want != "" {
				t.Errorf("partial is %t", v.Partial)
			}
		})
	}
	t.Run("a criterion's test is never left out", func(t *testing.T) {
		w.t = t
		spec := w.change(map[string]string{"src/one.js": "module.exports = 4 - 3;\n"})
		spec.Criteria = []agency.Criterion{{ID: "x", Check: &agency.Check{Test: "second"}}}
		if v := w.verify(spec); !v.Pass || v.Partial || v.Proofs[0].Proof == agency.ProofOpen {
			t.Errorf("verdict %+v", v)
		}
	})
}

// Where all tests share a process, what is red without the others is judged with
// them.
func TestImportsInOneProcess(t *testing.T) {
	needs(t, "/usr/bin/python3", "-c", "import pytest")
	w := known(t, map[string]string{
		"p/__init__.py": "", "p/a.py": "def f(): return 1\n", "p/b.py": "from p import a\n", "p/c.py": "x = 1\n",
		"tests/test_b.py": "from p.b import a\ndef test_b(): assert a.f() == 1\n", "tests/test_c.py": "from p import c\ndef test_c(): assert c.x == 1\n",
	}, "/usr/bin/python3 -m pytest -q", map[string]string{"tests/test_new.py": "def test_new(): pass\n"})
	at := len(w.receipts())
	v := w.verify(w.change(map[string]string{"p/a.py": "def f(): return 2 - 1\n"}))
	wants(t, v, true)
	ran := slices.DeleteFunc(w.ran(at), func(r string) bool { return !strings.HasPrefix(r, "claim: ") }) // trials may follow
	if diff := cmp.Diff([]string{"claim: /usr/bin/python3 -m pytest --ignore=tests/test_c.py -q"}, ran); diff != "" || !v.Partial {
		t.Errorf("partial %t, %s", v.Partial, diff)
	}
	at = len(w.receipts())
	v = w.verify(w.change(map[string]string{"p/a.py": "def f(): return 2\n"}))
	wants(t, v, false, "regression: tests/test_b.py::test_b")
	if v.Partial || !slices.Contains(w.ran(at), "claim: /usr/bin/python3 -m pytest -q") {
		t.Errorf("partial %t, %q", v.Partial, w.ran(at))
	}
}

// A part of the suite in which nothing is tested says nothing.
func TestNarrowedToNothing(t *testing.T) {
	files := chainFiles()
	files["e/e.go"] = "package e\n"
	w := known(t, files, "go test ./...", map[string]string{"d/new_test.go": "package d\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {}\n"})
	at := len(w.receipts())
	v := w.verify(w.change(map[string]string{"e/e.go": "package e\n\nconst E = 1\n"}))
	wants(t, v, true)
	// Whether there is time left to try other values, the load decides.
	ran := slices.DeleteFunc(w.ran(at), func(r string) bool { return !strings.HasPrefix(r, "claim: ") })
	if diff := cmp.Diff([]string{"claim: go test ex.com/p/e", "claim: go test ./..."}, ran); diff != "" || v.Partial || v.NoneRan {
		t.Errorf("verdict %+v, %s", v, diff)
	}
}
