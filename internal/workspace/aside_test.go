package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/git/gittest"
)

// TestAside keeps what stands for installed folders out of every snapshot, also
// where no rule of the base ignores it, and tells which of them are part of the
// tree.
func TestAside(t *testing.T) {
	repo := gittest.New(t)
	repo.Write("deps/calc.py", "1\n")
	repo.Write("web/[a]/x", "1\n")
	repo.Commit("base")
	b := setup(t, repo)
	w := b.work()
	part, err := b.open().Aside(t.Context(), []string{"deps", ".venv", "web/[a]/node_modules", "depsy"})
	if err != nil || !slices.Equal(part, []string{"deps"}) {
		t.Fatalf("part of the tree: %v, %v", part, err)
	}
	place, err := w.Place()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".venv/bin/make", "web/[a]/node_modules/x", "web/a/node_modules/x", "deps/new.py", "depsy"} {
		p := filepath.Join(place.Root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("x\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Join(files(t, w, snap(t, w)), "; ")
	if want := "deps/calc.py 1; deps/new.py x; depsy x; web/[a]/x 1; web/a/node_modules/x x"; got != want {
		t.Errorf("the snapshot holds %s\nwant %s", got, want)
	}
}
