package land_test

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/land"
)

const (
	goBase   = "package a\n\nfunc A() int {\n\treturn 1\n}\n"
	goOurs   = goBase + "\nfunc B() int {\n\treturn 2\n}\n"
	goTheirs = goBase + "\nfunc C() int {\n\treturn 3\n}\n"
)

func TestFunctionsOfOneFileLandBoth(t *testing.T) {
	w := begin(t, gittest.New(t, "a.go", goBase, ".gitignore", "/a\n"), false)
	base := w.run().Base()
	mine := w.claim("main", base, "a.go", goTheirs, ".gitignore", "/a\n/m\n")
	w.land("first", w.claim("other", base, "a.go", goOurs, ".gitignore", "/a\n/o\n"))
	var seen land.Candidate
	w.judge = func(c land.Candidate) []string { seen = c; return nil }
	out := w.land("second", mine)
	files := []string{".gitignore", "a.go"}
	if out.Landed == nil || !slices.Equal(out.Landed.Structural, files) || !slices.Equal(seen.Structural, files) {
		t.Fatalf("%+v, verified %+v", out, seen)
	}
	if got := w.repo.Git("show", branch+":a.go"); got != strings.TrimSpace(goOurs+strings.TrimPrefix(goTheirs, goBase)) {
		t.Errorf("a.go:\n%s", got)
	}
	if got := w.repo.Git("show", branch+":.gitignore"); got != "/a\n/o\n/m" {
		t.Errorf(".gitignore:\n%s", got)
	}
	again := w.land("second", mine) // as after a crash
	if again.Landed == nil || !again.Landed.Already || !slices.Equal(again.Landed.Structural, files) {
		t.Errorf("%+v", again)
	}
	if w.conflictEvents() != 0 || w.mergedEvents() != 2 {
		t.Error("a conflict was noted")
	}
}

// One file in doubt, and none is merged so.
func TestOneDoubtIsAConflict(t *testing.T) {
	w := begin(t, gittest.New(t, "a.go", goBase, "b.txt", "b\n"), false)
	base := w.run().Base()
	mine := w.claim("main", base, "a.go", goTheirs, "b.txt", "mine\n")
	w.land("first", w.claim("other", base, "a.go", goOurs, "b.txt", "other\n"))
	out := w.land("second", mine)
	if out.Landed != nil || out.Conflict == nil || !slices.Equal(out.Conflict.Paths, []string{"a.go", "b.txt"}) {
		t.Errorf("%+v", out)
	}
}

// A file that one side removed, or made executable, is none of lines.
func TestOnlyContentsAreMergedStructurally(t *testing.T) {
	w := begin(t, gittest.New(t, "a.go", goBase), false)
	base := w.run().Base()
	mine := w.claim("main", base, "a.go", goTheirs)
	w.land("first", w.claim("other", base, "a.go", "-"))
	if out := w.land("second", mine); out.Conflict == nil || out.Landed != nil {
		t.Errorf("%+v", out)
	}
}

// Merged structurally and red, it is a conflict of those files.
func TestRedStructuralMergeGoesBack(t *testing.T) {
	w := begin(t, gittest.New(t, "a.go", goBase), false)
	base := w.run().Base()
	mine := w.claim("main", base, "a.go", goTheirs)
	w.land("first", w.claim("other", base, "a.go", goOurs))
	head := w.repo.Rev(branch)
	w.reasons = []string{"TestB fails"}
	out := w.land("second", mine)
	c := out.Conflict
	if out.Landed != nil || out.Red == nil || c == nil || !slices.Equal(c.Paths, []string{"a.go"}) || !slices.Equal(c.With, []agency.ContractID{"other"}) ||
		c.Detail != "TestB fails" || !strings.Contains(out.Reason, "merged structurally") || w.repo.Rev(branch) != head {
		t.Errorf("%+v", out)
	}
	if n := w.conflictEvents(); n != 1 {
		t.Errorf("the log tells %d times that it goes back", n)
	}
	if !strings.Contains(c.OursDiff, "+func C") || !strings.Contains(c.TheirsDiff, "+func B") {
		t.Errorf("%+v", c)
	}
}
