package verify

import (
	"context"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/check"
)

// maxReruns is how many newly red tests are run again: with more of them the
// change, not chance, is at work.
const maxReruns = 40

// claimReruns is how often a newly red test runs alone on the claim (DESIGN 8).
const claimReruns = 2

// retrial is what newly red tests did when they were run again.
type retrial struct {
	flaky []string // mixed results
	notes []string // why tests were not judged alone
}

// retry runs newly red tests alone, twice on the claim and once on the base.
// Red each time here and green there is a regression; anything mixed is flaky.
// A test that cannot be judged alone keeps the result of the suite: chance must
// be shown, it is not presumed.
func (j *job) retry(ctx context.Context, cmd check.Command, f *facts, claim, base *bench) (retrial, error) {
	red := f.claimSuite.standing(append(slices.Clone(f.tests.regressed), f.tests.newRed...))
	t := trial{j: j, cmd: cmd, claim: claim, base: base, red: red, mixed: map[string]bool{}}
	switch {
	case len(red) == 0:
		return retrial{}, nil
	case len(red) > maxReruns:
		t.note("%d tests are newly red: too many to run each of them alone, so none is taken as flaky", len(red))
		return t.result(), nil
	}
	line, ok, err := claim.rerunLine(ctx, cmd.Line, red)
	switch {
	case err != nil:
		return retrial{}, err
	case !ok:
		t.note("`%s` cannot run a single test: what is newly red is taken as it is", cmd.Line)
		return t.result(), nil
	}
	if err := t.claimAlone(ctx, line); err != nil {
		return retrial{}, err
	}
	if err := t.baseAlone(ctx, f.baseSuite); err != nil {
		return retrial{}, err
	}
	return t.result(), nil
}

// trial is a retry under way.
type trial struct {
	j           *job
	cmd         check.Command
	claim, base *bench
	red         []string
	mixed       map[string]bool
	notes       []string
}

func (t *trial) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *trial) result() retrial {
	return retrial{flaky: slices.DeleteFunc(slices.Clone(t.red), func(n string) bool { return !t.mixed[n] }), notes: t.notes}
}

// alone is the same command for a few tests.
func (t *trial) alone(line string) check.Command {
	return check.Command{Kind: t.cmd.Kind, Line: line, Timeout: t.cmd.Timeout}
}

func (t *trial) claimAlone(ctx context.Context, line string) error {
	t.claim.renew()
	ran := map[string]bool{}
	for range claimReruns {
		r, err := t.claim.fresh(ctx, t.alone(line))
		if err != nil {
			return err
		}
		s := readSuite(r)
		for _, n := range t.red {
			status, ok := s.tests[n]
			ran[n] = ran[n] || ok
			if status == agency.TestPassed {
				t.mixed[n] = true
			}
		}
	}
	for _, n := range t.red {
		if !ran[n] {
			t.note("%s gives no result when it is run alone: it is taken as it is", n)
		}
	}
	return nil
}

// baseAlone looks at the other side of what stayed red. A test that fails alone
// on the base too and passed there in its suite needs the others: then a second
// run of the whole suite on both sides decides.
func (t *trial) baseAlone(ctx context.Context, before suite) error {
	known := slices.DeleteFunc(slices.Clone(t.red), func(n string) bool {
		return t.mixed[n] || before.tests[n] != agency.TestPassed
	})
	if len(known) == 0 {
		return nil
	}
	t.base.renew()
	line, ok, err := t.base.rerunLine(ctx, t.cmd.Line, known)
	if err != nil || !ok {
		return err
	}
	r, err := t.base.fresh(ctx, t.alone(line))
	if err != nil {
		return err
	}
	s := readSuite(r)
	lonely := slices.DeleteFunc(known, func(n string) bool { return s.tests[n] != agency.TestFailed })
	if len(lonely) == 0 {
		return nil
	}
	now, was, err := t.suites(ctx)
	if err != nil {
		return err
	}
	for _, n := range lonely {
		if now.tests[n] == agency.TestFailed && was.tests[n] == agency.TestPassed {
			t.note("%s fails alone on the base too, so it was judged by a second run of the whole suite on both sides", n)
			continue
		}
		t.mixed[n] = true
	}
	return nil
}

// suites runs the whole command once more on both sides.
func (t *trial) suites(ctx context.Context) (now, was suite, err error) {
	t.claim.renew()
	r, err := t.claim.fresh(ctx, t.cmd)
	if err != nil {
		return now, was, err
	}
	t.base.renew()
	b, err := t.base.fresh(ctx, t.cmd)
	return readSuite(r), readSuite(b), err
}
