package verify

import (
	"context"

	"agency/internal/agency"
	"agency/internal/check"
)

// sides holds the tests of base and claim against each other. A test that only
// moved is judged under the name that it has now. One that was
// red on the base and passes now counts as newly passing only where it was red
// there in each of two runs.
func (j *job) sides(ctx context.Context, f *facts, cmd check.Command, base *bench) (err error) {
	was, now := f.baseSuite, f.claimSuite
	f.baseMixed = nil
	hold := func() error {
		f.folding = stable(was.tests, now.tests, checksOf(f.task))
		f.baseSuite, f.claimSuite = f.folding.fold(was), f.folding.fold(now)
		f.tests, err = compare(ctx, f.baseSuite, f.claimSuite)
		return err
	}
	if err := hold(); err != nil || !f.isClaim() {
		return err
	}
	moved, err := j.movedTests(ctx, f)
	if err != nil {
		return err
	}
	f.moved = moved
	if was = was.renamed(moved); len(moved) > 0 {
		if err := hold(); err != nil {
			return err
		}
	}
	if !f.mendedByChance() {
		return nil
	}
	line := f.scope.ofBase(cmd)
	runs, err := base.again(ctx, line)
	if err != nil {
		return err
	}
	all := []suite{was}
	for _, r := range runs {
		if !r.At.Equal(was.receipt.At) {
			all = append(all, f.scope.cut(readSuite(r), now).renamed(moved))
		}
	}
	if was, f.baseMixed = merge(all); len(f.baseMixed) > 0 {
		if err := j.checker.Distrust(ctx, base.subject(), line); err != nil {
			return err
		}
	}
	return hold()
}

// mendedByChance tells whether something was red on the base that passes on the
// claim, and could have been red by chance.
func (f facts) mendedByChance() bool {
	for name, s := range f.claimSuite.tests {
		if s != agency.TestPassed {
			continue
		}
		if f.baseSuite.tests[name] == agency.TestFailed || f.baseSuite.down(name) {
			return true
		}
	}
	return false
}

// merge makes one suite of several runs on one tree. A test is red where it was
// in each of them. One that was seen both ways, mixed, counts as passed: that it
// did not pass on this tree cannot be said.
func merge(runs []suite) (suite, map[string]bool) {
	out := runs[0]
	if len(runs) < 2 {
		return out, nil
	}
	did := map[string]seen{}
	broken := map[string]string{}
	for name, what := range out.broken {
		broken[name] = what
	}
	for _, r := range runs {
		for name, status := range r.tests {
			s := did[name]
			s.add(status)
			did[name] = s
		}
		for name := range out.broken {
			if _, still := r.broken[name]; !still {
				delete(broken, name)
			}
		}
	}
	tests, mixed := make(map[string]agency.TestStatus, len(did)), map[string]bool{}
	for name, s := range did {
		for _, r := range runs { // what could not run with its package was red
			_, ran := r.tests[name]
			s.red = s.red || !ran && r.down(name)
		}
		switch {
		case s.red && s.green:
			tests[name], mixed[name] = agency.TestPassed, true
		case s.red:
			tests[name] = agency.TestFailed
		case s.green:
			tests[name] = agency.TestPassed
		default:
			tests[name] = agency.TestSkipped
		}
	}
	out.tests, out.broken = tests, broken
	return out, mixed
}
