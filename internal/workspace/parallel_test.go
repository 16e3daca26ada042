package workspace_test

import (
	"sync"
	"testing"

	"agency/internal/git/gittest"
	"agency/internal/workspace"
)

// Sessions of one run open their workspaces while others take snapshots: the
// locks of a run and of its workspaces are taken in one order only.
func TestOpenBesideSnapshot(t *testing.T) {
	r := gittest.New(t, "a.txt", "1\n", ".gitignore", "*.tmp\n")
	b := setup(t, r)
	w := b.work()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := w.Snapshot(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := w.Run().Prepare(t.Context(), w.Name(), b.info.Base, workspace.Work); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := w.Run().Open(t.Context(), w.Name(), workspace.Work); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
