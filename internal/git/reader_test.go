package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/git/gittest"
)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestReader: one process reads everything, and what it refuses, or who leaves in
// the middle, spoils nothing for the next one.
func TestReader(t *testing.T) {
	repo := gittest.New(t, "small", "s\n", "empty", "", "large", strings.Repeat("x", 1<<20), "dir/f", "in a folder\n")
	starts := filepath.Join(t.TempDir(), "starts")
	fake := filepath.Join(filepath.Dir(starts), "git")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' --batch '*) echo >>'%s';; esac\nexec %s \"$@\"\n", starts, real)
	gittest.Program(t, fake, script)
	h, err := git.NewProgram(t.Context(), git.Options{Binary: fake, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	id := func(name string) agency.OID {
		return agency.OID(strings.TrimSpace(repo.Git("rev-parse", "HEAD:"+name)))
	}
	began := func() int { b, _ := os.ReadFile(starts); return len(b) }
	r := h.At(find(t, repo.Dir)).Objects().Reader()
	read := func(name, want string) {
		t.Helper()
		if b, err := r.Content(t.Context(), id(name), 2<<20); err != nil || string(b) != want {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if began() != 0 {
		t.Error("a process nobody asked for")
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if i%2 == 0 {
				read("small", "s\n")
			} else {
				read("empty", "")
			}
		})
	}
	all.Wait()
	for name, id := range map[string]agency.OID{"absent": agency.OID(strings.Repeat("a", 40)), "a folder": id("dir")} {
		if _, err := r.Content(t.Context(), id, 1<<20); agency.KindOf(err) != agency.KindNotFound {
			t.Errorf("%s: %v", name, err)
		}
		read("dir/f", "in a folder\n")
	}
	if _, err := r.Content(t.Context(), "--batch-all-objects", 1); err == nil {
		t.Error("an option was read as an id")
	}
	if n := began(); n != 2 { // the second one after the folder
		t.Errorf("%d processes for 44 blobs", n)
	}
	if _, err := r.Content(t.Context(), id("large"), 1000); !git.IsTooLong(err) {
		t.Errorf("large: %v", err)
	}
	read("large", strings.Repeat("x", 1<<20))

	full := errors.New("no room")
	if err := r.ContentTo(t.Context(), id("large"), writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("to who takes nothing: %v", err)
	}
	read("large", strings.Repeat("x", 1<<20))

	ctx, leave := context.WithCancel(t.Context())
	other := h.At(find(t, repo.Dir)).Objects().Reader()
	if _, err := other.Content(ctx, id("small"), 10); err != nil {
		t.Error(err)
	}
	leave() // whoever began the process
	if _, err := other.Content(ctx, id("small"), 10); err == nil {
		t.Error("read for somebody who has left")
	}
	for range 3 {
		if b, err := other.Content(t.Context(), id("small"), 10); err != nil || string(b) != "s\n" {
			t.Errorf("after the first one left: %q, %v", b, err)
		}
	}
	other.Close()
	r.Close()
	r.Close()
	read("small", "s\n")
	r.Close()
}
