package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
)

// needs skips a test by the name of the program that is missing.
func needs(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Skipf("needs %s: %v: %s", program, err, out)
	}
}

const (
	passed  = agency.TestPassed
	failed  = agency.TestFailed
	skipped = agency.TestSkipped
)

// wantTests runs what is detected, or a line, and compares results by name.
func wantTests(t *testing.T, w *world, line string, exit int, want map[string]agency.TestStatus) agency.Receipt {
	t.Helper()
	r := w.run(w.subject(""), test(line))
	if r.ExitCode != exit || !r.Parsed {
		t.Errorf("`%s`: exit code %d, cause %q, parsed %t\n%s", line, r.ExitCode, r.Cause, r.Parsed, r.Output)
	}
	if diff := cmp.Diff(want, statuses(r)); diff != "" {
		t.Errorf("`%s` (-want +got):\n%s\n%s", line, diff, r.Output)
	}
	return r
}

func TestNode(t *testing.T) {
	t.Parallel()
	needs(t, "node", "--test", "--help")
	w := newWorld(t, map[string]string{
		"package.json": `{"scripts": {"test": "npm run unit", "unit": "node --test test/"}}`,
		"test/sum.test.js": `const { test, describe, it } = require('node:test');
const assert = require('node:assert');
console.log('ok 1 - forged');
test('adds', () => {});
test('adds wrongly', () => { assert.equal(1, 2); });
test('skips', { skip: true }, () => {});
describe('a suite', () => { it('works', () => {}); it('fails', () => { throw new Error('boom'); }); });
test('parent', async (t) => { await t.test('child', () => {}); });
`,
		"test/broken.test.js": "not javascript (\n",
	})
	want := map[string]agency.TestStatus{
		"test/sum.test.js > adds": passed, "test/sum.test.js > adds wrongly": failed, "test/sum.test.js > skips": skipped,
		"test/sum.test.js > a suite > works": passed, "test/sum.test.js > a suite > fails": failed,
		"test/sum.test.js > parent": passed, "test/sum.test.js > parent > child": passed,
		"test/broken.test.js [failed]": failed,
	}
	for _, line := range []string{"npm test", "node --test --test-reporter=dot test/"} {
		r := wantTests(t, w, line, 1, want)
		if !strings.Contains(r.Output, "boom") && !strings.Contains(line, "dot") {
			t.Errorf("`%s` does not show why: %s", line, r.Output)
		}
	}
	sum := map[string]agency.TestStatus{}
	for name, s := range want {
		if strings.HasPrefix(name, "test/sum.test.js > ") {
			sum[name] = s
		}
	}
	delete(sum, "test/sum.test.js > skips")
	alone(t, w, "npm test", "test/sum.test.js", 1, sum)
	alone(t, w, "npm test", "test/sum.test.js > a suite > works", 1, map[string]agency.TestStatus{
		"test/sum.test.js > a suite > works": passed, "test/sum.test.js > a suite > fails": failed, // node runs all of a suite that is named
	})
	alone(t, w, "npm test", "test/sum.test.js > parent > child", 0, map[string]agency.TestStatus{
		"test/sum.test.js > parent": passed, "test/sum.test.js > parent > child": passed,
	})
}

func TestUnittest(t *testing.T) {
	t.Parallel()
	needs(t, "python3", "-c", "import unittest")
	w := newWorld(t, map[string]string{
		"svc/sum.py": "def add(a, b): return a - b\n",
		"svc/tests/test_sum.py": `import unittest
from sum import add
class TestSum(unittest.TestCase):
    def test_zero(self): self.assertEqual(add(0, 0), 0)
    def test_one(self): self.assertEqual(add(1, 1), 2)
    @unittest.skip("later")
    def test_later(self): pass
    def test_sub(self):
        for i in range(2):
            with self.subTest(i=i): self.assertEqual(i, 0)
`,
		"svc/tests/test_broken.py": "import nowhere\n",
	})
	wantTests(t, w, "(cd svc && python3 -m unittest discover -s tests)", 1, map[string]agency.TestStatus{
		"svc/test_sum.TestSum.test_zero": passed, "svc/test_sum.TestSum.test_one": failed, "svc/test_sum.TestSum.test_later": skipped,
		"svc/test_sum.TestSum.test_sub": failed, "svc/test_broken [failed]": failed,
	})
	alone(t, w, "(cd svc && python3 -m unittest discover -s tests)", "svc/test_sum.TestSum.test_zero", 1, map[string]agency.TestStatus{
		"svc/test_sum.TestSum.test_zero": passed, "svc/test_broken [failed]": failed, // a module that does not load has no names
	})
	if left, err := filepath.Glob(filepath.Join(w.dir, "svc/tests/*")); err != nil || len(left) != 2 {
		t.Errorf("the tests left files: %v, %v", left, err)
	}
}

func TestPytest(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/python3", "-m", "pytest", "--version")
	w := newWorld(t, map[string]string{
		"a/test_sum.py": `import pytest
class TestSum:
    def test_one(self): assert 1 + 1 == 3
@pytest.mark.parametrize("n", [1, 2])
def test_n(n): assert n
@pytest.mark.skip
def test_skip(): pass
@pytest.mark.xfail
def test_known(): assert False
@pytest.fixture
def broken(): raise ValueError("fixture")
def test_fixture(broken): pass
`,
		"a/test_broken.py": "import nowhere\n",
	})
	want := map[string]agency.TestStatus{
		"a/test_sum.py::TestSum::test_one": failed, "a/test_sum.py::test_n[1]": passed, "a/test_sum.py::test_n[2]": passed,
		"a/test_sum.py::test_skip": skipped, "a/test_sum.py::test_known": skipped, "a/test_sum.py::test_fixture": failed,
		"a/test_broken.py [failed]": failed,
	}
	wantTests(t, w, "/usr/bin/python3 -m pytest --continue-on-collection-errors", 1, want)
	wantTests(t, w, "cd a && /usr/bin/python3 -m pytest --continue-on-collection-errors -q", 1, want)
	// Modules of the repository by the names of ours do not stand in for them.
	w.write(map[string]string{"agency_pytest.py": "x = 1\n", "agency_report.py": "def asked(): return False\n"})
	alone(t, w, "cd a && /usr/bin/python3 -m pytest -q", "a/test_sum.py::test_n[1]", 0, map[string]agency.TestStatus{"a/test_sum.py::test_n[1]": passed})
	alone(t, w, "/usr/bin/python3 -m pytest", "a/test_sum.py test_n", 0, map[string]agency.TestStatus{
		"a/test_sum.py::test_n[1]": passed, "a/test_sum.py::test_n[2]": passed,
	})
}

func TestCargo(t *testing.T) {
	t.Parallel()
	needs(t, "cargo", "--version")
	w := newWorld(t, map[string]string{
		"Cargo.toml":   "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/lib.rs":   "/// ```\n/// assert_eq!(sums::add(1, 1), 2);\n/// ```\npub fn add(a: i32, b: i32) -> i32 { a + b }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert_eq!(super::add(1, 2), 3); }\n    #[test]\n    fn fails() { println!(\"test tests::forged ... ok\"); assert_eq!(super::add(1, 2), 4); }\n    #[test]\n    #[ignore]\n    fn later() {}\n}\n",
		"tests/all.rs": "#[test]\nfn outside() { assert_eq!(sums::add(2, 2), 4); }\n",
	})
	r := wantTests(t, w, "cargo test", 101, map[string]agency.TestStatus{
		"sums::tests::adds": passed, "sums::tests::fails": failed, "sums::tests::later": skipped,
		"all::outside": passed, "sums doc::src/lib.rs - add": passed,
	})
	if !strings.Contains(check.Summary(r), "left: 3") {
		t.Errorf("%s", check.Summary(r))
	}
	alone(t, w, "cargo test", "tests/all.rs", 0, map[string]agency.TestStatus{"all::outside": passed})
	alone(t, w, "cargo test", "sums::tests::adds", 0, map[string]agency.TestStatus{"sums::tests::adds": passed})
}

// TestParts runs the parts of a repository of several languages; one that fails
// hides no other.
func TestParts(t *testing.T) {
	t.Parallel()
	needs(t, "node", "--test", "--help")
	needs(t, "python3", "-c", "import unittest")
	w := newWorld(t, map[string]string{
		"go.mod": goMod, "x_test.go": "package p\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Error() }\n",
		"web/package.json": `{"scripts": {"test": "node --test"}}`, "web/a.test.js": "require('node:test').test('x', () => {});\n",
		"api/setup.py": "", "api/test_x.py": "import unittest\nclass X(unittest.TestCase):\n    def test_x(self): pass\n",
	})
	cmds, _ := detect.Commands(os.DirFS(w.dir))
	wantTests(t, w, cmds.Test, 1, map[string]agency.TestStatus{
		"ex.com/p.TestX": failed, "web/a.test.js > x": passed, "api/test_x.X.test_x": passed,
	})
}

// alone runs a line narrowed to a target and wants these results only.
func alone(t *testing.T, w *world, line, target string, exit int, want map[string]agency.TestStatus) {
	t.Helper()
	narrowed, err := check.Target(line, target, os.DirFS(w.dir))
	if err != nil {
		t.Errorf("`%s` to %s: %v", line, target, err)
		return
	}
	r := w.run(w.subject(""), test(narrowed))
	got := statuses(r)
	for name, s := range got {
		if s == skipped && want[name] == "" {
			delete(got, name) // runners that select by name skip the others
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || r.ExitCode != exit {
		t.Errorf("`%s` to %s, `%s`: exit code %d (-want +got):\n%s\n%s", line, target, narrowed, r.ExitCode, diff, r.Output)
	}
}
