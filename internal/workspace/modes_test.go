package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"agency/internal/git/gittest"
)

// TestModesOfOurFoldersAreMended: what an agent makes of the modes of the
// checkout and of its mount point, which are part of no tree, ends no work.
func TestModesOfOurFoldersAreMended(t *testing.T) {
	b := setup(t, gittest.New(t, "a.go", "a"))
	w := b.work()
	base := snap(t, w)
	for _, name := range []string{".git", "."} {
		for _, mode := range []os.FileMode{0, 0o100, 0o200, 0o400, 0o500, 0o600} {
			at := filepath.Join(w.Path(), name)
			if err := os.Chmod(at, mode); err != nil {
				t.Fatal(err)
			}
			if err := w.Check(t.Context()); err != nil {
				t.Errorf("%s of mode %o: %v", name, mode, err)
			}
			if info, err := os.Stat(at); err != nil || info.Mode()&0o700 != 0o700 {
				t.Errorf("%s of mode %o: %v, %v", name, mode, info, err)
			}
			if got := snap(t, w); got != base {
				t.Errorf("%s of mode %o: %q", name, mode, files(t, w, got))
			}
		}
	}
}
