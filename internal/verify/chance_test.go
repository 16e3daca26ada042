package verify_test

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
)

// A new test that leaves global state behind makes another one red in every run
// of the suite and in none alone: that is the change's work, not chance, though
// another order may hide it.
func TestStateLeftBehindIsNoChance(t *testing.T) {
	files := baseFiles()
	files["add.go"] = "package p\n\nvar offset int\n\nfunc Add(a, b int) int { return a + b + offset }\n"
	w := newWorld(t, files)
	v := w.verify(w.change(map[string]string{
		"sub.go": goodGo, "aa_test.go": "package p\n\nimport \"testing\"\n\nfunc TestAa(t *testing.T) { offset = 1 }\n",
	}))
	wants(t, v, false, "regression: ex.com/p.TestAdd")
	if len(v.Flaky) > 0 || !slices.Equal(v.Regressions, []string{"ex.com/p.TestAdd"}) {
		t.Errorf("verdict %+v", v)
	}
	said := strings.Join(v.Reasons, "\n")
	if !strings.Contains(said, "what the change lets run before it") && !strings.Contains(said, "passes alone and fails in every run of the whole suite") {
		t.Errorf("nothing says why: %q", v.Reasons)
	}
	if n := len(w.ran(0)); n > 8 {
		t.Errorf("%d runs for one red test: %q", n, w.ran(0))
	}
}

// orderTest is green alone, and red in the order that the code chooses.
const orderTest = `package p

import (
	"flag"
	"testing"
)

func TestOrder(t *testing.T) {
	shuffled := flag.Lookup("test.shuffle").Value.String() != "off"
	if flag.Lookup("test.run").Value.String() == "" && (shuffled && redShuffled || !shuffled && redInOrder) {
		t.Fatal("out of order")
	}
}
`

// What another order makes green is chance only where another order makes it red
// on the base: there the order told before the change.
func TestOrderIsAskedOfTheBase(t *testing.T) {
	order := func(inOrder, shuffled string) string {
		return "package p\n\nconst (\n\tredInOrder = " + inOrder + "\n\tredShuffled = " + shuffled + "\n)\n"
	}
	for name, flaky := range map[string]bool{"true": true, "false": false} {
		t.Run("red in another order on the base: "+name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"go.mod": goMod, "order.go": order("false", name), "order_test.go": orderTest})
			v := w.verify(w.change(map[string]string{"order.go": order("true", "false")}))
			if flaky {
				wants(t, v, true, "flaky: ex.com/p.TestOrder gives mixed results")
			} else {
				wants(t, v, false, "regression: ex.com/p.TestOrder", "passes in another: what the change lets run before it makes it fail")
			}
			if len(v.Flaky) > 0 != flaky {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

// chanceTest is red in every second run on code that is not steady.
const chanceTest = `package p

import (
	"os"
	"path/filepath"
	"testing"
)

func TestChance(t *testing.T) {
	if steady {
		return
	}
	mark := filepath.Join(os.Getenv("GOCACHE"), "chance")
	if _, err := os.Stat(mark); err != nil {
		_ = os.WriteFile(mark, nil, 0o600)
		t.Fatal("first run")
	}
	_ = os.Remove(mark)
}
`

// A test that the base gave both ways is no proof that the claim mended it, and
// its baseline is not kept.
func TestChanceOnTheBaseProvesNothing(t *testing.T) {
	files := map[string]string{
		"go.mod": goMod, "add.go": addGo, "add_test.go": addTest,
		"steady.go": "package p\n\nconst steady = false\n", "chance_test.go": chanceTest,
	}
	w := newWorld(t, files)
	claim := map[string]string{"steady.go": "package p\n\nconst steady = true\n"}
	for range 2 {
		at := len(w.receipts())
		claim["n.txt"] += "x"
		v := w.verify(w.change(claim))
		wants(t, v, true, "ex.com/p.TestChance gave both in two runs on the base")
		if !slices.Equal(v.Flaky, []string{"ex.com/p.TestChance"}) || len(v.NewlyPass) > 0 || v.Proofs[0].Proof != agency.ProofAsserted {
			t.Errorf("verdict %+v", v)
		}
		ran := slices.DeleteFunc(w.ran(at), func(s string) bool { return s != "base: go test ./..." })
		if len(ran) != 2 {
			t.Errorf("the base ran %d times: a baseline of chance was kept", len(ran))
		}
	}
}

// What was red on the base in two runs is so for every claim that comes after.
func TestBaseRunsTwiceOnce(t *testing.T) {
	w := newWorld(t, baseFiles())
	for n, want := range []int{2, 0} {
		at := len(w.receipts())
		spec := w.change(map[string]string{"sub.go": goodGo, "n.txt": strings.Repeat("x", n+1)})
		spec.Contract = agency.ContractID("c" + strings.Repeat("x", n))
		v := w.verify(spec)
		wants(t, v, true)
		if v.Proofs[0].Proof != agency.ProofVerified {
			t.Errorf("verdict %+v", v)
		}
		ran := slices.DeleteFunc(w.ran(at), func(s string) bool { return !strings.HasPrefix(s, "base: ") })
		if len(ran) != want {
			t.Errorf("claim %d: the base ran %d times, want %d", n, len(ran), want)
		}
	}
}

// A gate that was red before hides nothing that is new, and what was there
// before fails nobody, wherever its line is now.
func TestGatesAreComparedByFindings(t *testing.T) {
	const bad = "package p\n\nimport \"fmt\"\n\nfunc V() { fmt.Printf(\"%d\", \"x\") }\n"
	files := baseFiles()
	files["vet.go"] = bad
	files["broken/b.go"] = "package broken\n\nfunc F() int { return \"\" }\n"
	w := newWorld(t, files)
	w.commands.Test = "go test -vet=off . "
	v := w.verify(w.change(map[string]string{"sub.go": goodGo, "vet.go": strings.Replace(bad, "func V", "// moved\n\nfunc V", 1)}))
	wants(t, v, true, "lint: `go vet ./...` fails on the base too", "complains of nothing new (compared finding by finding)",
		"lint: red before too: vet.go: fmt.Printf format %d has arg", "build: red before too: broken/b.go: cannot use")

	v = w.verify(w.change(map[string]string{"sub.go": goodGo, "more.go": strings.Replace(bad, "func V", "func W", 1)}))
	wants(t, v, false, "lint: `go vet ./...` failed before too, and complains of more now", "lint: new: more.go: fmt.Printf format %d has arg", "lint: red before too: vet.go:")

	v = w.verify(w.change(map[string]string{"sub.go": goodGo, "other/o.go": "package other\n\nfunc F() int { return \"\" }\n"}))
	wants(t, v, false, "build: new: other/o.go: cannot use", "build: red before too: broken/b.go: cannot use")
	if v.Proofs[0].Note != "not checked: the commands before the tests fail" {
		t.Errorf("verdict %+v", v)
	}
}

// So is a test command whose results nobody can read, line by line.
func TestUnreadableTestsAreCompared(t *testing.T) {
	files := baseFiles()
	files["run.sh"] = "echo took 0.$$ s in /tmp/x$$/y\ncat said.txt\nexit 1\n"
	files["said.txt"] = "the first part is bad\n2 failed\n"
	w := newWorld(t, files)
	w.commands.Test = "sh run.sh"
	wants(t, w.verify(w.change(map[string]string{"sub.go": goodGo, "said.txt": "the first part is bad\n1 failed\n"})), true,
		"compared line by line, for its output names no places", "tests: red before too: the first part is bad")
	wants(t, w.verify(w.change(map[string]string{"said.txt": "the first part is bad\n2 failed\nthe second one too\n"})), false, "tests: new: the second one too")
	wants(t, w.verify(w.change(map[string]string{"said.txt": "the first part is bad\n3 failed\n"})), false, "tests: new: # failed")
	wants(t, w.verify(w.change(map[string]string{"run.sh": "exit 1\n"})), false, "it says nothing any more")
}

// Subtests that are named after what differs from run to run are judged through
// their test: none of them is ever gone, or newly passing.
func TestVolatileNamesProveNothing(t *testing.T) {
	test := func(body string) string {
		return "package p\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestV(t *testing.T) {\n\tfor range 3 {\n\t\tt.Run(fmt.Sprintf(\"%p\", new([64]int)), func(t *testing.T) {" + body + "})\n\t}\n\tt.Run(t.TempDir(), func(t *testing.T) {" + body + "})\n}\n"
	}
	files := baseFiles()
	files["sub.go"] = goodGo
	files["v_test.go"] = test("")
	w := newWorld(t, files)
	v := w.verify(w.change(map[string]string{"add.go": addGo + "\nfunc Inc(a int) int { return a + 1 }\n"}))
	wants(t, v, true)
	if len(v.NewlyPass) > 0 || len(v.Weakened) > 0 || v.Proofs[0].Proof != agency.ProofAsserted {
		t.Errorf("verdict %+v", v)
	}
	v = w.verify(w.change(map[string]string{"v_test.go": test("if Add(1, 1) == 2 { t.Error(1) }")}))
	wants(t, v, false, "regression: ex.com/p.TestV passed before", "judged together, as ex.com/p.TestV")
}
