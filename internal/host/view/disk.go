package view

import (
	"context"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/store"
)

// How disk use is measured: a listing must be quick, and large checkouts are
// not.
const (
	measureFor = 300 * time.Millisecond // in one listing; what is not measured by then is left out
	freshFor   = 2 * time.Second        // a measure of a run that works
	finalFor   = 30 * time.Second       // of one that has ended, whose files only go
)

// usage remembers the disk use of runs.
type usage struct {
	mu    sync.Mutex
	known map[agency.RunID]measure
}

type measure struct {
	bytes int64
	at    time.Time
	final bool
}

// DiskUse is what the files of each run take: private git directory and
// workspaces. What lies in the database is shared, and not counted.
func (r *Reader) DiskUse(ctx context.Context) (map[agency.RunID]int64, error) {
	var runs []agency.Run
	err := r.read(ctx, func(q *store.Snapshot) (err error) {
		runs, err = registry.Runs(q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.disk.measure(ctx, r.o.StateDir, runs), nil
}

func (u *usage) measure(ctx context.Context, state string, runs []agency.Run) map[agency.RunID]int64 {
	ctx, cancel := context.WithTimeout(ctx, measureFor)
	defer cancel()
	out := map[agency.RunID]int64{}
	for _, run := range runs {
		if n, ok := u.of(ctx, state, run); ok {
			out[run.ID] = n
		}
	}
	return out
}

func (u *usage) of(ctx context.Context, state string, run agency.Run) (int64, bool) {
	u.mu.Lock()
	m, ok := u.known[run.ID]
	u.mu.Unlock()
	final := run.State.Final()
	fresh := freshFor
	if m.final && final {
		fresh = finalFor
	}
	if ok && time.Since(m.at) < fresh {
		return m.bytes, true
	}
	n, err := diskUse(ctx, filepath.Join(state, "runs", string(run.ID)))
	if err != nil {
		return m.bytes, ok // an older measure says more than none
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known == nil {
		u.known = map[agency.RunID]measure{}
	}
	u.known[run.ID] = measure{bytes: n, at: time.Now(), final: final}
	return n, true
}

// diskUse adds up a folder. What vanishes meanwhile, or may not be read, does
// not count.
func diskUse(ctx context.Context, dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil //nolint:nilerr // vanished, or not ours to read
		}
		if info, err := e.Info(); err == nil {
			n += onDisk(info)
		}
		return nil
	})
	return n, err
}
