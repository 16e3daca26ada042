package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/git/gittest"
)

func TestCancellationKillsTheProcessGroup(t *testing.T) {
	r := gittest.New(t, "a", "1")
	fake := filepath.Join(t.TempDir(), "git")
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := "#!/bin/sh\nif [ \"$3\" = version ] || [ \"$#\" -lt 3 ]; then :; fi\ncase \"$*\" in *version) echo git version 2.39.5; exit;; esac\nsleep 600 & echo $! > " + pidFile + ".tmp; mv " + pidFile + ".tmp " + pidFile + "; wait\n"
	gittest.Program(t, fake, script)
	h, err := git.NewProgram(t.Context(), git.Options{Binary: fake})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := h.At(find(t, r.Dir)).Refs().Below(ctx, "refs/heads"); done <- err }()
	pid := waitFor(t, pidFile)
	cancel()
	if err := <-done; agency.KindOf(err) != agency.KindTransient || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	gone(t, strings.TrimSpace(pid))
}

// waitFor polls for a file that another process writes in one step.
func waitFor(t *testing.T, path string) string {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 5000 {
		if b, err := os.ReadFile(path); err == nil {
			return string(b)
		}
		<-tick.C
	}
	t.Fatalf("%s did not appear", path)
	return ""
}

func gone(t *testing.T, pid string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 5000 {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		<-tick.C
	}
	t.Errorf("process %s outlived its command", pid)
}

func TestOutputCap(t *testing.T) {
	r := gittest.New(t, "a", strings.Repeat("x", 4096))
	h, err := git.NewProgram(t.Context(), git.Options{OutputCap: 1024})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.At(find(t, r.Dir)).Objects().Tree(t.Context(), r.Rev("HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := h.At(find(t, r.Dir)).Objects().Blob(t.Context(), r.Rev("HEAD"), "a", 1000)
	if !git.IsTooLong(err) || agency.KindOf(err) != agency.KindExhausted || len(b) != 1000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if b, err = h.At(find(t, r.Dir)).Objects().Blob(t.Context(), r.Rev("HEAD"), "a", 4096); err != nil || len(b) != 4096 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// slow takes what a command writes long after that has ended.
type slow struct{ strings.Builder }

func (s *slow) Write(p []byte) (int, error) {
	<-time.After(3 * time.Second)
	return s.Builder.Write(p)
}

// A reader may take its time, whenever the command that it reads has ended.
func TestASlowReaderGetsEverything(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, "a", strings.Repeat("x", 4096))
	d := host(t).At(find(t, r.Dir))
	var w slow
	if err := d.Objects().SmudgedTo(t.Context(), agency.OID(r.Git("rev-parse", "HEAD:a")), "a", &w); err != nil || w.Len() != 4096 {
		t.Errorf("%d bytes, %v", w.Len(), err)
	}
}

// fakeGit is git with something before it.
func fakeGit(t *testing.T, first string) *git.Program {
	t.Helper()
	fake := filepath.Join(t.TempDir(), "git")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, fake, "#!/bin/sh\n"+first+"\nexec "+real+" \"$@\"\n")
	h, err := git.NewProgram(t.Context(), git.Options{Binary: fake})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// What sends has ended long before what receives has read it where little is
// packed and much unpacked; and of two that fail the cause is told.
func TestSendWaitsForWhoReceives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, want string }{
		"slow":     {first: `case "$*" in *unpack-objects*) sleep 3;; esac`},
		"broken":   {first: `case "$*" in *" pack-objects"*) echo torn >&2; exit 3;; esac`, want: "git pack-objects: torn"},
		"killed":   {first: `case "$*" in *" pack-objects"*) kill -9 $$;; esac`, want: "git pack-objects: status -1"},
		"receiver": {first: `case "$*" in *unpack-objects*) echo full >&2; exit 3;; esac`, want: "git unpack-objects: full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fakeGit(t, c.first)
			r := gittest.New(t, "a.txt", "one\n")
			loc := find(t, r.Dir)
			d := private(t, h, loc, git.Settings{})
			base := r.Rev("HEAD")
			work := d.WithWorkTree(t.TempDir(), filepath.Join(d.GitDir, "index-test"))
			random := make([]byte, 112<<10)                 // what two pipes of the kernel hold
			_, _ = rand.NewChaCha8([32]byte{}).Read(random) // never fails
			gittest.WriteFiles(t, work.WorkTree, "big", string(random))
			if _, err := work.Index().AddAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			tree, err := work.Index().WriteTree(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			two, err := d.Commits().Write(t.Context(), tree, []agency.OID{base}, "two", git.Identity{})
			if err != nil {
				t.Fatal(err)
			}
			err = d.Transfer().Send(t.Context(), loc.Objects(), git.Sending{Tips: []agency.OID{two}, Not: []agency.OID{base}})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r.Git("update-ref", "refs/heads/x", string(two))
			r.Sane()
		})
	}
}

// What follows from objects alone is asked once of a directory of ours, whoever it is
// written to; of a person's, which may lose objects, each time.
func TestObjectsAreAskedAboutOnce(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	h := fakeGit(t, `case "$*" in *diff-tree*|*ls-tree*|*cat-file*|*rev-parse*) echo >>'`+log+`';; esac`)
	r := gittest.New(t, "a.txt", "one\n")
	first := r.Rev("HEAD")
	r.Write("a.txt", "two\n")
	r.Commit("second")
	second := r.Rev("HEAD")
	r.Write("a.txt", strings.Repeat("long\n", 20_000))
	r.Commit("long")
	third := r.Rev("HEAD")
	loc := find(t, r.Dir)
	ours := private(t, h, loc, git.Settings{})
	asked := func() int { b, _ := os.ReadFile(log); return len(b) }
	was := asked()
	patch := func(d git.Dir, to agency.OID) (string, string) {
		t.Helper()
		var w bytes.Buffer
		b, _, err := d.Diff().Patch(t.Context(), first, to, 1<<20, git.PatchOptions{})
		if err := errors.Join(err, d.Diff().PatchTo(t.Context(), first, to, git.PatchOptions{}, &w)); err != nil {
			t.Fatal(err)
		}
		return string(b), w.String()
	}
	for _, tt := range []struct {
		name string
		dir  git.Dir
		to   agency.OID
		want [2]int // processes of a first round and of a second
	}{
		{"ours", ours, second, [2]int{4, 0}},
		{"ours, long", ours, third, [2]int{4, 2}}, // what is long is not kept
		{"theirs", h.At(loc), second, [2]int{4, 4}},
	} {
		var said [2][]string
		for round, want := range tt.want {
			changes, err := tt.dir.Diff().Changes(t.Context(), first, tt.to)
			files, err2 := tt.dir.Objects().Tree(t.Context(), tt.to)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			a, b := patch(tt.dir, tt.to)
			said[round] = []string{fmt.Sprint(changes), fmt.Sprint(files), a, b}
			if n := asked(); n-was != want || a != b {
				t.Errorf("%s, round %d: %d processes, want %d; %d and %d bytes", tt.name, round, n-was, want, len(a), len(b))
			}
			was = asked()
		}
		if !slices.Equal(said[0], said[1]) || !strings.Contains(said[0][2], "-one") {
			t.Errorf("%s: %q, then %q", tt.name, said[0], said[1])
		}
	}
}

// What was just written is known without a question.
func TestWrittenObjectsAreKnown(t *testing.T) {
	t.Parallel()
	h := fakeGit(t, `case "$*" in *cat-file*|*rev-parse*) echo asked >&2; exit 3;; esac`)
	r := gittest.New(t, "a.txt", "one\n")
	d := private(t, h, find(t, r.Dir), git.Settings{})
	base := agency.OID(strings.TrimSpace(r.Git("rev-parse", "HEAD^{tree}")))
	tree, err := d.Index().TreeWith(t.Context(), base, filepath.Join(t.TempDir(), "index"), []git.Entry{{Path: "a.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := d.Commits().Write(t.Context(), tree, nil, "empty", git.Identity{Name: "n", Email: "e"})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[agency.OID]string{tree: "tree", commit: "commit"} {
		kind, err := d.Objects().Type(t.Context(), id)
		of, err2 := d.Refs().ResolveTree(t.Context(), id)
		if err := errors.Join(err, err2); err != nil || kind != want || of != tree {
			t.Errorf("%s is a %q of the tree %s, %v", want, kind, of, err)
		}
	}
}
