//go:build unix

package daemon

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/git"
)

// A repository's folder may be moved while a run waits, and while a host of
// the old path lives: the run goes on where the folder is now.
func TestRunFollowsItsMovedRepository(t *testing.T) {
	w := newWork(t, quick)
	old, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	to := w.place.Repo.WorkTree + "-moved"
	if err := os.Rename(w.place.Repo.WorkTree, to); err != nil {
		t.Fatal(err)
	}
	w.moveTo(to)
	if there, err := greet(t.Context(), w.place, time.Minute); err != nil || !there.movedFrom(w.place) {
		t.Fatalf("the host of the old path is not seen as lost (%v)", err)
	}
	old.Close()
	w.finishes("run-1")
	if b, err := os.ReadFile(filepath.Join(to, "new.txt")); err != nil || string(b) != "CONTENT\n" {
		t.Errorf("the moved checkout holds %q (%v)", b, err)
	}
}

// A run whose linked worktree was removed goes on in the repository that is
// left; one whose worktree was moved goes on in it.
func TestRunOutlivesItsWorktree(t *testing.T) {
	for _, removed := range []bool{true, false} {
		w := newWork(t, quick)
		main, side := w.place.Repo.WorkTree, w.place.Repo.WorkTree+"-side"
		inGit(t, main, "worktree", "add", "-q", "-b", "side", side)
		w.moveTo(side)
		d, c := w.start(Options{})
		if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
			t.Fatal(err)
		}
		w.until(c, "run-1", 0, "run_waiting")
		d.Close()
		if removed {
			inGit(t, main, "worktree", "remove", side)
			w.moveTo(main)
		} else {
			inGit(t, main, "worktree", "move", side, side+"-2")
			w.moveTo(main)
		}
		w.finishes("run-1")
		if got := inGit(t, main, "show", "side:new.txt"); got != "CONTENT" {
			t.Errorf("removed %v: the target holds %q", removed, got)
		}
		if _, err := os.Stat(filepath.Join(side+"-2", "new.txt")); !removed && err != nil {
			t.Errorf("the moved worktree is not up to date: %v", err)
		}
	}
}

// finishes approves the merge of a run at its gate in a new host.
func (w *work) finishes(id agency.RunID) {
	w.t.Helper()
	d, c := w.start(Options{})
	if _, err := c.Answer(w.t.Context(), id, api.AnswerRequest{Verb: agency.Approve, By: "test"}); err != nil {
		w.t.Fatal(err)
	}
	if end := w.until(c, id, 0, "run_succeeded", "run_failed"); end.Type != "run_succeeded" {
		w.t.Fatalf("the run ended by %s: %s", end.Type, end.Summary)
	}
	w.healthy(d, id)
}

// moveTo goes on from another path of the same repository.
func (w *work) moveTo(dir string) {
	w.t.Helper()
	loc, err := git.Find(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	id, err := readID(loc.CommonDir)
	if err != nil || id != w.place.ID {
		w.t.Fatalf("the id of the moved repository is %q, was %q (%v)", id, w.place.ID, err)
	}
	w.place.Repo = loc
}

func inGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// A host that accepts and never answers, as a stopped one does, keeps nobody
// from looking.
func TestStoppedHostIsSilent(t *testing.T) {
	p := claim(t)
	if err := os.MkdirAll(filepath.Dir(p.Socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nothing was accepted
	if _, err := await(t.Context(), p, time.Millisecond); !errors.Is(err, ErrSilent) {
		t.Errorf("looking at a stopped host: %v", err)
	}
}
