package verify_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/verify/verifytest"
)

// needyTest passes only after TestAdd has run in the same process: alone it
// fails on any tree.
const needyTest = `package p

import "testing"

var warm bool

func TestAaFirst(t *testing.T) { warm = true }

func TestNeedy(t *testing.T) {
	if !warm {
		t.Fatal("cold")
	}
	if Add(1, 2) != 3 {
		t.Error("sum")
	}
}
`

// A regression is never washed out as chance: not where the test fails alone on
// the base too, and not where no test can be run alone.
func TestRegressionsAreNotFlaky(t *testing.T) {
	files := baseFiles()
	files["aa_test.go"] = needyTest
	w := newWorld(t, files)
	wrong := map[string]string{"sub.go": goodGo, "add.go": strings.Replace(addGo, "+", "-", 1)}
	v := w.verify(w.change(wrong))
	wants(t, v, false, "regression: ex.com/p.TestAdd", "regression: ex.com/p.TestNeedy", "ex.com/p.TestNeedy fails alone on the base too, so it was judged by more runs")
	if len(v.Flaky) > 0 || !slices.Equal(v.Regressions, []string{"ex.com/p.TestAdd", "ex.com/p.TestNeedy"}) {
		t.Errorf("verdict %+v", v)
	}
	w.commands.Test = "go test -run . ./..."
	v = w.verify(w.change(wrong))
	wants(t, v, false, "regression: ex.com/p.TestAdd", "cannot run a single test", "judged by runs of the whole suite")
	if len(v.Flaky) > 0 {
		t.Errorf("flaky: %v", v.Flaky)
	}
}

// A test that ends its process takes those after it along: they are not
// deleted. One that is gone is, whatever else fails.
func TestCrashedTestsAreNotDeleted(t *testing.T) {
	w := newWorld(t, baseFiles())
	v := w.verify(w.change(map[string]string{"add.go": "package p\n\nfunc Add(a, b int) int { panic(a) }\n"}))
	wants(t, v, false, "regression: ex.com/p.TestAdd")
	if len(v.Weakened) > 0 {
		t.Errorf("weakened: %v", v.Weakened)
	}
}

func TestCommandsThatRunNothing(t *testing.T) {
	w := newWorld(t, baseFiles())
	none := func() agency.Verdict { return w.verify(w.change(map[string]string{"x.txt": "x"})) }
	w.commands.Test = "echo all tests pass"
	if v := none(); !v.NoneRan || !v.WeakProof {
		t.Errorf("verdict %+v", v)
	}
	w.commands.Test = "go test -run TestNobodyHasThis ./..."
	v := none()
	wants(t, v, true, "passes and no test ran: nothing was tested")
	if !v.NoneRan || v.Proofs[0].Proof != agency.ProofAsserted {
		t.Errorf("verdict %+v", v)
	}
	w.commands.Test = "echo a module is missing; exit 1"
	if v := none(); !v.Pass || !v.NoneRan {
		t.Errorf("red on both sides: verdict %+v", v)
	}
}

// What ends the tests may stand in a file that the change leaves alone, and be
// called by one that is new.
func TestForgingThroughTheRestOfThePackage(t *testing.T) {
	files := map[string]string{
		"go.mod": goMod, "main.go": "package main\n\nimport \"os\"\n\nfunc main() { fail(1) }\n\nfunc fail(code int) int {\n\tos.Exit(code)\n\treturn 0\n}\n",
		"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestWrong(t *testing.T) { t.Error(1) }\n",
	}
	w := newWorld(t, files)
	v := w.verify(w.change(map[string]string{"start.go": "package main\n\nvar _ = fail(0)\n"}))
	wants(t, v, false, "weakened: code that knows of its tests: start.go (an initialiser ends the process)")
	for _, p := range v.Proofs {
		if p.Proof == agency.ProofVerified {
			t.Errorf("verified by tests that the change ends: %+v", p)
		}
	}
}

// The tests that a contract did not say it would write stay as they are; what it
// declares it may change, but not to assert less.
func TestDeclaredWrites(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{
		"sub.go":      goodGo,
		"add_test.go": strings.Replace(addTest, "Add(1, 2) != 3", "Add(1, 2) != 3 || Add(0, 0) != 0", 1),
		"sub_test.go": strings.Replace(subTest, "\t\tt.Error(\"difference\")\n", "", 1),
	})
	spec.Writes = []string{"sub*.go"}
	v := w.verify(spec)
	wants(t, v, false, "weakened: test edited outside of the declared writes: add_test.go", "weakened: fewer assertions: sub_test.go: TestSub (0, was 1)")
	if len(v.Weakened) != 2 {
		t.Errorf("weakened: %v", v.Weakened)
	}
}

// A command whose output tells of no test is tried with nothing to test.
func TestCommandsThatHideThatNothingRan(t *testing.T) {
	for name, c := range verifytest.Some(map[string]struct {
		test   string
		files  map[string]string
		hollow bool
	}{
		"no runner, hidden":       {"nosuchrunner || true", nil, true},
		"no runner, in a recipe":  {"make test", map[string]string{"Makefile": "test:\n\t-nosuchrunner\n"}, true},
		"a folder of its name":    {"make test", map[string]string{"Makefile": "test:\n\tsh test/run.sh\n", "test/run.sh": "exit 1\n"}, true},
		"a script that only says": {"sh run.sh", map[string]string{"run.sh": "echo '0 examples, 0 failures'\n"}, true},
		"nothing is found":        {"find . -name 'test_*.sh' -exec sh {} \\;", nil, true},
		"an own runner":           {"sh run.sh", map[string]string{"run.sh": "grep -q right answer.txt && echo fine\n", "answer.txt": "right\n"}, false},
		"tests of a folder":       {"for f in tests/*.sh; do sh $f || exit 1; done", map[string]string{"tests/a.sh": "true\n"}, false},
		"what a line looks at":    {"test $(wc -c <answer.txt) = 6", map[string]string{"answer.txt": "right\n"}, false},
	}) {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a.txt": "a\n"}
			maps.Copy(files, c.files)
			w := newWorld(t, files)
			w.commands = check.Commands{Test: c.test}
			v := w.verify(w.change(map[string]string{"x.txt": "x"}))
			if v.NoneRan != c.hollow || !v.Pass || v.Proofs[0].Proof == agency.ProofVerified {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}
