package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/land"
	"agency/internal/store"
	"agency/internal/workspace"
)

const (
	landingsEach = 16
	// suite is how long the checks take here. They count as minutes, so that the
	// queue lands together what waits.
	suite     = 250 * time.Millisecond
	suiteTook = 2 * time.Minute
)

// queueRow lands contracts that are done at the same time, where the checks
// take long: together, and one by one as where they are quick.
func queueRow() row {
	return row{figures: []string{"queue/batch-vs-single"}, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		s, err := b.rounds(
			ctx,
			contender{"batch", func(ctx context.Context) (float64, error) { return b.landAll(ctx, suiteTook) }},
			contender{"single", func(ctx context.Context) (float64, error) { return b.landAll(ctx, 0) }},
		)
		if err != nil {
			return nil, err
		}
		raw := []string{s.raw("batch", 1e9, "s"), s.raw("single", 1e9, "s"), fmt.Sprintf("%d landings, checks of %s", landingsEach, suite)}
		return []figure{{"queue/batch-vs-single", s.ratio("batch", "single"), atMost(0.5), raw}}, nil
	}}
}

// slow verifies by waiting.
type slow struct{}

func (slow) VerifyLanding(ctx context.Context, _ land.Candidate) ([]string, error) {
	return nil, pause(ctx, suite)
}

// landAll is the wall of all landings.
func (b *bench) landAll(ctx context.Context, took time.Duration) (wall float64, err error) {
	dir, err := b.folder()
	if err != nil {
		return 0, err
	}
	r, err := newRig(ctx, dir, nil, func(dir string) error { return os.WriteFile(filepath.Join(dir, "README"), []byte("start\n"), 0o600) })
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	q := land.NewQueue(land.Options{
		DB: r.db, Runs: r.spaces, Verifier: slow{}, Fence: r.fence,
		Took: func(context.Context, agency.RunID) (time.Duration, error) { return took, nil },
	})
	if _, err := q.Branch(ctx, "branch", land.BranchSpec{Run: benchRun, Base: r.base}); err != nil {
		return 0, err
	}
	specs := make([]land.Spec, landingsEach)
	for i := range specs {
		if specs[i], err = r.claim(ctx, agency.ContractID(fmt.Sprint("c", i))); err != nil {
			return 0, err
		}
	}
	errs := make([]error, len(specs))
	var all sync.WaitGroup
	begun := time.Now()
	for i, spec := range specs {
		all.Go(func() {
			out, err := q.Land(ctx, agency.StepKey(spec.Contract), spec)
			if errs[i] = err; err == nil && out.Landed == nil {
				errs[i] = fmt.Errorf("%s did not land: %s", spec.Contract, out.Reason)
			}
		})
	}
	all.Wait()
	return float64(time.Since(begun)), errors.Join(errs...)
}

// claim is work of a contract that is ready to land: a file of its own.
func (r *rig) claim(ctx context.Context, id agency.ContractID) (land.Spec, error) {
	if err := r.write(ctx, func(tx *store.Tx) error { return r.contract(tx, id) }); err != nil {
		return land.Spec{}, err
	}
	w, err := r.work.Prepare(ctx, string(id), r.base, workspace.Work)
	if err != nil {
		return land.Spec{}, err
	}
	if err := os.WriteFile(filepath.Join(w.Path(), string(id)), []byte("done\n"), 0o600); err != nil {
		return land.Spec{}, err
	}
	tree, err := w.Snapshot(ctx)
	return land.Spec{Run: benchRun, Contract: id, Tree: tree}, err
}
