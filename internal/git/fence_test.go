package git_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"agency/internal/beneath"
	"agency/internal/git"
)

// Whatever git is led to by a folder that becomes a link while it works: a git
// that follows one stands in for the one that lost the race.
func TestForeignWorkTreeIsFenced(t *testing.T) {
	if !beneath.Fenced() {
		t.Skip("this kernel has no Landlock")
	}
	home, tree := t.TempDir(), t.TempDir()
	canary := filepath.Join(home, "canary")
	script := fmt.Sprintf(`#!/bin/sh
case "$*" in *version*) echo git version 2.40.0; exit;; *--exec-path*) echo /usr/lib/git-core; exit;; esac
cd %q
cat link/canary >&2 && echo read
(echo x >link/new) && echo made
(echo x >link/canary) && echo written
rm -f link/canary && echo deleted
echo x >"$GIT_INDEX_FILE" && cat own
echo x >made-here && echo made here
exit 0
`, tree)
	bin := filepath.Join(t.TempDir(), "git")
	if err := errors.Join(os.WriteFile(bin, []byte(script), 0o700), os.WriteFile(canary, []byte("alive"), 0o600),
		os.Symlink(home, filepath.Join(tree, "link")), os.WriteFile(filepath.Join(tree, "own"), []byte("own\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h, err := git.NewProgram(t.Context(), git.Options{Binary: bin})
	if err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(t.TempDir(), "index")
	d, err := h.Create(git.Private{Path: filepath.Join(t.TempDir(), "git")})
	if err != nil {
		t.Fatal(err)
	}
	d = d.WithWorkTree(tree, index).Foreign(nil)
	added, err := d.Files().Differing(t.Context())
	if want := "own\n"; err != nil || len(added) != 1 || added[0] != want {
		t.Errorf("a command that reads: %q, %v", added, err)
	}
	if _, err := os.Stat(filepath.Join(tree, "made-here")); err == nil {
		t.Error("a command that reads wrote the work tree")
	}
	if err := d.Files().Checkout(t.Context(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(tree, "made-here")); err != nil {
		t.Errorf("a checkout cannot write the work tree: %v", err)
	}
	if b, err := os.ReadFile(canary); string(b) != "alive" {
		t.Errorf("the file outside: %q, %v", b, err)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 1 {
		t.Errorf("outside are %d files: %v", len(entries), err)
	}
}
