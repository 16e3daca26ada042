package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/workspace"
)

// A submodule's folder that an agent has made a link leads nothing of the host
// out of the checkout.
func TestASubmoduleIsWrittenInTheCheckoutOnly(t *testing.T) {
	inner := gittest.New(t, "lib.txt", "lib\n")
	r := gittest.New(t, "a.txt", "a\n")
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "deep/lib")
	r.Commit("submodule")
	w := setup(t, r).work()
	lib := filepath.Join(w.Path(), "deep", "lib", "lib.txt")
	if b, err := os.ReadFile(lib); err != nil || string(b) != "lib\n" {
		t.Fatalf("%q, %v", b, err)
	}
	if err := w.MayWrite(t.Context(), "deep/lib/new"); agency.KindOf(err) != agency.KindDenied {
		t.Error(err)
	}
	for _, link := range []string{"deep/lib", "deep"} {
		outside := t.TempDir()
		if err := os.MkdirAll(filepath.Join(outside, "lib"), 0o755); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(w.Path(), link)
		if err := errors.Join(os.RemoveAll(at), os.Symlink(outside, at)); err != nil {
			t.Fatal(err)
		}
		f := (*workspace.Violation)(nil)
		if _, err := w.Snapshot(t.Context()); !errors.As(err, &f) || f.Kind != workspace.Submodule {
			t.Errorf("%s: %v", link, err)
		}
		if left, _ := filepath.Glob(filepath.Join(outside, "lib*", "*.txt")); len(left) > 0 {
			t.Errorf("%s: written outside: %v", link, left)
		}
		if b, err := os.ReadFile(lib); err != nil || string(b) != "lib\n" {
			t.Errorf("%s: not put back: %q, %v", link, b, err)
		}
		snap(t, w)
	}
}

// A submodule of a submodule is there as the commit has it, and what an agent
// changes in it is put back and named like a change of the outer one.
func TestSubmodulesInsideOfSubmodules(t *testing.T) {
	inner := gittest.New(t, "inner.txt", "inner\n")
	middle := gittest.New(t, "middle.txt", "middle\n")
	middle.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "in")
	middle.Commit("submodule")
	r := gittest.New(t, "a.txt", "a\n")
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", middle.Dir, "lib")
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	r.Commit("submodule")
	w := setup(t, r).work()
	snap(t, w)
	for p, text := range map[string]string{"lib/in/inner.txt": "inner\n", "lib/middle.txt": "middle\n"} {
		at := filepath.Join(w.Path(), p)
		if b, err := os.ReadFile(at); err != nil || string(b) != text {
			t.Fatalf("%s: %q, %v", p, b, err)
		}
		if err := os.WriteFile(at, []byte("changed\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f := (*workspace.Violation)(nil)
		if _, err := w.Snapshot(t.Context()); !errors.As(err, &f) || f.Kind != workspace.Submodule || len(f.Paths) != 1 || f.Paths[0] != p {
			t.Errorf("%s: %v", p, err)
		}
		if b, err := os.ReadFile(at); err != nil || string(b) != text {
			t.Errorf("%s is not put back: %q, %v", p, b, err)
		}
		snap(t, w)
	}
}
