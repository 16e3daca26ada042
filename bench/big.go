package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/workspace"
)

// bigFiles is how many files the largest repository has that is aimed at.
const bigFiles = 100_000

// bigRow is about a very large repository: what begins a run in it beyond
// git's own checkout, against five seconds, and a snapshot against git's own.
func bigRow() row {
	return row{figures: []string{"big/begin", "big/snapshot"}, long: true, measure: measureBig}
}

func measureBig(ctx context.Context, b *bench) ([]figure, error) {
	begin, err := b.bigBegin(ctx)
	if err != nil {
		return nil, err
	}
	snap, err := b.snapshot(ctx, "big/snapshot", bigFiles, 3)
	return []figure{begin, snap}, err
}

// bigBegin measures all that a run does with the user's repository before its
// first turn: look at the local edits, read the base, make the first checkout
// and take its first snapshot.
func (b *bench) bigBegin(ctx context.Context) (f figure, err error) {
	dir, err := b.folder()
	if err != nil {
		return f, err
	}
	r, err := newRig(ctx, dir, nil, func(dir string) error { return fillTree(dir, bigFiles) })
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	n := 0
	s, err := b.rounds(
		ctx,
		contender{"ours", func(ctx context.Context) (float64, error) {
			n++
			begun := time.Now()
			info, err := r.bigRun(ctx, agency.RunID(fmt.Sprintf("big-%d", n)))
			return float64(time.Since(begun)), errors.Join(err, r.spaces.Forget(ctx, info.Run))
		}},
		contender{"git", func(ctx context.Context) (float64, error) {
			at := filepath.Join(dir, "tree")
			begun := time.Now()
			_, err := userGit(ctx, r.repo, "worktree", "add", "-q", "--detach", at)
			took := time.Since(begun)
			if err == nil {
				_, err = userGit(ctx, r.repo, "worktree", "remove", "--force", at)
			}
			return float64(took), errors.Join(err, os.RemoveAll(at))
		}},
	)
	if err != nil {
		return f, err
	}
	beyond := make([]float64, len(s["ours"]))
	for i := range beyond {
		beyond[i] = (s["ours"][i] - s["git"][i]) / float64(5*time.Second)
	}
	return figure{"big/begin", median(beyond), atMost(1), []string{s.raw("ours", 1e6, "ms"), s.raw("git", 1e6, "ms")}}, nil
}

func (r *rig) bigRun(ctx context.Context, id agency.RunID) (workspace.RunInfo, error) {
	loc, err := git.Find(r.repo)
	if err != nil {
		return workspace.RunInfo{}, err
	}
	info := workspace.RunInfo{Run: id, Repo: loc, Base: r.base, StateDir: r.state}
	if _, err := r.spaces.Local(ctx, info, r.base); err != nil {
		return info, err
	}
	run, err := r.spaces.OpenRun(ctx, info)
	if err != nil {
		return info, err
	}
	w, err := run.Prepare(ctx, "main", r.base, workspace.Work)
	if err != nil {
		return info, err
	}
	_, err = w.Snapshot(ctx)
	return info, err
}
