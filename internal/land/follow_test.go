package land_test

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/land"
)

// What another run left is taken over with its history, and what a merge brought is taken back
// on top of all that came after it; both come to the same when they are done again.
func TestFilesOfOtherRuns(t *testing.T) {
	r := gittest.New(t, "a.txt", "1\n2\n3\n4\n5\n", "b.txt", "b\n")
	base := r.Rev("HEAD")
	r.Git("switch", "-qc", "old")
	r.Write("a.txt", "one\n2\n3\n4\n5\n")
	r.Git("commit", "-qam", "old work")
	old := r.Rev("HEAD")
	r.Git("switch", "-q", target)
	w := begin(t, r, false)
	files := func(spec land.FilesSpec) (out land.Files) {
		t.Helper()
		spec.Run = runID
		for range 2 {
			var err error
			if out, err = w.queue().Files(t.Context(), "files", spec); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	got := files(land.FilesSpec{Contract: "main", Base: base, Of: old})
	if want := agency.OID(r.Git("rev-parse", string(old)+"^{tree}")); got.Tree != want {
		t.Fatalf("the files are %s, want %s", got.Tree, want)
	}
	out, err := w.queue().Land(t.Context(), "land", land.Spec{Run: runID, Contract: "main", Tree: got.Tree, Of: old})
	if err != nil || out.Landed == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if parents := r.Git("show", "-s", "--format=%P", string(out.Landed.Commit)); parents != string(base)+" "+string(old) {
		t.Errorf("the landing stands on %s", parents)
	}
	r.Git("merge", "-q", "--no-ff", "-m", "merge\n\nAgency-Run: old", "old")
	merge := r.Rev("HEAD")
	r.Write("a.txt", "one\n2\n3\n4\nfive\n")
	r.Git("commit", "-qam", "later")
	got = files(land.FilesSpec{Contract: "other", Base: r.Rev("HEAD"), Back: merge, BackOf: "old"})
	text, err := w.run().Dir().Objects().Blob(t.Context(), got.Tree, "a.txt", 100)
	if err != nil || string(text) != "1\n2\n3\n4\nfive\n" || len(got.Conflicts) > 0 {
		t.Errorf("taken back it is %q, %v, %v", text, got.Conflicts, err)
	}
	r.Write("a.txt", "eins\n2\n3\n4\nfive\n")
	r.Git("commit", "-qam", "in its way")
	if got = files(land.FilesSpec{Contract: "third", Base: r.Rev("HEAD"), Back: merge, BackOf: "old"}); !slices.Equal(got.Conflicts, []string{"a.txt"}) {
		t.Errorf("conflicts: %v", got.Conflicts)
	}
}

// A target that has gone on is merged with what landed as far as that goes, and whoever
// brings the rest together is told what either side did and meant.
func TestFilesOfBoth(t *testing.T) {
	w := landed(t, false, nil)
	head := w.repo.Rev(branch)
	files := func(contract agency.ContractID) land.Files {
		t.Helper()
		out, err := w.queue().Files(t.Context(), "files", land.FilesSpec{Run: runID, Contract: contract, Base: head, With: target})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	w.repo.Write("other.txt", "mine\n")
	w.repo.Git("commit", "-qam", "elsewhere")
	if got := files("main"); len(got.Conflicts) > 0 || got.Conflict == nil || got.Conflict.Head != w.repo.Rev(target) {
		t.Errorf("%+v", got)
	}
	w.repo.Write("a.txt", "1\nzwei\n3\n")
	w.repo.Git("commit", "-qam", "Count in German\n\nAs the users do.\x1b[2J\n\nAgency-Run: gone")
	got := files("other")
	if !slices.Equal(got.Conflicts, []string{"a.txt"}) || got.From != w.run().Base() {
		t.Fatalf("%+v", got)
	}
	c := got.Conflict
	if !strings.Contains(c.Theirs, "elsewhere\nCount in German\n\nAs the users do.") || strings.Contains(c.Theirs, "\x1b") || !strings.Contains(c.OursDiff, "+two") || !strings.Contains(c.TheirsDiff, "+zwei") {
		t.Errorf("it is told %+v", c)
	}
	w.repo.Git("switch", "-q", "--orphan", "anew")
	w.repo.Git("commit", "-q", "--allow-empty", "-m", "from the start")
	w.repo.Git("branch", "-f", target)
	if got := files("third"); !strings.Contains(got.Refused, target+" was rewritten from its first commit on") || got.Tree != "" {
		t.Errorf("of what was rewritten: %+v", got)
	}
	w.repo.Git("branch", "-D", target)
	if got := files("fourth"); got.Refused != "branch "+target+" does not exist (any more)" || got.Mend != "git branch "+target+" "+string(w.run().Base()) {
		t.Errorf("of what is gone: %+v", got)
	}
}
