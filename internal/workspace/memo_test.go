package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/workspace"

	"pgregory.net/rapid"
)

// TestSnapshotsByMemoEqualThoseWithout carries two checkouts through the same
// changes: one is remembered between snapshots, the other is opened by a new
// manager each time, so that git looks for itself.
func TestSnapshotsByMemoEqualThoseWithout(t *testing.T) {
	b := setup(t, gittest.New(t, ".gitignore", "*.log\ncache/\n", "a.txt", "a\n", "d/b.txt", "b\n", "d/e/c.txt", "c\n", "x.log.txt", "x\n"))
	run := b.open()
	names := []string{"a.txt", "d/b.txt", "d/e/c.txt", "new.txt", "d/n.log", "cache/x", "empty/y.txt", "d/.gitignore", "d/e"}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		name := fmt.Sprintf("case-%d", n)
		w, err := run.Prepare(t.Context(), name, run.Base(), workspace.Work)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = run.Remove(t.Context(), name, workspace.Work) }()
		workspace.Settle(w)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			at := filepath.Join(w.Path(), rapid.SampledFrom(names).Draw(rt, "name"))
			tick(b.state)
			change(rt, at, rapid.SampledFrom([]string{"write", "same size", "remove", "link", "folder", "mode"}).Draw(rt, "change"))
			got, gotErr := w.Snapshot(t.Context())
			fresh := workspace.Forgetful(w)
			want, wantErr := fresh.Snapshot(t.Context())
			if got != want || (gotErr == nil) != (wantErr == nil) {
				rt.Fatalf("with a memo %s, %v; without %s, %v", got, gotErr, want, wantErr)
			}
			workspace.Settle(w)
		}
	})
}

// tick returns when the clock of the file system has moved: the test tells the
// memo to trust what it saw a moment ago.
func tick(dir string) {
	at := filepath.Join(dir, "tick")
	stamp := func() time.Time {
		_ = os.WriteFile(at, nil, 0o600)
		info, err := os.Stat(at)
		if err != nil {
			return time.Now()
		}
		return info.ModTime()
	}
	for first := stamp(); !stamp().After(first); {
	}
}

func change(t *rapid.T, at, how string) {
	write := func(text string) {
		_ = os.RemoveAll(filepath.Dir(at) + "/tmp") // nothing there mostly
		if os.MkdirAll(filepath.Dir(at), 0o755) == nil {
			_ = os.WriteFile(at, []byte(text), 0o644) // a folder stays one
		}
	}
	switch how {
	case "write":
		write(rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "text"))
	case "same size":
		write(rapid.StringMatching(`[a-z]`).Draw(t, "text") + "\n")
		when := time.Unix(1_700_000_000, 0)
		_ = os.Chtimes(at, when, when)
	case "remove":
		_ = os.RemoveAll(at)
	case "link":
		_ = os.Remove(at)
		_ = os.Symlink("a.txt", at)
	case "folder":
		_ = os.Remove(at)
		_ = os.MkdirAll(at, 0o755)
	case "mode":
		_ = os.Chmod(at, 0o755)
	}
}

// TestTheMemoServes holds that what is mostly asked needs no search of git.
func TestTheMemoServes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no memo here")
	}
	b := setup(t, gittest.New(t, "a.txt", "a\n", "d/b.txt", "b\n"))
	w := b.work()
	settled := func() agency.OID {
		t.Helper()
		tree := snap(t, w)
		workspace.Settle(w)
		return tree
	}
	first := settled()
	if !workspace.Remembers(w) {
		t.Fatal("no memo after a snapshot")
	}
	lock := workspace.IndexOf(w) + ".lock"
	gittest.WriteFiles(t, filepath.Dir(lock), filepath.Base(lock), "") // any git would fail
	if got := snap(t, w); got != first {
		t.Errorf("%s, want %s", got, first)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFiles(t, w.Path(), "d/b.txt", "changed\n")
	if settled() == first || !workspace.Remembers(w) {
		t.Error("a change was not seen, or lost the memo")
	}
	if err := w.Restore(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := settled(); got != first {
		t.Errorf("after a restore %s, want %s", got, first)
	}
}
