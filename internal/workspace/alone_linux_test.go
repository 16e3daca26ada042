package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/sandbox"
	"agency/internal/workspace"
)

// errLives is what a census says of what it cannot end.
var errLives = errors.New("process 7 (survivor) lives")

// Whatever the host does on the files of a checkout, it asks before whether
// somebody else is at work there, also where no git is needed.
func TestNobodyIsAtWork(t *testing.T) {
	asked, answer := 0, error(nil)
	var where string
	b := setup(t, gittest.New(t, "a.txt", "a\n", "sub/b.txt", "b\n"))
	b.m = workspace.New(workspace.Options{Git: b.host, DB: b.db, Still: func(_ context.Context, dir string) error {
		asked, where = asked+1, dir
		return answer
	}})
	w := b.work()
	first := snap(t, w)
	workspace.Settle(w)
	if !workspace.Remembers(w) {
		t.Fatal("the quick way of a snapshot is not tried")
	}
	for name, do := range map[string]func() error{
		"snapshot": func() error { _, err := w.Snapshot(t.Context()); return err },
		"restore":  func() error { return w.Restore(t.Context(), first) },
		"check":    func() error { return w.Check(t.Context()) },
		"checkpoint": func() error {
			_, err := w.CreateCheckpoint(t.Context(), "id", "label")
			return err
		},
		"checkout": func() error {
			_, err := w.Run().Clean(t.Context(), "clean", first)
			return err
		},
	} {
		asked, answer = 0, errLives
		if err := do(); !errors.Is(err, errLives) || asked == 0 {
			t.Errorf("%s beside a survivor: %v, asked %d times", name, err, asked)
		}
		asked, answer = 0, nil
		if err := do(); err != nil || asked == 0 {
			t.Errorf("%s: %v, asked %d times", name, err, asked)
		}
		if want := w.Path(); name != "checkout" && where != want {
			t.Errorf("%s: asked of %s, not %s", name, where, want)
		}
	}
}

// A command that is under way in a checkout, in either tier, is no more when the
// host has taken its snapshot; one in another checkout goes on.
func TestSnapshotEndsWhatRuns(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.ModeFull, sandbox.ModeLandlock} {
		t.Run(string(mode), func(t *testing.T) {
			census := sandbox.NewCensus()
			runner, err := sandbox.New(sandbox.Options{Mode: mode, Census: census})
			if err != nil {
				t.Skipf("needs the tier: %v", err)
			}
			defer func() { _ = runner.Close() }()
			b := setup(t, gittest.New(t, "a.txt", "a\n"))
			b.m = workspace.New(workspace.Options{Git: b.host, DB: b.db, ObjectsAt: runner.ObjectsAt})
			unasked := b.work()
			writes, ended := writer(t, runner, unasked)
			_, _ = unasked.Snapshot(t.Context()) // a muddle, or not
			if !writes() {
				t.Fatal("the attack: a command goes on while the host takes a snapshot")
			}
			b.m = workspace.New(workspace.Options{Git: b.host, DB: b.db, ObjectsAt: runner.ObjectsAt, Still: census.Still})
			w := b.work()
			if w.Path() != unasked.Path() {
				t.Fatal("another checkout")
			}
			other, err := w.Run().Prepare(t.Context(), "other", w.Run().Base(), workspace.Work)
			if err != nil {
				t.Fatal(err)
			}
			otherWrites, otherEnded := writer(t, runner, other)
			tree := snap(t, w)
			if res := ended(); res.Cause != sandbox.CauseSignalled {
				t.Errorf("the command ended as %s %d: %s", res.Cause, res.ExitCode, res.Output)
			}
			if again := snap(t, w); again != tree {
				t.Error("something was written after the snapshot")
			}
			if !otherWrites() {
				t.Error("the command in another checkout does not go on")
			}
			if err := other.Restore(t.Context(), w.Run().BaseTree()); err != nil {
				t.Error(err)
			}
			otherEnded()
			if got := files(t, other, snap(t, other)); len(got) != 1 {
				t.Errorf("after the restore: %q", got)
			}
		})
	}
}

// writer runs a command that writes a file of a checkout again and again. writes
// tells whether it does so still, ended waits for its end.
func writer(t *testing.T, runner *sandbox.Runner, w *workspace.Workspace) (writes func() bool, ended func() sandbox.Result) {
	t.Helper()
	place, err := w.Place()
	if err != nil {
		t.Fatal(err)
	}
	said, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = said.Close() })
	done := make(chan sandbox.Result, 1)
	go func() {
		res, err := runner.Run(context.Background(), sandbox.Spec{
			Place: place, Stdout: says, Argv: []string{"/bin/sh", "-c", "n=0; while :; do n=$((n+1)); echo $n >survivor && echo $n; done"},
		})
		_ = says.Close()
		if err != nil && agency.KindOf(err) != agency.KindTransient {
			t.Error(err)
		}
		done <- res
	}()
	lines := bufio.NewReader(said)
	next := func() bool {
		line, err := lines.ReadString('\n')
		return err == nil && strings.TrimSpace(line) != ""
	}
	if !next() {
		t.Fatal("the command does not run")
	}
	writes = func() bool {
		// What it said before may wait in the pipe: it is over when the file is new.
		at := filepath.Join(w.Path(), "survivor")
		if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for next() {
			if _, err := os.Stat(at); err == nil {
				return true
			}
		}
		return false
	}
	return writes, func() sandbox.Result {
		for next() {
		}
		return <-done
	}
}
