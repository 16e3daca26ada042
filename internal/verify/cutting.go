package verify

import (
	"context"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/code"
)

// withoutBodies decides what is left: a test that cannot run on the base's
// product proves something when it fails without what was changed, and one that
// failed there by a text alone does not.
func (w *weighing) withoutBodies(ctx context.Context) (err error) {
	if !w.f.sides.changesProduct() {
		return nil
	}
	c, err := w.j.changedCode(ctx, w.f)
	if err != nil {
		return err
	}
	w.loose = c.looseLines
	if len(c.fns) == 0 {
		if err := w.onOtherValues(ctx); err != nil {
			return err
		}
		w.withoutFunctions(c.loose > 0 || w.f.sides.changesCode())
		k := cutting{weighing: w, cuts: c}
		return k.unproved(ctx)
	}
	b := newBench(w.j, check.StageCut, c.tree)
	b.env = []string{c.env + "="}
	defer func() {
		err = errors.Join(err, b.close(ctx))
		w.f.madeWithout = append(w.f.madeWithout, b.made...)
	}()
	k := cutting{weighing: w, cuts: c, bench: b, cmd: w.f.scope.again(w.j.task.Commands.Command(agency.CheckTest))}
	k.cmd.Timeout = patience(k.cmd, w.f.claimSuite.receipt)
	if err := k.tests(ctx); err != nil || k.unfit {
		return err
	}
	return k.unproved(ctx)
}

// patience is how long tests may take with something taken out: what waits for
// it may wait for ever.
func patience(cmd check.Command, r agency.Receipt) time.Duration {
	enough := 3*seconds(r.Duration) + 20*time.Second
	if cmd.Timeout > 0 {
		return min(cmd.Timeout, enough)
	}
	return min(check.DefaultTimeout, enough)
}

// withoutFunctions decides where the change has no function that could be taken
// out.
func (w *weighing) withoutFunctions(changed bool) {
	w.settle(func(t string, v *agency.TestWorth) bool {
		switch {
		case w.f.sides.changesUnread():
			v.Why = "it tests code of a language that is not read here, in which nothing tells the work from a text"
		case !w.shown[t]:
			v.Why = "it cannot run without the change, which has no function that could be taken out"
		case !changed || w.f.readsSource(t):
			v.Why = looksAtText
		default:
			v.Ground = agency.GroundFails
		}
		return true
	})
}

// cutting runs tests on the claim with something of it taken out.
type cutting struct {
	*weighing
	cuts
	bench *bench
	cmd   check.Command
	// tried: the claim was run with all switches off; unfit: it does not stand so.
	tried, unfit bool
	// What unproved works with: the tests of each round, nil for all, and whether
	// all are among them.
	rounds [][]string
	whole  bool
	told   linesTold
}

// with runs tests with a cut: its kind and the id of a function, or "*".
func (k *cutting) with(ctx context.Context, value string, names []string) (suite, error) {
	k.bench.env = []string{k.env + "=" + value}
	return k.bench.pick(ctx, k.cmd, names)
}

// tests decides the tests that are still open.
func (k *cutting) tests(ctx context.Context) error {
	if len(k.open) == 0 {
		return nil
	}
	whole, err := k.control(ctx)
	if err != nil {
		return err
	}
	k.tried, k.unfit = true, len(whole.broken) > len(k.f.claimSuite.broken)
	needs, calls, err := k.without(ctx, slices.DeleteFunc(slices.Clone(k.open), func(t string) bool { return whole.tests[t] != agency.TestPassed }))
	if err != nil {
		return err
	}
	k.settle(func(t string, v *agency.TestWorth) bool {
		reads := k.f.readsSource(t)
		switch ran := whole.tests[t] == agency.TestPassed; {
		case k.shown[t] && (needs[t] || (calls[t] || k.cuts.loose > 0) && !reads || !ran && whole.down(t)):
			v.Ground = agency.GroundFails
		case needs[t]:
			v.Ground = agency.GroundCut
		case !ran && whole.down(t):
			v.Why = "it cannot run without the change, and the change cannot be taken out of what it tests"
		case !ran, reads:
			v.Why = looksAtText
		case calls[t]:
			v.Why = "it calls what was changed and checks nothing of what comes back"
		default:
			v.Why = "it passes when what was changed is taken out"
			return len(k.looseLines) == 0 // else other values may tell
		}
		return true
	})
	return k.onOtherValues(ctx)
}

// control runs the open tests with nothing taken out: those that checks name
// without the others, which may leave behind what they pass by.
func (k *cutting) control(ctx context.Context) (suite, error) {
	named := slices.DeleteFunc(slices.Clone(k.open), func(t string) bool { return !k.weighing.named[t] })
	others := slices.DeleteFunc(slices.Clone(k.open), func(t string) bool { return k.weighing.named[t] })
	s, err := k.with(ctx, "", named)
	if err != nil || len(others) == 0 {
		return s, err
	}
	rest, err := k.with(ctx, "", others)
	return s.with(rest), err
}

// without tells which tests need the bodies of the changed functions, and which
// do no more than call one that was there before. Where results have no written
// type two different ones must both be wrong: the one may be what a stub gives.
func (k *cutting) without(ctx context.Context, tests []string) (needs, calls map[string]bool, err error) {
	needs, calls = map[string]bool{}, map[string]bool{}
	passes := func(cut code.Cut, names []string) (out []string, err error) {
		s, err := k.with(ctx, string(cut)+":*", names)
		for _, t := range names {
			switch status, ran := s.tests[t]; {
			case status == agency.TestPassed:
				out = append(out, t)
			case ran && status != agency.TestFailed, !ran && s.receipt.OK():
				// skipped, or by another name this time: nothing failed
			case cut == code.CutPanic || k.f.failsByAssertion(s, t):
				needs[t] = true
			}
		}
		return out, err
	}
	if len(tests) == 0 {
		return needs, calls, nil
	}
	left, err := passes(code.CutZero, tests)
	if err != nil {
		return nil, nil, err
	}
	for _, second := range []struct {
		cut  code.Cut
		asks func(cutFunction) bool
	}{{code.CutOther, func(fn cutFunction) bool { return fn.dynamic }}, {code.CutThere, func(fn cutFunction) bool { return fn.maybe }}} {
		failed := slices.DeleteFunc(slices.Clone(tests), func(t string) bool { return !needs[t] })
		if len(failed) == 0 || !slices.ContainsFunc(k.fns, second.asks) {
			continue
		}
		also, err := passes(second.cut, failed)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range also {
			delete(needs, t)
		}
		left = append(left, also...)
	}
	if old := slices.ContainsFunc(k.fns, func(fn cutFunction) bool { return fn.existed }); !old || len(left) == 0 {
		return needs, calls, nil
	}
	needed := needs
	needs = map[string]bool{}
	if _, err = passes(code.CutPanic, left); err != nil {
		return nil, nil, err
	}
	return needed, needs, nil
}

// looksAtText is why a test proves nothing that only reads.
const looksAtText = "it looks at the text of the code, not at what it does"

// failsByAssertion tells whether a failed test says that it asserted something,
// or its source does.
func (f facts) failsByAssertion(s suite, test string) bool {
	for _, t := range s.receipt.Tests {
		if t.Name == test && asserted.MatchString(t.Output) {
			return true
		}
	}
	return f.asserting(test)
}

// suiteWith runs these tests, or the whole suite, with a cut.
func (k *cutting) suiteWith(ctx context.Context, value string, names []string) (suite, error) {
	if names != nil {
		return k.with(ctx, value, names)
	}
	k.bench.env = []string{k.env + "=" + value}
	r, err := k.bench.run(ctx, k.cmd)
	return readSuite(r), err
}

// asserted is how failed assertions are told by the runners.
var asserted = regexp.MustCompile(`AssertionError|AssertionFailedError|ComparisonFailure|ERR_ASSERTION|assertion .*failed|expect\(|\bExpected\b|\bexpected\b|_test\.go:\d+:`)

// isDoc tells of files that people read.
func isDoc(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".md", ".rst", ".adoc", ".markdown":
		return true
	}
	return path.Ext(p) == ""
}

// readsCode is how tests look at sources as text.
var readsCode = regexp.MustCompile(`(?i)(?:(?:ReadFile|readFileSync|\bopen|read_text|read_to_string|File\.read|Files\.(?:read|lines)|readFile)\b|include_str!)[^\n]*\.(?:go|py|[cm]?[jt]sx?|rs|java|kt)\b|inspect\.getsource|\.toString\(\)\.(?:includes|match|length|split|indexOf)|__code__`)

// readsSource tells whether a test of the change looks at sources as text.
func (f facts) readsSource(test string) bool {
	for _, s := range f.sources {
		for _, u := range units(s.lang, s.after) {
			if u.test && plainName(s.lang, u.name) == functionOf(test) && readsCode.MatchString(u.text) {
				return true
			}
		}
	}
	return false
}
