package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agency/internal/workspace"
)

// snapshotRow compares a snapshot of a checkout in which one file has changed
// with what git's user would type: add -A, then write-tree, over an index that
// is kept.
func snapshotRow() row {
	return row{figures: []string{"snapshot/500", "snapshot/20000"}, measure: measureSnapshot}
}

func measureSnapshot(ctx context.Context, b *bench) ([]figure, error) {
	var out []figure
	for _, size := range []struct{ files, each int }{{500, 10}, {20_000, 3}} {
		name := fmt.Sprintf("snapshot/%d", size.files)
		if !b.wanted.MatchString(name) {
			continue
		}
		f, err := b.snapshot(ctx, name, size.files, size.each)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (b *bench) snapshot(ctx context.Context, name string, files, each int) (f figure, err error) {
	dir, err := b.folder()
	if err != nil {
		return f, err
	}
	fill := func(dir string) error { return fillTree(dir, files) }
	r, err := newRig(ctx, dir, nil, fill)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	w, err := r.work.Prepare(ctx, "main", r.base, workspace.Work)
	if err != nil {
		return f, err
	}
	plain := filepath.Join(dir, "plain")
	if err := errors.Join(os.Mkdir(plain, 0o755), fill(plain), commitAll(ctx, plain)); err != nil {
		return f, err
	}
	n := 0
	times := func(root string, take func() error) func(context.Context) (float64, error) {
		return func(context.Context) (float64, error) {
			var sum time.Duration
			for range each {
				n++
				if err := os.WriteFile(treeFile(root, n*37%files), fmt.Appendf(nil, "change %d\n", n), 0o644); err != nil {
					return 0, err
				}
				begun := time.Now()
				if err := take(); err != nil {
					return 0, err
				}
				sum += time.Since(begun)
			}
			return float64(sum) / float64(each), nil
		}
	}
	s, err := b.rounds(
		ctx,
		contender{"ours", times(w.Path(), func() error { _, err := w.Snapshot(ctx); return err })},
		contender{"git", times(plain, func() error {
			if _, err := userGit(ctx, plain, "add", "-A"); err != nil {
				return err
			}
			_, err := userGit(ctx, plain, "write-tree")
			return err
		})},
	)
	if err != nil {
		return f, err
	}
	unit := "ms"
	return figure{name, s.ratio("ours", "git"), atMost(1.2), []string{s.raw("ours", 1e6, unit), s.raw("git", 1e6, unit)}}, nil
}

// treeFile is the n-th file of a tree with fifty files a folder.
func treeFile(root string, n int) string {
	return filepath.Join(root, fmt.Sprintf("d%03d", n/50), fmt.Sprintf("f%05d.txt", n))
}

func fillTree(root string, files int) error {
	for n := range files {
		p := treeFile(root, n)
		if n%50 == 0 {
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(p, fmt.Appendf(nil, "file %d\nwith two lines\n", n), 0o644); err != nil {
			return err
		}
	}
	return nil
}
