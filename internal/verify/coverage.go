package verify

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

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
	lines, err := j.changedLines(ctx)
	if err != nil {
		return nil, err
	}
	c := check.OfChange(files, lines.added)
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

// measurable are the changed files whose lines the tests of a claim find out in
// passing.
func (j *job) measurable(ctx context.Context, changes []git.Change) ([]string, error) {
	cheap, err := j.linksInPassing(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range changes {
		if path.Ext(c.Path) == ".go" && !cheap {
			continue
		}
		if c.Status != 'D' && c.New.Mode != 0o120000 && languageOf(c.Path) != "" && !isTestFile(c.Path) && len(out) < maxMeasured {
			out = append(out, c.Path)
		}
	}
	return out, nil
}

// What may be spent on lines that nobody asked for: a part of what the suite
// takes by itself. Go links what is measured into the tests of every package.
const (
	inPassing = 0.15
	perLink   = 100 * time.Millisecond
	fewLinks  = 5 // cost nothing that anyone waits for
)

// linksInPassing tells whether measuring tests of Go costs little enough, or was
// asked for.
func (j *job) linksInPassing(ctx context.Context) (bool, error) {
	if _, asked := j.task.Thresholds[CoverageThreshold]; asked {
		return true, nil
	}
	entries, err := j.tree(ctx, j.task.claim)
	if err != nil {
		return false, err
	}
	packages := map[string]bool{}
	for _, e := range entries {
		if strings.HasSuffix(e.Path, "_test.go") {
			packages[path.Dir(e.Path)] = true
		}
	}
	took, err := j.checker.TookPlain(ctx, j.task.Commands.Command(agency.CheckTest))
	return worthLinking(len(packages), took), err
}

// worthLinking tells whether that many test programs may be linked with what is
// measured, beside a suite that takes so long; zero: nobody knows.
func worthLinking(programs int, suite time.Duration) bool {
	return programs <= fewLinks || time.Duration(programs)*perLink <= time.Duration(float64(suite)*inPassing)
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
		r.fail("coverage: tests reach %d of %s, the contract asks for %g %%; not run: %s", f.coverage.Covered, agency.Things(f.coverage.Lines, "changed line", "changed lines"),
			want, strings.Join(f.coverage.Missed[:min(len(f.coverage.Missed), maxLines)], ", "))
	}
	if f.coverage != nil && len(f.unmeasured) > 0 {
		r.note("coverage: the tests do not measure %s", strings.Join(f.unmeasured[:min(len(f.unmeasured), maxLines)], ", "))
	}
}

// CoverageThreshold is the key of a contract's quality thresholds for the
// percentage of the changed lines that tests have to reach.
const CoverageThreshold = "coverage"
