package workspace_test

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/git/gittest"
	"agency/internal/workspace"

	"golang.org/x/sys/unix"
)

// survivor is a process of a command that should have ended: it swaps a folder
// of a checkout for a link to a home as fast as it can.
type survivor struct {
	home string
	done chan int
	end  atomic.Bool
}

func survive(t *testing.T, checkout string, home string) *survivor {
	t.Helper()
	s := &survivor{home: home, done: make(chan int)}
	link := filepath.Join(checkout, "other")
	if err := os.Symlink(home, link); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	go func() {
		n := 0
		for !s.end.Load() {
			if unix.Renameat2(unix.AT_FDCWD, filepath.Join(checkout, "sub"), unix.AT_FDCWD, link, unix.RENAME_EXCHANGE) == nil {
				n++
			}
			_ = os.Symlink(home, link) // a restore removes what is new
		}
		s.done <- n
	}()
	return s
}

func (s *survivor) stop() int { s.end.Store(true); return <-s.done }

const canaryText = "nobody else's business\n"

// home is a folder outside with what the base has in sub, so that git finds each
// name there, too, and each with a text of its own.
func homeOf(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "fresh.txt"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(canaryText+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func untouched(t *testing.T, home string) {
	t.Helper()
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 4 {
		t.Errorf("the folder outside holds %d files: %v", len(entries), err)
	}
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join(home, e.Name())); string(b) != canaryText+e.Name() {
			t.Errorf("%s outside: %q, %v", e.Name(), b, err)
		}
	}
}

// unread tells whether an object of the run holds what lies outside.
func unread(t *testing.T, w *workspace.Workspace) {
	t.Helper()
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "fresh.txt"} {
		id := agency.OID(blobID(canaryText + name))
		if _, err := w.Run().Dir().Objects().Type(t.Context(), id); err == nil {
			t.Errorf("%s of outside became an object of the run", name)
		}
	}
}

func blobID(text string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))
}

// A folder that is swapped for a link to one outside, while the host's git works
// on the checkout, leads nowhere: nothing outside is read, written or deleted.
func TestSurvivorSwapsFolders(t *testing.T) {
	if !beneath.Fenced() {
		t.Skip("this kernel has no Landlock, so no tier in which a process survives")
	}
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	var text []string
	for _, name := range []string{"sub/a.txt", "sub/b.txt", "sub/c.txt", "sub/deep/d.txt", "x.txt"} {
		text = append(text, name, strings.Repeat(name+"\n", 200))
	}
	b := setup(t, gittest.New(t, text...))
	w := b.work()
	home := homeOf(t)
	first := snap(t, w)
	if err := os.WriteFile(filepath.Join(w.Path(), "sub", "a.txt"), []byte("changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := snap(t, w)
	swaps := 0
	for i := range rounds {
		s := survive(t, w.Path(), home)
		// What each answers is the agent's own affair: its files are a muddle.
		_, _ = w.Snapshot(t.Context())
		_ = w.Restore(t.Context(), []agency.OID{first, second}[i%2])
		_ = os.WriteFile(filepath.Join(w.Path(), "fresh.txt"), nil, 0o600)
		_ = w.Check(t.Context())
		_, _ = w.Snapshot(t.Context())
		_ = w.Restore(t.Context(), []agency.OID{second, first}[i%2])
		swaps += s.stop()
		untouched(t, home)
		if t.Failed() {
			t.Fatalf("in round %d", i)
		}
	}
	unread(t, w)
	if swaps < rounds {
		t.Errorf("only %d swaps", swaps)
	}
	if err := w.Restore(t.Context(), second); err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	if got := snap(t, w); got != second {
		t.Errorf("afterwards %s instead of %s", got, second)
	}
	s := survive(t, w.Path(), home)
	err := w.Run().Remove(t.Context(), "main", workspace.Work)
	s.stop()
	if err != nil {
		t.Errorf("removal: %v", err)
	}
	untouched(t, home)
}
