package land_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/land"
)

// lockRef leaves the locks of a git that is killed when it has prepared to move
// a ref to id: those that a real one leaves.
func (w *world) lockRef(ref, id string) {
	w.t.Helper()
	cmd := exec.Command("git", "-C", w.repo.Dir, "update-ref", "--stdin")
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(in, "start\nupdate %s %s\nprepare\n", ref, id); err != nil {
		w.t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "prepare: ok") {
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := os.Stat(filepath.Join(w.repo.Dir, ".git", ref+".lock")); err != nil {
		w.t.Fatalf("no lock was left: %v", err)
	}
}

// mergeCommit finds the commit that a killed merge had made.
func (w *world) mergeCommit() string {
	w.t.Helper()
	for line := range strings.Lines(w.repo.Git("cat-file", "--batch-all-objects", "--batch-check")) {
		f := strings.Fields(line)
		if len(f) < 2 || f[1] != "commit" {
			continue
		}
		if len(strings.Fields(w.repo.Git("show", "-s", "--format=%P", f[0]))) == 2 {
			return f[0]
		}
	}
	w.t.Fatal("no merge commit is in the repository")
	return ""
}

// A git that was killed while it moved the target leaves locks. Those that the
// intent proves to be ours go; those of somebody else stay and are named.
func TestLocksOfAKilledSwapAreRecovered(t *testing.T) {
	w := landed(t, false, nil)
	old := w.repo.Rev(target)
	w = killed(t, w, crashSpec{Point: "merge.index", Merge: &land.MergeSpec{Run: runID, Target: target}})
	w.lockRef("refs/heads/"+target, w.mergeCommit())
	if err := w.target().Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{"refs/heads/" + target + ".lock", "HEAD.lock", "index.lock"} {
		if _, err := os.Stat(filepath.Join(w.repo.Dir, ".git", lock)); err == nil {
			t.Errorf("%s is left", lock)
		}
	}
	if out := w.merge("merge", land.MergeSpec{}); out.Merged == nil {
		t.Fatalf("%+v", out)
	}
	w.isMerged(old)
	w.clean()
}

// Killed after the ref moved and before HEAD was given back.
func TestLockOfHeadAfterTheSwap(t *testing.T) {
	w := landed(t, false, nil)
	old := w.repo.Rev(target)
	w = killed(t, w, crashSpec{Point: "merge.ref", Merge: &land.MergeSpec{Run: runID, Target: target}})
	w.repo.Write(".git/HEAD.lock", "")
	if out := w.merge("merge", land.MergeSpec{}); out.Merged == nil {
		t.Fatalf("%+v", out)
	}
	w.isMerged(old)
	w.clean()
}

func TestLocksOfOthersStay(t *testing.T) {
	for name, prepare := range map[string]func(w *world) string{
		"another commit": func(w *world) string {
			w.lockRef("refs/heads/"+target, w.repo.Git("commit-tree", "-m", "theirs", target+"^{tree}"))
			return ".git/refs/heads/" + target + ".lock"
		},
		"HEAD at another time": func(w *world) string {
			w.repo.Write(".git/HEAD.lock", "")
			past := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(w.repo.Dir, ".git/HEAD.lock"), past, past); err != nil {
				w.t.Fatal(err)
			}
			return ".git/HEAD.lock"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := landed(t, false, nil)
			w = killed(t, w, crashSpec{Point: "merge.index", Merge: &land.MergeSpec{Run: runID, Target: target}})
			lock := prepare(w)
			out := w.merge("merge", land.MergeSpec{})
			if out.Refused == nil || out.Refused.Cause != land.CauseLocked || !strings.Contains(out.Mend, "rm '") {
				t.Errorf("%+v", out)
			}
			if _, err := os.Stat(filepath.Join(w.repo.Dir, lock)); err != nil {
				t.Errorf("%s was removed", lock)
			}
		})
	}
}
