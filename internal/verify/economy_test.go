package verify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/store"
	"agency/internal/verify"
)

// ran lists the test commands that really ran since a receipt, as stage: line.
// The suites of base, claim and landing; what is run to weigh proofs is counted
// apart.
func (w *world) ran(since int) (out []string) {
	w.t.Helper()
	for _, r := range w.receipts()[since:] {
		weighing := slices.Contains([]string{string(check.StageOldTests), string(check.StageWithout), string(check.StageCut)}, r.Stage)
		if r.Kind == agency.CheckTest && r.CopyOf == "" && !weighing {
			out = append(out, r.Stage+": "+r.Command)
		}
	}
	return out
}

// A chain of packages: b uses a, c's tests use b, d stands alone.
func chainFiles() map[string]string {
	test := func(pkg, imp, expr string) string {
		if imp != "" {
			imp = "\nimport \"ex.com/p/" + imp + "\"\n"
		}
		return "package " + pkg + "\n\nimport \"testing\"\n" + imp + "\nfunc Test" + strings.ToUpper(pkg) + "(t *testing.T) {\n\tif " + expr + " != 1 {\n\t\tt.Error(1)\n\t}\n}\n"
	}
	return map[string]string{
		"go.mod": goMod,
		"a/a.go": "package a\n\nfunc A() int { return 1 }\n", "a/a_test.go": test("a", "", "A()"),
		"b/b.go": "package b\n\nimport \"ex.com/p/a\"\n\nfunc B() int { return a.A() }\n", "b/b_test.go": test("b", "", "B()"),
		"c/c.go": "package c\n", "c/c_test.go": test("c", "b", "b.B()"),
		"d/d.go": "package d\n\nfunc D() int { return 1 }\n", "d/d_test.go": test("d", "", "D()"),
		"README.md": "r\n",
	}
}

// The claim runs what the change can affect, the landing everything, and the
// base once; what the landing ran is the next contract's baseline.
func TestAffectedLazyAndReused(t *testing.T) {
	w := newWorld(t, chainFiles())
	w.options.AffectedAbove = time.Nanosecond
	w.verifier = verify.New(w.options)
	newTest := "package d\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {}\n"
	first := w.verify(w.change(map[string]string{"d/new_test.go": newTest}))
	wants(t, first, true)
	if first.Partial {
		t.Error("how long the suite takes is not known yet, and only a part of it ran")
	}
	if diff := cmp.Diff([]string{"base: go test ./...", "claim: go test ./..."}, sorted(w.ran(0))); diff != "" {
		t.Error(diff)
	}

	at := len(w.receipts())
	spec := w.change(map[string]string{"b/b.go": "package b\n\nimport \"ex.com/p/a\"\n\nfunc B() int { return 1 * a.A() }\n", "b/more_test.go": strings.Replace(newTest, "package d", "package b", 1)})
	v := w.verify(spec)
	wants(t, v, true, "the tests of 2 of 4 packages ran")
	if !v.Partial || !slices.Equal(v.NewlyPass, []string{"ex.com/p/b.TestNew"}) || len(v.Weakened) > 0 {
		t.Errorf("verdict %+v", v)
	}
	// The last looks whether a test holds what changed.
	if diff := cmp.Diff([]string{"claim: go test ex.com/p/b ex.com/p/c", "old-bodies: go test ex.com/p/b ex.com/p/c"}, w.ran(at)); diff != "" {
		t.Error(diff)
	}
	at = len(w.receipts())
	landing := spec
	landing.Criteria = nil
	lv, err := w.verifier.VerifyTree(t.Context(), "land", landing)
	if err != nil || !lv.Pass {
		t.Fatalf("%+v, %v", lv, err)
	}
	if diff := cmp.Diff([]string{"landing: go test ./..."}, w.ran(at)); diff != "" {
		t.Error(diff)
	}

	t.Run("the landed tree is the next baseline", func(t *testing.T) {
		w.t = t
		at := len(w.receipts())
		next := w.change(map[string]string{"b/b.go": "package b\n\nfunc B() int { return 2 }\n"})
		next.Base, next.Contract = spec.Claim, "next"
		v := w.verify(next)
		wants(t, v, false, "regression: ex.com/p/b.TestB", "regression: ex.com/p/c.TestC")
		for _, line := range w.ran(at) {
			if strings.HasPrefix(line, "base: go test ./...") {
				t.Errorf("the base ran again: %s", line)
			}
		}
		if !slices.ContainsFunc(w.receipts()[at:], func(r agency.Receipt) bool { return r.Stage == "base" && r.CopyOf != "" }) {
			t.Error("no receipt says that it was taken over")
		}
	})
	t.Run("a change outside of all packages runs everything", func(t *testing.T) {
		w.t = t
		v := w.verify(w.change(map[string]string{"README.md": "other\n"}))
		if v.Partial {
			t.Errorf("verdict %+v", v)
		}
	})
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// Criteria with checks of their own and a green suite need nothing of the base.
func TestBaseIsNotRunWithoutNeed(t *testing.T) {
	files := baseFiles()
	files["sub.go"] = goodGo
	w := newWorld(t, files)
	spec := w.change(map[string]string{"add.go": addGo + "\nfunc Inc(a int) int { return Add(a, 1) }\n"})
	spec.Criteria = []agency.Criterion{{ID: "inc", Check: &agency.Check{Command: "grep -q Inc add.go"}}}
	v := w.verify(spec)
	wants(t, v, true)
	if v.Proofs[0].Proof != agency.ProofAsserted || !strings.Contains(v.Proofs[0].Note, "add.go") || len(v.NewlyPass) > 0 {
		t.Errorf("verdict %+v", v)
	}
	if diff := cmp.Diff([]string{"claim: go test ./..."}, w.ran(0)); diff != "" {
		t.Error(diff)
	}
	at := len(w.receipts())
	merged := w.change(map[string]string{"add_test.go": addTest + "\nfunc TestMore(t *testing.T) {}\n"})
	merged.Criteria = nil
	if v, err := w.verifier.VerifyTree(t.Context(), "land", merged); err != nil || !v.Pass {
		t.Errorf("%+v, %v", v, err)
	}
	if diff := cmp.Diff([]string{"landing: go test ./..."}, w.ran(at)); diff != "" {
		t.Errorf("a green merged tree needs nothing of its base: %s", diff)
	}
}

// What was merged by no rule of lines is tested whatever is known of its tree:
// neither the claim's verdict nor a receipt counts. The run's own receipts tell
// how long that takes.
func TestAnewReusesNothing(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"add.go": addGo + "\nfunc Inc(a int) int { return Add(a, 1) }\n"})
	wants(t, w.verify(spec), true)
	spec.Criteria = nil
	for _, anew := range []bool{false, true} {
		at := len(w.receipts())
		spec.Anew = anew
		if v, err := w.verifier.VerifyTree(t.Context(), "land", spec); err != nil || !v.Pass {
			t.Fatalf("%+v, %v", v, err)
		}
		ran := slices.Contains(w.ran(at), "landing: go test ./...")
		if ran != anew {
			t.Errorf("anew %v ran %q", anew, w.ran(at))
		}
	}
	var took time.Duration
	if err := w.db.Read(t.Context(), func(q *store.Snapshot) (err error) {
		took, err = check.Lasted(q, spec.Run, []string{"go test ./...", "never run"})
		return err
	}); err != nil || took <= 0 || took > time.Hour {
		t.Errorf("took %v, %v", took, err)
	}
}

// What was run ahead of a claim is not run again for it, and is not run where its
// result could not be found again.
func TestBaseAhead(t *testing.T) {
	w := newWorld(t, chainFiles())
	spec := w.change(map[string]string{"d/new_test.go": "package d\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {}\n"})
	for range 2 {
		if err := w.verifier.Ahead(t.Context(), verify.Spec{Run: spec.Run, Contract: spec.Contract, Base: spec.Base, Commands: spec.Commands}, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"base: go test ./..."}, w.ran(0)); diff != "" {
		t.Error(diff)
	}
	at := len(w.receipts())
	wants(t, w.verify(spec), true)
	if diff := cmp.Diff([]string{"claim: go test ./..."}, w.ran(at)); diff != "" {
		t.Error(diff)
	}
}

// The one function of a change is all of them: without it each test runs once, for what
// proves the criterion and for the lines that nothing holds.
func TestOneFunctionIsTakenOutOnce(t *testing.T) {
	w := newWorld(t, chainFiles())
	spec := w.change(map[string]string{
		"d/twice.go":      "package d\n\nfunc Twice(n int) int { return 2 * n }\n",
		"d/twice_test.go": "package d\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(3) != 6 {\n\t\tt.Error(Twice(3))\n\t}\n}\n",
	})
	spec.Criteria = []agency.Criterion{{ID: "twice", Check: &agency.Check{Test: "TestTwice"}}}
	v := w.verify(spec)
	wants(t, v, true)
	cut := 0
	for _, r := range w.receipts() {
		if r.Stage == string(check.StageCut) {
			cut++
		}
	}
	if cut != 2 || v.Proofs[0].Proof != agency.ProofVerified || v.Unproved == nil || v.Unproved.Changed == 0 || v.Unproved.Lines != 0 {
		t.Errorf("%d runs with the change cut out, want one with all in it and one without; %+v, %+v", cut, v.Proofs, v.Unproved)
	}
}
