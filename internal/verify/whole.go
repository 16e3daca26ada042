package verify

import (
	"context"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// Added are the lines that a change adds, by file.
func Added(ctx context.Context, d git.Dir, from, to agency.OID) (map[string][]check.Lines, error) {
	c, err := linesBetween(ctx, d, from, to)
	return c.added, err
}

// ofRun are the files whose lines a suite finds out in passing: all that the run
// has changed, so that what lands last tells how much of the whole change its
// tests reach. A target that moved is not the run's to measure.
func (j *job) ofRun(ctx context.Context, own []git.Change) ([]string, error) {
	all := own
	switch {
	case j.task.stage == check.StageTarget:
		return nil, nil
	case j.task.base != j.run.BaseTree():
		var err error
		if all, err = j.run.Changes(ctx, j.run.BaseTree(), j.task.claim); err != nil {
			return nil, err
		}
	}
	return j.measurable(ctx, all)
}
