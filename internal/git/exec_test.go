package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	h, err := git.NewHost(t.Context(), git.Options{Binary: fake})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := h.At(find(t, r.Dir)).Head(ctx); done <- err }()
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
	h, err := git.NewHost(t.Context(), git.Options{OutputCap: 1024})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.At(find(t, r.Dir)).Tree(t.Context(), r.Rev("HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := h.At(find(t, r.Dir)).Blob(t.Context(), r.Rev("HEAD"), "a", 1000)
	if !git.IsTooLong(err) || agency.KindOf(err) != agency.KindExhausted || len(b) != 1000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if b, err = h.At(find(t, r.Dir)).Blob(t.Context(), r.Rev("HEAD"), "a", 4096); err != nil || len(b) != 4096 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
