package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/workspace"

	"github.com/google/go-cmp/cmp"
)

// What the agent's git sees: its own branch at the base, a clean status, no
// remote, all objects; and its commits change nothing of ours.
func TestSyntheticGitDirectory(t *testing.T) {
	r := gittest.New(t, "a.txt", "a\n")
	r.Git("remote", "add", "origin", "https://token@example.org/x")
	r.Git("config", "user.name", "Gräfin")
	r.Git("config", "user.email", "g@example.org")
	b := setup(t, r)
	w := b.work()
	place, err := w.Place()
	if err != nil {
		t.Fatal(err)
	}
	if place.At != r.Dir || place.Root != w.Path() || slices.Contains(place.Objects, filepath.Join(r.Dir, ".git", "objects")) {
		t.Errorf("%+v", place)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = w.Path()
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_DIR=" + place.GitDir, "GIT_WORK_TREE=" + w.Path()}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("git %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := run("status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	if got := run("remote"); got != "" {
		t.Errorf("remotes: %s", got)
	}
	if got := run("log", "--format=%H"); got != string(b.info.Base) {
		t.Errorf("log: %s", got)
	}
	gittest.WriteFiles(t, w.Path(), "a.txt", "A\n")
	run("commit", "-qam", "mine")
	if got := run("log", "-1", "--format=%an <%ae>"); got != "Gräfin <g@example.org>" {
		t.Errorf("author: %s", got)
	}
	run("fsck", "--no-dangling")
	if diff := cmp.Diff([]string{"a.txt A"}, files(t, w, snap(t, w))); diff != "" {
		t.Error(diff)
	}
	if got := b.repo.Git("for-each-ref"); strings.Count(got, "\n") != 0 {
		t.Errorf("refs of the user: %s", got)
	}
}

func TestOpenRunIsIdempotentAndRefuses(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a"))
	if first, second := b.open(), b.open(); first != second {
		t.Error("two handles of one run")
	}
	other := b.info
	b.repo.Write("a.txt", "b")
	other.Base = b.repo.Commit("two")
	if _, err := b.m.OpenRun(t.Context(), other); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("another base: %v", err)
	}
	inside := b.info
	inside.Run, inside.StateDir = "run-2", filepath.Join(b.repo.Dir, "state")
	if _, err := b.m.OpenRun(t.Context(), inside); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("state inside the repository: %v", err)
	}
	evil := b.info
	evil.Run = "../x"
	if _, err := b.m.OpenRun(t.Context(), evil); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("run id: %v", err)
	}
	crypt := setup(t, gittest.New(t, "sub/.gitattributes", "*.key filter=git-crypt diff=git-crypt\n", "sub/a.key", "k"))
	if _, err := crypt.m.OpenRun(t.Context(), crypt.info); agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), "git-crypt") {
		t.Errorf("git-crypt: %v", err)
	}
}

func TestFilteredPathsAndLFSPointersStay(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 3\n"
	b := setup(t, gittest.New(t, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", "x.bin", pointer, "a.txt", "a"))
	w := b.work()
	if got, _ := os.ReadFile(filepath.Join(w.Path(), "x.bin")); string(got) != pointer {
		t.Errorf("pointer: %q", got)
	}
	gittest.WriteFiles(t, w.Path(), ".gitattributes", "")
	got, err := w.Run().Filtered(t.Context(), []string{"x.bin", "a.txt", "new.bin"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"x.bin": "lfs", "new.bin": "lfs"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDirtyCommitLeavesTheCheckoutAlone(t *testing.T) {
	r := gittest.New(t, "a.txt", "a\n", "b.txt", "b\n", "gone.txt", "g\n", ".gitignore", "*.log\n")
	r.Write("a.txt", "edited\n", "new/n.txt", "n\n", "x.log", "no\n", "b.txt", "staged\n")
	r.Git("add", "b.txt")
	if err := os.Remove(filepath.Join(r.Dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFiles(t, r.Dir, "other/.git/HEAD", "ref: refs/heads/x\n", "other/.git/objects/x", "", "other/.git/refs/x", "", "other/f", "f")
	b := setup(t, r)
	before := gittest.Fingerprint(t, r.Dir, nil)
	commit, local, err := b.m.Dirty(t.Context(), b.info, b.info.Base, workspace.Include{Tracked: true, Untracked: []string{"new"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, gittest.Fingerprint(t, r.Dir, nil)); diff != "" {
		t.Errorf("the checkout changed: %s", diff)
	}
	if diff := cmp.Diff([]string{"a.txt", "b.txt", "gone.txt", "new/n.txt"}, local.Paths); diff != "" {
		t.Error(diff)
	}
	b.info.Base, b.info.Dirty = commit, commit
	w := b.work()
	if diff := cmp.Diff([]string{".gitignore *.log", "a.txt edited", "b.txt staged", "new/n.txt n"}, files(t, w, snap(t, w))); diff != "" {
		t.Error(diff)
	}
	clean := setup(t, gittest.New(t, "a", "a"))
	if commit, local, err := clean.m.Dirty(t.Context(), clean.info, clean.info.Base, workspace.Include{Tracked: true}); err != nil || commit != clean.info.Base || len(local.Paths) != 0 {
		t.Errorf("%s %v %v", commit, local, err)
	}
}

func TestShallowCloneAndLinkedWorktree(t *testing.T) {
	full := gittest.New(t, "a.txt", "1")
	full.Write("a.txt", "2")
	full.Commit("two")
	shallow := &gittest.Repo{T: t, Dir: full.Dir + "-shallow"}
	full.Git("clone", "-q", "--depth=1", "file://"+full.Dir, shallow.Dir)
	b := setup(t, shallow)
	w := b.work()
	if commits, err := w.Run().Dir().Commits().Log(t.Context(), b.info.Base, git.LogOptions{}); err != nil || len(commits) != 1 {
		t.Errorf("log of a shallow clone: %v %v", commits, err)
	}
	linked := &gittest.Repo{T: t, Dir: full.Dir + "-linked"}
	full.Git("worktree", "add", "-q", "-b", "side", linked.Dir)
	b = setup(t, linked)
	w = b.work()
	if place, err := w.Place(); err != nil || place.At != linked.Dir || snap(t, w) != b.open().BaseTree() {
		t.Errorf("%+v %v", place, err)
	}
}

func TestMissingObjectIsNamed(t *testing.T) {
	r := gittest.New(t, "a.txt", "a")
	blob := string(r.Rev("HEAD:a.txt"))
	if err := os.Remove(filepath.Join(r.Dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	b := setup(t, r)
	run, err := b.m.OpenRun(t.Context(), b.info)
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Prepare(t.Context(), "main", run.Base(), workspace.Work)
	if agency.MendOf(err) == "" || agency.KindOf(err) != agency.KindTransient || !git.IsMissing(err) || !strings.Contains(fmt.Sprint(err), "object is missing") {
		t.Errorf("%v (kind %v)", err, agency.KindOf(err))
	}
}

func TestLineEndingsFollowTheUsersSettings(t *testing.T) {
	r := gittest.New(t, "a.txt", "one\ntwo\n", "raw.bin", "x\n", ".gitattributes", "*.bin -text\n")
	r.Git("config", "core.autocrlf", "true")
	b := setup(t, r)
	w := b.work()
	if got, _ := os.ReadFile(filepath.Join(w.Path(), "a.txt")); string(got) != "one\r\ntwo\r\n" {
		t.Errorf("%q", got)
	}
	if snap(t, w) != b.open().BaseTree() {
		t.Error("a checkout with CRLF is not the base")
	}
	gittest.WriteFiles(t, w.Path(), "a.txt", "one\r\n2\r\n")
	if got := files(t, w, snap(t, w)); !slices.Contains(got, "a.txt one\n2") {
		t.Errorf("%q", got)
	}
}

func TestRebaseCarriesTheChange(t *testing.T) {
	r := gittest.New(t, "a.txt", "1\n2\n3\n4\n5\n", "b.txt", "b\n")
	b := setup(t, r)
	w := b.work()
	gittest.WriteFiles(t, w.Path(), "a.txt", "1\n2\n3\n4\nfive\n", "mine.txt", "m\n")
	r.Write("a.txt", "one\n2\n3\n4\n5\n", "theirs.txt", "t\n")
	head := r.Commit("theirs")
	conflicts, err := w.Rebase(t.Context(), head)
	if err != nil || len(conflicts) != 0 {
		t.Fatalf("%v %v", conflicts, err)
	}
	if diff := cmp.Diff([]string{"a.txt one\n2\n3\n4\nfive", "b.txt b", "mine.txt m", "theirs.txt t"}, files(t, w, snap(t, w))); diff != "" {
		t.Error(diff)
	}
	if at, err := w.Start(); err != nil || at != head {
		t.Errorf("%s %v", at, err)
	}
	r.Write("b.txt", "theirs\n")
	head = r.Commit("clash")
	gittest.WriteFiles(t, w.Path(), "b.txt", "mine\n")
	if conflicts, err = w.Rebase(t.Context(), head); err != nil || !slices.Equal(conflicts, []string{"b.txt"}) {
		t.Errorf("%v %v", conflicts, err)
	}
	if got, _ := os.ReadFile(filepath.Join(w.Path(), "b.txt")); !strings.Contains(string(got), "<<<<<<<") {
		t.Errorf("%q", got)
	}
}

func TestSHA256Repository(t *testing.T) {
	r := gittest.Init(t)
	if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if out, err := r.Try("init", "-q", "-b", "main", "--object-format=sha256"); err != nil {
		t.Skipf("this git has no SHA-256: %s", out)
	}
	r.Write("a.go", "a", ".gitignore", "*.log\n")
	r.Commit("start")
	b := setup(t, r)
	w := b.work()
	snap(t, w)
	// An agent's ignore file takes the careful way, which removes entries.
	gittest.WriteFiles(t, w.Path(), ".gitignore", "!*.log\n", "x.log", "x", "b.go", "b")
	if diff := cmp.Diff([]string{".gitignore !*.log", "a.go a", "b.go b"}, files(t, w, snap(t, w))); diff != "" {
		t.Error(diff)
	}
}

// TestPlaceWithoutLinks has commands work where programs find themselves, also
// where the state folder lies behind a link: reports would else name files outside.
func TestPlaceWithoutLinks(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a\n"))
	link := filepath.Join(t.TempDir(), "state")
	if err := os.Symlink(b.state, link); err != nil {
		t.Fatal(err)
	}
	b.info.StateDir = link
	w := b.work()
	place, err := w.Place()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pwd", "-P")
	cmd.Dir = place.Root
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != place.Root || place.Root == w.Path() {
		t.Errorf("commands work in %s, and find themselves in %s, %v", place.Root, out, err)
	}
}
