package verify

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// without runs the tests that a criterion names and that pass on both sides
// under one name once more: in their new form, on the base's code. Most changes
// add to a test that is there, and only this tells whether the test needs them.
func (j *job) without(ctx context.Context, f *facts) (made []agency.ReceiptID, err error) {
	names := f.unchangedByName()
	if len(names) == 0 {
		return nil, nil
	}
	tests := slices.DeleteFunc(slices.Clone(f.changes), func(c git.Change) bool { return !isTestMatter(c.Path) })
	if len(tests) == 0 || len(tests) == len(f.changes) {
		return nil, nil
	}
	tree, err := j.graft(ctx, tests)
	if err != nil {
		return nil, err
	}
	b := newBench(j, check.StageWithout, tree)
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	cmd := f.scope.again(j.task.Commands.Command(agency.CheckTest))
	if len(names) <= maxReruns {
		line, ok, err := b.rerunLine(ctx, cmd.Line, names)
		if err != nil {
			return nil, err
		}
		if ok {
			cmd.Line = line
		}
	}
	r, err := b.run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if s := readSuite(r); r.Parsed && s.whole() {
		s.fillBroken(f.claimSuite)
		f.withoutTests = s.tests
	}
	return b.made, nil
}

// unchangedByName are the tests that criteria and evidence name, passed on the
// claim, and did on the base.
func (f facts) unchangedByName() []string {
	if !f.baseSuite.ran || !f.claimSuite.ran {
		return nil
	}
	var out []string
	for _, c := range checksOf(f.task) {
		if c.Test == "" {
			continue
		}
		now, ok := agency.LookUp(f.claimSuite.tests, c.Test)
		was, before := agency.LookUp(f.baseSuite.tests, c.Test)
		if ok && before && now.Status == agency.TestPassed && was.Status == agency.TestPassed {
			out = append(out, now.Tests...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// graft is the base's tree with these changes of the claim.
func (j *job) graft(ctx context.Context, changes []git.Change) (agency.OID, error) {
	dir, err := os.MkdirTemp("", "agency-index-")
	if err != nil {
		return "", git.Disk(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system sweeps what is left
	d := j.run.Dir().WithWorkTree("", filepath.Join(dir, "index"))
	if err := d.ReadTree(ctx, j.task.base); err != nil {
		return "", err
	}
	set := make([]git.Entry, len(changes))
	for i, c := range changes {
		set[i] = c.New // of mode 0 where the path is gone
		set[i].Path = c.Path
	}
	if err := d.SetEntries(ctx, set); err != nil {
		return "", err
	}
	return d.WriteTree(ctx)
}

// isTestMatter tells whether a path is of tests: their sources, or the data
// that lies among them.
func isTestMatter(p string) bool {
	return isTestFile(p) || slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(dir string) bool {
		switch dir {
		case "test", "tests", "testdata", "_test", "__tests__", "__snapshots__", "fixtures", "spec":
			return true
		}
		return false
	})
}
