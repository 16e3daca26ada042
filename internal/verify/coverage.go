package verify

import (
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/store"
)

// coverage is how much of the change the tests reach, where a test run of this
// contract on this very tree has measured it: the verification's own, in passing,
// or the agent's. Nothing is run to find out.
func (j *job) coverage(ctx context.Context) (*agency.Coverage, error) {
	if !j.task.isClaim() {
		return nil, nil
	}
	files, id, err := j.checker.LastCoverage(ctx, j.task.Run, j.task.Contract)
	if agency.KindOf(err) == agency.KindNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var of agency.Receipt
	err = j.v.o.DB.Read(ctx, func(s *store.Snapshot) error {
		of, err = check.Receipt(s, id)
		return err
	})
	if err != nil || of.Tree != j.task.claim {
		return nil, err
	}
	patch, err := j.run.Dir().Patch(ctx, j.task.base, j.task.claim, git.PatchOptions{Context: 1})
	if err != nil {
		return nil, err
	}
	c := check.OfChange(files, linesOf(string(patch)).added)
	return &c, nil
}

// unmeasured are the changed files of which a run that measured says nothing,
// for they run otherwise than they are written. Of languages other than
// JavaScript that are files with nothing to run.
func (j *job) unmeasured(ctx context.Context, files []string, known *agency.Coverage) (out []string, err error) {
	if known == nil {
		return files, nil
	}
	measured, _, err := j.checker.LastCoverage(ctx, j.task.Run, j.task.Contract)
	for _, f := range files {
		if languageOf(f) == javascript && !strings.HasSuffix(f, ".d.ts") && !slices.ContainsFunc(measured, func(m check.FileCoverage) bool { return m.Path == f }) {
			out = append(out, f)
		}
	}
	return out, err
}

// measured are the changed files whose lines the tests of a claim find out in
// passing.
func (j *job) measured(changes []git.Change) []string {
	if !j.task.isClaim() {
		return nil
	}
	var out []string
	for _, c := range changes {
		if c.Status != 'D' && c.New.Mode != 0o120000 && languageOf(c.Path) != "" && !isTestFile(c.Path) && len(out) < maxMeasured {
			out = append(out, c.Path)
		}
	}
	return out
}

// maxMeasured bounds the files that are measured in passing.
const maxMeasured = 200

// judgeCoverage holds the coverage of the changed lines against what the
// contract asks for; where it asks for nothing it decides nothing.
func (f facts) judgeCoverage(v *agency.Verdict, r *report) {
	v.Coverage = f.coverage
	want, asked := f.Thresholds[CoverageThreshold]
	switch {
	case !asked || !f.isClaim():
	case f.coverage == nil:
		r.note("the contract asks for %g %% coverage of the changed lines, and its tests do not measure it", want)
		return
	case f.coverage.Lines > 0 && float64(f.coverage.Covered)*100 < want*float64(f.coverage.Lines):
		r.fail("coverage: tests reach %d of %d changed lines, the contract asks for %g %%; not run: %s", f.coverage.Covered, f.coverage.Lines,
			want, strings.Join(f.coverage.Missed[:min(len(f.coverage.Missed), maxLines)], ", "))
	}
	if f.coverage != nil && len(f.unmeasured) > 0 {
		r.note("coverage: the tests do not measure %s", strings.Join(f.unmeasured[:min(len(f.unmeasured), maxLines)], ", "))
	}
}

// CoverageThreshold is the key of a contract's quality thresholds for the
// percentage of the changed lines that tests have to reach.
const CoverageThreshold = "coverage"
