package workspace_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/workspace"
)

// inside runs git as a command in the sandbox would, with what the checkout is
// shown.
func inside(t *testing.T, w *workspace.Workspace, args ...string) (string, error) {
	t.Helper()
	place, err := w.Place()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = place.Root
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_DIR=" + place.GitDir, "GIT_WORK_TREE=" + place.Root}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Git inside has the history of the base and of the run, and neither a stash, nor
// another branch, nor what no branch names any more.
func TestOnlyReachableObjectsAreShown(t *testing.T) {
	r := gittest.New(t, "a.txt", "one\n")
	first := r.Rev("HEAD")
	r.Write("a.txt", "stashed secret\n")
	r.Git("stash")
	r.Git("switch", "-q", "-c", "other")
	r.Write("a.txt", "secret of another branch\n")
	other := r.Commit("other")
	r.Git("switch", "-q", "-")
	r.Write("a.txt", "dangling secret\n")
	dangling := r.Commit("dangling")
	r.Git("reset", "-q", "--hard", string(first))
	r.Write("a.txt", "two\n")
	base := r.Commit("two")
	hidden := []agency.OID{other, dangling, r.Rev("stash@{0}"), r.Rev("stash@{0}:a.txt"), r.Rev(string(other) + ":a.txt"), r.Rev(string(dangling) + ":a.txt")}
	for _, pack := range []bool{false, true} {
		if pack {
			r.Git("repack", "-adq", "--keep-unreachable")
		}
		b := setup(t, r)
		w := b.work()
		for _, id := range hidden {
			if _, err := b.host.At(b.info.Repo).Objects().Type(t.Context(), id); err != nil {
				t.Fatalf("the user has no %s: %v", id, err)
			}
			if out, err := inside(t, w, "cat-file", "-p", string(id)); err == nil {
				t.Errorf("%s is shown: %s", id, out)
			}
		}
		for _, args := range [][]string{{"log", "-p"}, {"show", "HEAD~1:a.txt"}, {"blame", "a.txt"}, {"status"}, {"fsck", "--full"}} {
			if out, err := inside(t, w, args...); err != nil || strings.Contains(out, "missing") || strings.Contains(out, "error:") {
				t.Errorf("git %s: %v\n%s", args[0], err, out)
			}
		}
		if out, err := inside(t, w, "log", "--format=%H"); err != nil || out != string(base)+"\n"+string(first)+"\n" {
			t.Errorf("log: %v\n%s", err, out)
		}
	}
}

// What a checkout starts from beyond the base is shown as well: a commit of the
// run, and a tree, even one that holds what only another branch of the user has.
func TestStartBeyondTheBaseIsShown(t *testing.T) {
	r := gittest.New(t, "a.txt", "one\n")
	r.Git("switch", "-q", "-c", "other")
	r.Write("a.txt", "of both\n")
	r.Commit("other")
	r.Git("switch", "-q", "-")
	b := setup(t, r)
	w := b.work()
	if err := os.WriteFile(w.Path()+"/a.txt", []byte("of both\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := snap(t, w)
	d := w.Run().Dir()
	commit, err := d.Commits().Write(t.Context(), tree, []agency.OID{b.info.Base}, "landed", b.info.Settings.Identity)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []agency.OID{tree, commit} {
		v, err := w.Run().Clean(t.Context(), "check", at)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := inside(t, v, "cat-file", "-p", string(tree)+":a.txt"); err != nil || out != "of both\n" {
			t.Errorf("%s: %v\n%s", at, err, out)
		}
		if out, err := inside(t, v, "fsck", "--full"); err != nil || strings.Contains(out, "missing") {
			t.Errorf("%s: %v\n%s", at, err, out)
		}
	}
	if _, err := w.Rebase(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	if out, err := inside(t, w, "log", "--format=%s"); err != nil || !strings.HasPrefix(out, "landed\n") {
		t.Errorf("rebased: %v\n%s", err, out)
	}
}

// Of a large history the last commits are shown, and git knows that there is
// more.
func TestLargeHistoryIsCutOff(t *testing.T) {
	r := gittest.New(t, "a.txt", "0\n")
	for range 250 {
		r.Git("commit", "-q", "--allow-empty", "-m", "more")
	}
	r.Git("repack", "-adq")
	b := setup(t, r)
	b.m = workspace.New(workspace.Options{Git: b.host, DB: b.db, MostHistory: 1})
	w := b.work()
	if out, err := inside(t, w, "rev-list", "--count", "HEAD"); err != nil || strings.TrimSpace(out) != "200" {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := inside(t, w, "fsck", "--full"); err != nil || strings.Contains(out, "missing") {
		t.Errorf("%v\n%s", err, out)
	}
}
