package verify_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/verify"
	"agency/internal/workspace"
)

func TestWeakeningGoesBackOnce(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"sub.go": goodGo, "add_test.go": ""})
	v := w.verify(spec)
	wants(t, v, false, "weakened: test deleted: ex.com/p.TestAdd")
	spec.Attempt++
	spec.WeakenedBefore = v.Weakened
	v = w.verify(spec)
	wants(t, v, true, "a person has to accept it")
	want := []agency.Weakening{{Kind: agency.WeakDeleted, Name: "ex.com/p.TestAdd"}}
	if diff := cmp.Diff(want, v.Weakened); diff != "" {
		t.Error(diff)
	}
}

// A file that decides how tests run, which the contract names itself, does not go back: a
// person decides at once.
func TestControlFileThatIsAskedForDoesNotGoBack(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"sub.go": goodGo, "go.mod": "module ex.com/p\n\ngo 1.24\n\ntoolchain go1.24.1\n"})
	wants(t, w.verify(spec), false, "weakened: control file edited: go.mod")
	spec.Attempt++
	spec.Expected = []string{"go.mod"}
	wants(t, w.verify(spec), true, "go.mod", "a person has to accept it")
}

// What looks left behind goes back once; then it is named, and hinders nothing.
func TestLeftoversGoBackOnce(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{
		"sub.go": goodGo, "sub.go.orig": badGo, "scratch.txt": "x\n", "tmp_dir/y.bak": "y\n", "tool": "\x7fELF\x00", "extra.go": "package p\n",
		"big.txt": strings.Repeat("0123456789abcde\n", 1<<16+1), "made.bin": "a\x00b", "said.log": "x\n",
	})
	spec.ClaimInfo.Outputs.FilesCreated = []string{"made.bin"}
	spec.Criteria = append(spec.Criteria, agency.Criterion{ID: "log", Text: "It writes said.log."})
	v := w.verify(spec)
	wants(t, v, false, "left behind: scratch.txt (a scratch file): remove it", "left behind: sub.go.orig (a backup)", "left behind: made.bin (a binary): the merge gate names it")
	want := []string{"big.txt (over 1 MB)", "made.bin (a binary)", "scratch.txt (a scratch file)", "sub.go.orig (a backup)", "tmp_dir/ (a scratch folder)", "tool (a binary)"}
	named := func(v agency.Verdict) (out []string) {
		for _, l := range v.Leftovers {
			out = append(out, l.String())
			spec.LeftBefore = append(spec.LeftBefore, l.Path)
		}
		return out
	}
	if diff := cmp.Diff(want, named(v)); diff != "" {
		t.Error(diff)
	}
	spec.Attempt++
	wants(t, w.verify(spec), true, "left behind: scratch.txt (a scratch file): the merge gate names it")
	// Where files are declared, any other new one is named, and not sent back.
	spec.Attempt++
	spec.Writes, spec.Expected = []string{"sub.go", "*.orig", "tmp_dir/"}, []string{"scratch.txt", "tool", "big.txt"}
	v = w.verify(spec)
	wants(t, v, true)
	if diff := cmp.Diff([]string{"extra.go", "made.bin (a binary)"}, named(v)); diff != "" {
		t.Error(diff)
	}
}

// flakyTest fails in every second run, whatever else runs: what tells is in the
// build cache, which outlives the checkout.
const flakyTest = `package p

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFlaky(t *testing.T) {
	mark := filepath.Join(os.Getenv("GOCACHE"), "ran")
	if _, err := os.Stat(mark); err != nil {
		_ = os.WriteFile(mark, nil, 0o600)
		t.Fatal("first run")
	}
	_ = os.Remove(mark)
}
`

func TestFlaky(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"sub.go": goodGo, "flaky_test.go": flakyTest})
	v := w.verify(spec)
	wants(t, v, true, "flaky: ex.com/p.TestFlaky gives mixed results")
	if !slices.Equal(v.Flaky, []string{"ex.com/p.TestFlaky"}) || len(v.Regressions) > 0 {
		t.Errorf("verdict %+v", v)
	}
	spec.Attempt++
	spec.Criteria = []agency.Criterion{{ID: "steady", Text: "x", Check: &agency.Check{Test: "TestFlaky"}}}
	wants(t, w.verify(spec), false, "the test TestFlaky does not pass: its results are mixed")
}

func TestCriteriaAreProved(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"sub.go": goodGo, "doc/x.txt": "words", "more_test.go": "package p\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {}\n"})
	spec.Criteria = []agency.Criterion{
		{ID: "file", Check: &agency.Check{File: "doc/x.txt"}},
		{ID: "old file", Check: &agency.Check{File: "add.go"}},
		{ID: "command", Check: &agency.Check{Command: "grep -q words doc/x.txt"}},
		{ID: "true", Check: &agency.Check{Command: "true"}},
		{ID: "test", Check: &agency.Check{Test: "TestSub"}},
		{ID: "new test", Check: &agency.Check{Command: "go test -run '^TestMore$' ./..."}},
		{ID: "evidence"},
		{ID: "bad evidence"},
		{ID: "none"},
	}
	spec.ClaimInfo.Evidence = []agency.Evidence{
		{Criterion: "evidence", Kind: agency.CheckTest, Ref: "ex.com/p.TestMore"},
		{Criterion: "bad evidence", Kind: agency.CheckTest, Ref: "all of them"},
		{Criterion: "unknown", Kind: agency.CheckCommand, Ref: "exit 1"},
	}
	v := w.verify(spec)
	wants(t, v, true)
	got := map[string]agency.ProofKind{}
	for _, p := range v.Proofs {
		got[p.ID] = p.Proof
		if p.Proof == agency.ProofVerified && p.Check != nil && p.Check.File == "" && p.Receipt == "" {
			t.Errorf("%s has no receipt", p.ID)
		}
	}
	want := map[string]agency.ProofKind{
		"file": "asserted", "old file": "asserted", "command": "asserted", "true": "asserted", "test": "verified",
		"new test": "asserted", "evidence": "asserted", "bad evidence": "asserted", "none": "asserted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What the tests of a claim leave behind proves nothing: neither files nor
// entries of the build cache.
func TestTestsLeaveNothing(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"sub.go": goodGo, "leave_test.go": `package p

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLeave(t *testing.T) {
	if err := os.WriteFile("planted.txt", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("GOCACHE"), "planted.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}
`})
	spec.Criteria = []agency.Criterion{{ID: "file", Check: &agency.Check{Command: "test -e planted.txt"}}}
	wants(t, w.verify(spec), false, "criterion file: `test -e planted.txt` does not pass")
	state := w.run.Info().StateDir
	err := filepath.WalkDir(filepath.Join(state, "cache"), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "planted.txt" {
			t.Errorf("%s is left", p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(out)), "planted.txt")); err == nil {
		t.Error("the user's own build cache was written")
	}
}

func TestPreExistingFaults(t *testing.T) {
	files := baseFiles()
	files["vet.go"] = "package p\n\nimport \"fmt\"\n\nfunc V() { fmt.Printf(\"%d\", \"x\") }\n"
	files["broken/b.go"] = "package broken\n\nfunc F() int { return \"\" }\n"
	w := newWorld(t, files)
	w.commands.Test = "go test -vet=off ./..."
	v := w.verify(w.change(map[string]string{"sub.go": goodGo}))
	wants(t, v, true, "pre-existing: lint: `go vet ./...` fails on the base too", "pre-existing: build: `go build -o /dev/null ./...` fails on the base too")
	if !slices.Equal(v.NewlyPass, []string{"ex.com/p.TestSub"}) {
		t.Errorf("verdict %+v", v)
	}
}

func TestNoTestCommand(t *testing.T) {
	w := newWorld(t, baseFiles())
	w.commands.Test = ""
	v := w.verify(w.change(map[string]string{"sub.go": goodGo}))
	wants(t, v, true, "no test command is configured")
	if !v.NoTests || v.WeakProof || v.Proofs[0].Proof != agency.ProofAsserted {
		t.Errorf("verdict %+v", v)
	}
}

func TestExitCodesOnly(t *testing.T) {
	files := baseFiles()
	files["run.sh"] = "go test ./... > /dev/null\n"
	w := newWorld(t, files)
	w.commands.Test = "sh run.sh"
	v := w.verify(w.change(map[string]string{"sub.go": goodGo}))
	wants(t, v, true)
	if !v.WeakProof || v.Proofs[0].Proof != agency.ProofAsserted {
		t.Errorf("verdict %+v", v)
	}
	v = w.verify(w.change(map[string]string{"sub.go": goodGo, "run.sh": "exit 0\n"}))
	wants(t, v, false, "weakened: control file edited: run.sh")
}

// TestProductOfShell has a script of the tests ask programs of shell what they say: they
// are what is tested, not what decides how. What it runs on its own decides.
func TestProductOfShell(t *testing.T) {
	files := map[string]string{
		"greet.sh": "echo \"Hello, $1\"\n", "lower.sh": "tr A-Z a-z\n", "app.conf": "{}\n", "run.sh": "true\n",
		"check.sh": "set -e\n[ \"$(sh greet.sh Ada)\" = 'Hello, Ada' ]\nsh lower.sh < app.conf | grep -q '{'\ngrep -q '{' app.conf\nsh run.sh\n",
	}
	w := newWorld(t, files)
	w.commands.Test = "sh check.sh"
	v := w.verify(w.change(map[string]string{"greet.sh": "echo \"Hello, ${1:-you}\"\n", "app.conf": "{ }\n"}))
	wants(t, v, true)
	if v.NoneRan || len(v.Weakened) > 0 {
		t.Errorf("verdict %+v", v)
	}
	v = w.verify(w.change(map[string]string{"run.sh": "exit 0\n"}))
	wants(t, v, false, "weakened: control file edited: run.sh")
}

// TestStatusOfShell holds what a script of the tests runs for how it ends for a part of
// the tests, whatever is read of it besides.
func TestStatusOfShell(t *testing.T) {
	w := newWorld(t, map[string]string{"greet.sh": "echo \"Hello, $1\"\n", "check.sh": "set -o pipefail\nsh greet.sh Ada | cat\n"})
	w.commands.Test = "bash check.sh"
	v := w.verify(w.change(map[string]string{"greet.sh": "echo\n"}))
	wants(t, v, false, "weakened: control file edited: greet.sh")
}

func TestSetupComesFirst(t *testing.T) {
	files := baseFiles()
	files["gen.sh"] = "echo 'package p' > gen.go; echo 'const Generated = 1' >> gen.go\n"
	files["use.go"] = "package p\n\nvar Used = Generated\n"
	files[".gitignore"] = "gen.go\n"
	w := newWorld(t, files)
	w.commands.Setup = "sh gen.sh"
	spec := w.change(map[string]string{"sub.go": goodGo})
	wants(t, w.verify(spec), true)
	// Its receipts are known, and what setup makes is needed all the same.
	spec.Attempt++
	spec.Criteria = []agency.Criterion{{ID: "gen", Check: &agency.Check{Command: "test -e gen.go"}}}
	wants(t, w.verify(spec), true)
	w.n = spec.Attempt
	spec = w.change(map[string]string{"sub.go": goodGo, "gen.sh": "exit 1\n"})
	wants(t, w.verify(spec), false, "setup: `sh gen.sh` fails")
}

func TestFaultOfTheWorkspace(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"sub.go": goodGo})
	ws, err := w.run.Open(t.Context(), "main", workspace.Work)
	if err != nil {
		t.Fatal(err)
	}
	write(t, ws.Path(), map[string]string{"inner/.git/HEAD": "ref: refs/heads/x\n", "inner/x": "x"})
	wants(t, w.verify(spec), false, "inner")
}

// The verdict tells how much of the change the tests reach, found out in the
// run that verifies it; it decides only where the contract asks for it.
func TestCoverageOfTheChange(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"sub.go": goodGo + "\nfunc Unused(a int) int {\n\treturn a\n}\n"})
	v := w.verify(spec)
	wants(t, v, true)
	if v.Coverage == nil || v.Coverage.Covered != 1 || v.Coverage.Lines <= v.Coverage.Covered || !strings.Contains(strings.Join(v.Coverage.Missed, " "), "sub.go:") {
		t.Errorf("coverage %+v", v.Coverage)
	}
	alone := "alone: go test -run '^(TestSub)$' ex.com/p" // what was mended runs twice more
	if diff := cmp.Diff([]string{alone, alone, "base: go test ./...", "base: go test ./...", "claim: go test ./..."}, sorted(w.ran(0))); diff != "" {
		t.Errorf("more ran than without: %s", diff)
	}
	spec.Attempt++
	asking := func(percent float64) verify.Spec {
		s := spec
		s.Criteria = agency.Promised(agency.Contract{AcceptanceCriteria: spec.Criteria, QualityThresholds: map[string]float64{agency.CoverageThreshold: percent}}).AcceptanceCriteria
		return s
	}
	wants(t, w.verify(asking(90)), false, "tests were to reach 90 percent of the changed lines: tests reach 1 of 4 changed lines that can run; not run: sub.go:")
	spec.Attempt++
	v = w.verify(asking(20))
	wants(t, v, true)
	if p := v.Proofs[len(v.Proofs)-1]; p.ID != "quality_thresholds.coverage" || p.Proof != agency.ProofVerified || p.Note != "tests reach 1 of 4 changed lines that can run" {
		t.Errorf("proof %+v", p)
	}
}

// What no run measures is not covered: the code in a language of which the tests say
// nothing leaves the criterion to the agent's word beside code that is, and alone refuses
// the claim.
func TestCoverageOfCodeThatNothingMeasures(t *testing.T) {
	w := newWorld(t, baseFiles())
	criteria := agency.Promised(agency.Contract{AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "it subtracts"}}, QualityThresholds: map[string]float64{agency.CoverageThreshold: 90}}).AcceptanceCriteria
	proof := func(v agency.Verdict) agency.Proof { return v.Proofs[len(v.Proofs)-1] }

	spec := w.change(map[string]string{"sub.go": goodGo, "tool.py": "print(1)\n", "deploy.sh": "echo\n", "README.md": "words\n"})
	spec.Criteria = criteria
	v := w.verify(spec)
	wants(t, v, true)
	if p := proof(v); p.Proof != agency.ProofAsserted || p.Note != "tests reach 1 of 1 changed line that can run; they do not measure deploy.sh, tool.py" {
		t.Errorf("%+v", p)
	}
	spec = w.change(map[string]string{"sub.go": badGo, "sub_test.go": "", "deploy.sh": "echo\n"})
	spec.Criteria = criteria
	v = w.verify(spec)
	wants(t, v, false, "tests were to reach 90 percent of the changed lines: the tests do not measure deploy.sh")
	if p := proof(v); p.Proof != agency.ProofOpen || !p.Missed {
		t.Errorf("%+v", p)
	}
}

// A contract of tests, which changes no line that tests reach, is held to what it tests.
func TestCoverageOfAContractOfTests(t *testing.T) {
	files := baseFiles()
	files["mul.go"] = "package p\n\nfunc Mul(a, b int) int {\n\tif a == 0 {\n\t\treturn 0\n\t}\n\treturn a * b\n}\n"
	w := newWorld(t, files)
	for _, tt := range []struct {
		about []string
		least float64
		pass  bool
		why   string
	}{
		{[]string{"mul.go"}, 90, false, "tests reach 3 of 5 lines that can run of what is tested; not run: mul.go:5-6"},
		{[]string{"mul.go"}, 60, true, ""},
		{nil, 99, false, "of what is tested; not run:"},
	} {
		spec := w.change(map[string]string{"sub.go": badGo, "mul_test.go": "package p\n\nimport \"testing\"\n\nfunc TestMul(t *testing.T) {\n\tif Mul(2, 3) != 6 {\n\t\tt.Error()\n\t}\n}\n"})
		spec.Type, spec.About = agency.TypeTest, tt.about
		spec.Criteria = agency.Promised(agency.Contract{QualityThresholds: map[string]float64{agency.CoverageThreshold: tt.least}}).AcceptanceCriteria
		if v := w.verify(spec); tt.pass {
			wants(t, v, true)
		} else {
			wants(t, v, false, tt.why)
		}
	}
}

// A test that fails only while lines are found out does not fail the claim.
func TestMeasuringDecidesNothing(t *testing.T) {
	files := baseFiles()
	files["cover_test.go"] = "package p\n\nimport \"testing\"\n\nfunc TestPlain(t *testing.T) {\n\tif testing.CoverMode() != \"\" {\n\t\tt.Fatal(\"measured\")\n\t}\n}\n"
	w := newWorld(t, files)
	v := w.verify(w.change(map[string]string{"sub.go": goodGo}))
	wants(t, v, true)
	if len(v.Flaky) > 0 || !slices.Equal(v.NewlyPass, []string{"ex.com/p.TestSub"}) {
		t.Errorf("verdict %+v", v)
	}
}
