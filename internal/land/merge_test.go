package land_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/land"

	"github.com/google/go-cmp/cmp"
)

// landed is a world whose run has landed one change: a.txt edited, gone.txt
// deleted, new/n.txt added, dir turned from a file into a folder.
func landed(t testing.TB, dirty bool, edit func(r *gittest.Repo)) *world {
	t.Helper()
	r := gittest.New(t, "a.txt", "1\n2\n3\n", "gone.txt", "g\n", "other.txt", "o\n", "dir", "file\n", ".gitignore", "*.log\n")
	if edit != nil {
		edit(r)
	}
	w := begin(t, r, dirty)
	w.mustLand()
	return w
}

func (w *world) mustLand() {
	w.t.Helper()
	out := w.land("land", w.claim("main", w.run().Base(), "a.txt", "1\ntwo\n3\n", "gone.txt", "-", "new/n.txt", "n\n", "dir", "-", "dir/inner.txt", "i\n"))
	if out.Landed == nil {
		w.t.Fatalf("%+v", out)
	}
}

func (w *world) mustMerge(spec land.MergeSpec) {
	w.t.Helper()
	old := w.repo.Rev(target)
	out := w.merge("merge", spec)
	if out.Merged == nil || out.Merged.Already {
		w.t.Fatalf("%+v", out)
	}
	w.isMerged(old)
}

// isMerged asserts the one merge commit and that a repetition finds it.
func (w *world) isMerged(old agency.OID) {
	w.t.Helper()
	head := w.repo.Rev(target)
	if got := w.repo.Git("show", "-s", "--format=%P%n%(trailers:only,unfold)", string(head)); got != string(old)+" "+string(w.repo.Rev(branch))+"\nAgency-Run: run-1" {
		w.t.Errorf("merge commit: %s", got)
	}
	if again := w.merge("merge", land.MergeSpec{}); again.Merged == nil || !again.Merged.Already || again.Merged.Commit != head {
		w.t.Errorf("again: %+v", again)
	}
	if n := w.mergedEvents(); n != 2 { // the landing and the merge
		w.t.Errorf("%d events", n)
	}
}

func TestMergeIntoTheCheckedOutTarget(t *testing.T) {
	w := landed(t, false, nil)
	w.repo.Write("untracked.txt", "mine\n", "x.log", "ignored\n", "other.txt", "edited\n")
	w.repo.Git("add", "other.txt")
	w.repo.Write("other.txt", "edited twice\n")
	w.mustMerge(land.MergeSpec{})
	if got := w.repo.Git("status", "--porcelain"); got != "MM other.txt\n?? untracked.txt" {
		t.Errorf("status:\n%s", got)
	}
	for p, want := range map[string]string{
		"a.txt": "1\ntwo\n3\n", "gone.txt": "(absent)", "new/n.txt": "n\n", "dir/inner.txt": "i\n",
		"untracked.txt": "mine\n", "x.log": "ignored\n", "other.txt": "edited twice\n",
	} {
		if got := w.repo.Read(p); got != want {
			t.Errorf("%s: %q", p, got)
		}
	}
	if got := w.repo.Git("reflog", "-1", "--format=%gs", "HEAD"); !strings.Contains(got, "merge of run run-1") {
		t.Errorf("reflog of HEAD: %s", got)
	}
	w.sound()
}

func TestOverlapsAreNamedAndNothingIsTouched(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		edit func(r *gittest.Repo)
	}{
		"edited": {"a.txt", func(r *gittest.Repo) { r.Write("a.txt", "mine\n") }},
		"staged": {"a.txt", func(r *gittest.Repo) { r.Write("a.txt", "mine\n"); r.Git("add", "a.txt") }},
		"staged and back": {"a.txt", func(r *gittest.Repo) {
			r.Write("a.txt", "mine\n")
			r.Git("add", "a.txt")
			r.Write("a.txt", "1\n2\n3\n")
		}},
		"edited, deleted":    {"gone.txt", func(r *gittest.Repo) { r.Write("gone.txt", "mine\n") }},
		"deleted":            {"a.txt", func(r *gittest.Repo) { _ = os.Remove(filepath.Join(r.Dir, "a.txt")) }},
		"untracked":          {"new/n.txt", func(r *gittest.Repo) { r.Write("new/n.txt", "mine\n") }},
		"untracked above":    {"new", func(r *gittest.Repo) { r.Write("new", "mine\n") }},
		"ignored":            {"new/n.txt", func(r *gittest.Repo) { r.Write(".git/info/exclude", "new\n", "new/n.txt", "mine\n") }},
		"edited above":       {"dir", func(r *gittest.Repo) { r.Write("dir", "mine\n") }},
		"mode":               {"a.txt", func(r *gittest.Repo) { _ = os.Chmod(filepath.Join(r.Dir, "a.txt"), 0o755) }},
		"folder, not a file": {"a.txt/x", func(r *gittest.Repo) { _ = os.Remove(filepath.Join(r.Dir, "a.txt")); r.Write("a.txt/x", "mine\n") }},
	} {
		t.Run(name, func(t *testing.T) {
			w := landed(t, false, nil)
			c.edit(w.repo)
			notObjects := func(rel string) bool { return rel == ".git/objects" }
			before := gittest.Fingerprint(t, w.repo.Dir, notObjects)
			out := w.merge("merge", land.MergeSpec{})
			if out.Refused == nil || out.Refused.Cause != land.CauseOverlap || !slices.Equal(out.Refused.Paths, []string{c.path}) || !strings.Contains(out.Reason, c.path) {
				t.Fatalf("%+v", out)
			}
			if diff := cmp.Diff(before, gittest.Fingerprint(t, w.repo.Dir, notObjects)); diff != "" {
				t.Errorf("the user's repository changed: %s", diff)
			}
			w.sound()
			// Out of the way, the merge goes on.
			w.repo.Git("stash", "-q", "--all")
			w.mustMerge(land.MergeSpec{})
		})
	}
}

// What git would throw away in silence: ignored files below a folder that
// becomes a file.
func TestIgnoredFilesBelowAFolderThatBecomesAFile(t *testing.T) {
	r := gittest.New(t, "d/a.txt", "a\n", ".gitignore", "*.log\n")
	w := begin(t, r, false)
	if out := w.land("land", w.claim("main", w.run().Base(), "d", "-", "d", "now a file\n")); out.Landed == nil {
		t.Fatalf("%+v", out)
	}
	w.repo.Write("d/precious.log", "mine\n")
	out := w.merge("merge", land.MergeSpec{})
	if out.Refused == nil || !slices.Equal(out.Refused.Paths, []string{"d/precious.log"}) || w.repo.Read("d/precious.log") != "mine\n" {
		t.Errorf("%+v", out)
	}
}

func TestLocalEditsEqualToTheMergeAreNoOverlap(t *testing.T) {
	w := landed(t, false, nil)
	w.repo.Write("a.txt", "1\ntwo\n3\n", "new/n.txt", "n\n")
	w.repo.Git("rm", "-q", "gone.txt")
	w.mustMerge(land.MergeSpec{})
	w.clean()
}

func TestIncludeDirtyIsNoOverlap(t *testing.T) {
	w := landed(t, true, func(r *gittest.Repo) {
		// Edited and untracked before the run; the run edits a.txt further.
		r.Write("a.txt", "1\n2\n3\nlocal\n", "local.txt", "l\n", "other.txt", "O\n")
		r.Git("add", "other.txt")
	})
	w.mustMergeDirty()
	w.clean()
	if got := w.repo.Read("a.txt") + w.repo.Read("local.txt") + w.repo.Read("other.txt"); got != "1\ntwo\n3\nl\nO\n" {
		t.Errorf("%q", got)
	}
}

func (w *world) mustMergeDirty() {
	w.t.Helper()
	out := w.merge("merge", land.MergeSpec{})
	if out.Merged == nil {
		w.t.Fatalf("%+v", out)
	}
}

func TestIncludeDirtyEditedSinceIsAnOverlap(t *testing.T) {
	w := landed(t, true, func(r *gittest.Repo) { r.Write("a.txt", "1\n2\n3\nlocal\n", "local.txt", "l\n") })
	w.repo.Write("local.txt", "edited since\n")
	out := w.merge("merge", land.MergeSpec{})
	if out.Refused == nil || !slices.Equal(out.Refused.Paths, []string{"local.txt"}) {
		t.Errorf("%+v", out)
	}
	if w.repo.Read("local.txt") != "edited since\n" || w.repo.Read("a.txt") != "1\n2\n3\nlocal\n" {
		t.Error("local edits were touched")
	}
}

func TestMergeIntoATargetThatIsNotCheckedOut(t *testing.T) {
	w := landed(t, false, nil)
	w.repo.Git("checkout", "-q", "-b", "elsewhere")
	before := gittest.Fingerprint(t, w.repo.Dir, gittest.Files)
	w.mustMerge(land.MergeSpec{})
	if diff := cmp.Diff(before, gittest.Fingerprint(t, w.repo.Dir, gittest.Files)); diff != "" {
		t.Error(diff)
	}
	w.clean()
}

func TestMergeIntoALinkedWorktree(t *testing.T) {
	w := landed(t, false, nil)
	w.repo.Git("checkout", "-q", "--detach")
	linked := &gittest.Repo{T: t, Dir: w.repo.Dir + "-linked"}
	w.repo.Git("worktree", "add", "-q", linked.Dir, target)
	linked.Write("untracked.txt", "mine\n")
	w.mustMerge(land.MergeSpec{})
	if linked.Read("a.txt") != "1\ntwo\n3\n" || w.repo.Read("a.txt") != "1\n2\n3\n" {
		t.Errorf("%q, %q", linked.Read("a.txt"), w.repo.Read("a.txt"))
	}
	if got := linked.Git("status", "--porcelain"); got != "?? untracked.txt" {
		t.Errorf("linked: %s", got)
	}
	w.clean()
}

func TestMovedTargetIsVerifiedFirst(t *testing.T) {
	w := landed(t, false, nil)
	w.repo.Write("theirs.txt", "t\n")
	moved := w.repo.Commit("theirs")
	out := w.merge("merge-1", land.MergeSpec{})
	if out.Moved == nil || out.Moved.Target != moved || w.repo.Rev(target) != moved {
		t.Fatalf("%+v", out)
	}
	if got := w.repo.Git("ls-tree", "-r", "--name-only", target); strings.Contains(got, "new/n.txt") {
		t.Errorf("merged unverified: %s", got)
	}
	w.repo.Write("more.txt", "t\n")
	w.repo.Commit("more")
	again := w.merge("merge-2", land.MergeSpec{Verified: out.Moved})
	if again.Moved == nil || again.Moved.Target == moved {
		t.Fatalf("moved again: %+v", again)
	}
	w.mustMerge(land.MergeSpec{Verified: again.Moved})
	if w.repo.Read("theirs.txt") != "t\n" || w.repo.Read("a.txt") != "1\ntwo\n3\n" {
		t.Error("not both sides")
	}
	w.clean()
}

// The target moves between the look and the swap: files go back.
func TestTargetMovedUnderneath(t *testing.T) {
	for _, point := range []string{"merge.intent.after", "merge.lock", "merge.index"} {
		t.Run(point, func(t *testing.T) {
			w := landed(t, false, nil)
			var moved agency.OID
			w.opts.Reached = func(p string) {
				if p == point && moved == "" {
					moved = agency.OID(w.repo.Git("commit-tree", "-p", target, "-m", "underneath", target+"^{tree}"))
					w.repo.Git("update-ref", "refs/heads/"+target, string(moved))
				}
			}
			before := gittest.Fingerprint(t, w.repo.Dir, gittest.Files)
			out := w.merge("merge", land.MergeSpec{})
			if out.Moved == nil || out.Moved.Target != moved {
				t.Fatalf("%+v", out)
			}
			if diff := cmp.Diff(before, gittest.Fingerprint(t, w.repo.Dir, gittest.Files)); diff != "" {
				t.Error(diff)
			}
			w.clean()
			w.mustMerge(land.MergeSpec{Verified: out.Moved})
			w.clean()
		})
	}
}

func TestRefusalsAtTheMerge(t *testing.T) {
	for name, c := range map[string]struct {
		cause  land.Cause
		reason string
		do     func(w *world)
	}{
		"stale index.lock": {land.CauseLocked, "rm '", func(w *world) { w.repo.Write(".git/index.lock", "") }},
		"deleted target":   {land.CauseMissing, "git branch main ", func(w *world) { w.repo.Git("checkout", "-q", "--detach"); w.repo.Git("branch", "-D", target) }},
		"deleted branch":   {land.CauseUnborn, "git branch " + branch + " ", func(w *world) { w.repo.Git("branch", "-D", branch) }},
		"merge under way":  {land.CauseBusy, "git status", func(w *world) { w.repo.Write(".git/MERGE_HEAD", string(w.repo.Rev("HEAD"))+"\n") }},
		"rebase under way": {land.CauseBusy, "git rebase", func(w *world) {
			w.repo.Git("checkout", "-q", "--detach")
			w.repo.Write(".git/rebase-merge/head-name", "refs/heads/main\n")
		}},
		"conflict": {land.CauseConflict, "git merge " + branch, func(w *world) { w.repo.Write("a.txt", "theirs\n"); w.repo.Commit("theirs") }},
		"twice": {land.CauseUnusual, "more than once", func(w *world) {
			w.repo.Git("worktree", "add", "-q", "-f", w.repo.Dir+"-two", target)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := landed(t, false, nil)
			c.do(w)
			notObjects := func(rel string) bool { return rel == ".git/objects" }
			before := gittest.Fingerprint(t, w.repo.Dir, notObjects)
			out := w.merge("merge", land.MergeSpec{})
			if out.Refused == nil || out.Refused.Cause != c.cause || !strings.Contains(out.Reason+out.Mend, c.reason) {
				t.Fatalf("%+v", out)
			}
			if diff := cmp.Diff(before, gittest.Fingerprint(t, w.repo.Dir, notObjects)); diff != "" {
				t.Errorf("the user's repository changed: %s", diff)
			}
		})
	}
}

// Hooks, filters, drivers and fsmonitor of the user's repository stay silent,
// and line endings follow the user's settings.
func TestMergeRunsNothingAndKeepsLineEndings(t *testing.T) {
	witness := filepath.Join(t.TempDir(), "ran")
	evil := gittest.Script(t, filepath.Join(t.TempDir(), "evil"), witness)
	w := landed(t, false, func(r *gittest.Repo) {
		r.Write(".gitattributes", "*.txt diff=evil merge=evil\n*.bin filter=evil\n", "x.bin", "x\n")
		r.Commit("attributes")
		r.Git("config", "core.autocrlf", "true")
		for _, kv := range [][2]string{
			{"core.fsmonitor", evil},
			{"filter.evil.smudge", evil},
			{"filter.evil.clean", evil},
			{"filter.evil.process", evil},
			{"merge.evil.driver", evil},
			{"diff.evil.command", evil},
			{"core.hooksPath", filepath.Join(r.Dir, ".git/hooks")},
		} {
			r.Git("config", kv[0], kv[1])
		}
		for _, hook := range []string{"pre-commit", "post-checkout", "post-merge", "pre-merge-commit", "reference-transaction", "post-index-change", "prepare-commit-msg"} {
			gittest.Script(t, filepath.Join(r.Dir, ".git/hooks", hook), witness)
		}
	})
	if out := w.merge("merge", land.MergeSpec{}); out.Merged == nil {
		t.Fatalf("%+v", out)
	}
	if got := w.repo.Read("a.txt"); got != "1\r\ntwo\r\n3\r\n" {
		t.Errorf("%q", got)
	}
	if ran, err := os.ReadFile(witness); err == nil {
		t.Errorf("ran:\n%s", ran)
	}
}
