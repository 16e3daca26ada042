package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/workspace"

	"github.com/google/go-cmp/cmp"
)

func TestAFilteredFileIsNamedAtOnce(t *testing.T) {
	b := setup(t, gittest.New(t, ".gitattributes", "*.go filter=x\n", "a.go", "package a\n", "a.txt", "a\n"))
	w := b.work()
	if err := w.MayWrite(t.Context(), "a.txt"); err != nil {
		t.Error(err)
	}
	for _, p := range []string{"a.go", "sub/new.go"} {
		if err := w.MayWrite(t.Context(), p); agency.KindOf(err) != agency.KindDenied || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%s: %v", p, err)
		}
	}
	gittest.WriteFiles(t, w.Path(), "a.go", "package b\n", "a.txt", "b\n")
	_, err := w.Snapshot(t.Context())
	f := (*workspace.Violation)(nil)
	if !errors.As(err, &f) || f.Kind != workspace.Filtered {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff([]string{"a.go (filter x)"}, f.Paths); diff != "" {
		t.Error(diff)
	}
	// Attributes that the agent writes change nothing.
	gittest.WriteFiles(t, w.Path(), ".gitattributes", "")
	if _, err := w.Snapshot(t.Context()); !errors.As(err, &f) {
		t.Errorf("the agent's own attributes were obeyed: %v", err)
	}
	gittest.WriteFiles(t, w.Path(), "a.go", "package a\n")
	snap(t, w)
}

func TestARepositoryOfFilteredFilesIsRefused(t *testing.T) {
	b := setup(t, gittest.New(t, ".gitattributes", "* filter=x\n.git* -filter\n", "a.go", "package a\n"))
	_, err := b.open().Kept(t.Context())
	if agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), "(x)") {
		t.Error(err)
	}
	b = setup(t, gittest.New(t, ".gitattributes", "*.bin filter=lfs\n", "a.bin", "x", "b.txt", "b\n"))
	got, err := b.open().Kept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(workspace.Kept{Filters: []string{"lfs"}, Files: 1, Others: 1}, got); diff != "" {
		t.Error(diff)
	}
}

// The user's own attributes count, and give way to those of the repository.
func TestAttributesOfTheUserAreTheWeakest(t *testing.T) {
	r := gittest.New(t, ".gitattributes", "b.txt -filter\n", "a.txt", "a\n", "b.txt", "b\n")
	own := filepath.Join(t.TempDir(), "attributes")
	if err := os.WriteFile(own, []byte("*.txt filter=mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Git("config", "core.attributesFile", own)
	b := setup(t, r)
	got, err := b.open().Filtered(t.Context(), []string{"a.txt", "b.txt"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a.txt": "mine"}, got); diff != "" {
		t.Error(diff)
	}
}
