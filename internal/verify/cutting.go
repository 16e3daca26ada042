package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/code"
	"agency/internal/git"
	"agency/internal/mutation"
	"agency/internal/regexp"
	"agency/internal/suite"
)

// withoutBodies decides what is left: a test that cannot run on the base's
// product proves something when it fails without what was changed, and one that
// failed there by a text alone does not.
func (w *weighing) withoutBodies(ctx context.Context) (err error) {
	if !w.f.sides.changesProduct() {
		return nil
	}
	c, err := w.changedCode(ctx)
	if err != nil {
		return err
	}
	w.loose = c.LooseLines
	if len(c.Functions) == 0 {
		if err := w.onOtherValues(ctx); err != nil {
			return err
		}
		w.withoutFunctions(c.Loose > 0 || w.f.sides.changesCode())
		k := cutting{weighing: w, cuts: c}
		return k.unproved(ctx)
	}
	b := w.checkouts.New(check.StageCut, c.tree)
	b.Env = []string{c.Env + "="}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	k := cutting{weighing: w, cuts: c, on: b, cmd: w.f.apart(w.task.Commands)}
	if err := k.decide(ctx); err != nil || k.unfit {
		return err
	}
	return k.unproved(ctx)
}

// cuts is the claim with a switch before each changed function.
type cuts struct {
	*mutation.Switches
	tree agency.OID
}

// changedCode finds the functions that the change touches and puts the switches
// in.
func (w *weighing) changedCode(ctx context.Context) (cuts, error) {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s\x00%s\x00%s", w.task.Run, w.checkouts.Key, w.task.claim)))
	c := cuts{Switches: mutation.NewSwitches(w.v.o.Syntax, "V"+strings.ToUpper(hex.EncodeToString(sum[:8])))}
	lines, err := changeset.LinesBetween(ctx, w.run.Dir(), w.task.base, w.task.claim)
	if err != nil {
		return c, err
	}
	for _, ch := range slices.Concat(w.f.sides.product, w.f.sides.inner) {
		if languageOf(ch.Path) == "" && !isDoc(ch.Path) && !isUnread(ch.Path) {
			c.Loose++ // data of the product
		}
	}
	set, err := w.altered(ctx, func(ctx context.Context, ch git.Change, before, after []byte) ([]byte, error) {
		return c.Put(ctx, mutation.File{Path: ch.Path, Before: before, After: after, Added: lines.Of(ch.Path), CutAt: lines.CutAt[ch.Path]})
	})
	if err == nil && len(set) > 0 {
		c.tree, err = w.trees.With(ctx, w.task.claim, set)
	}
	return c, err
}

// patience is how long tests may take with something taken out: what waits for
// it may wait for ever.
func patience(cmd check.Command, r agency.Receipt) time.Duration {
	enough := 3*checkout.Seconds(r.Duration) + 20*time.Second
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
	on  *checkout.Checkout
	cmd check.Command
	// tried: the claim was run with all switches off; unfit: it does not stand so.
	tried, unfit bool
	// What unproved works with: the tests of each round, nil for all, and whether
	// all are among them.
	rounds [][]string
	whole  bool
	told   linesTold
}

// with runs tests, all where they are nil, with a cut: its kind and the id of a function, or
// "*". Where there is one function, that is all of them: its receipt serves both.
func (k *cutting) with(ctx context.Context, value string, names []string) (suite.Results, error) {
	if len(k.Functions) == 1 {
		value = strings.Replace(value, ":*", ":"+k.Functions[0].ID, 1)
	}
	k.on.Env = []string{k.Env + "=" + value}
	return pick(ctx, k.on, k.cmd, names)
}

// decide decides the tests that are still open.
func (k *cutting) decide(ctx context.Context) error {
	if len(k.open) == 0 {
		return nil
	}
	whole, err := k.control(ctx)
	if err != nil {
		return err
	}
	k.tried, k.unfit = true, len(whole.Broken) > len(k.f.claimSuite.Broken)
	needs, calls, err := k.without(ctx, slices.DeleteFunc(slices.Clone(k.open), func(t string) bool { return whole.Tests[t] != agency.TestPassed }))
	if err != nil {
		return err
	}
	k.settle(func(t string, v *agency.TestWorth) bool {
		reads := k.f.readsSource(t)
		switch ran := whole.Tests[t] == agency.TestPassed; {
		case k.shown[t] && (needs[t] || (calls[t] || k.Loose > 0) && !reads || !ran && whole.Down(t)):
			v.Ground = agency.GroundFails
		case needs[t]:
			v.Ground = agency.GroundCut
		case !ran && whole.Down(t):
			v.Why = "it cannot run without the change, and the change cannot be taken out of what it tests"
		case !ran, reads:
			v.Why = looksAtText
		case calls[t]:
			v.Why = "it calls what was changed and checks nothing of what comes back"
		default:
			v.Why = "it passes when what was changed is taken out"
			return len(k.LooseLines) == 0 // else other values may tell
		}
		return true
	})
	return k.onOtherValues(ctx)
}

// control runs the open tests with nothing taken out: those that checks name
// without the others, which may leave behind what they pass by.
func (k *cutting) control(ctx context.Context) (suite.Results, error) {
	named := slices.DeleteFunc(slices.Clone(k.open), func(t string) bool { return !k.weighing.named[t] })
	others := slices.DeleteFunc(slices.Clone(k.open), func(t string) bool { return k.weighing.named[t] })
	s, err := k.with(ctx, "", named)
	if err != nil || len(others) == 0 {
		return s, err
	}
	rest, err := k.with(ctx, "", others)
	return s.With(rest), err
}

// without tells which tests need the bodies of the changed functions, and which
// do no more than call one that was there before. Where results have no written
// type two different ones must both be wrong: the one may be what a stub gives.
func (k *cutting) without(ctx context.Context, tests []string) (needs, calls map[string]bool, err error) {
	needs, calls = map[string]bool{}, map[string]bool{}
	passes := func(cut code.Cut, names []string) (out []string, err error) {
		s, err := k.with(ctx, string(cut)+":*", names)
		for _, t := range names {
			switch status, ran := s.Tests[t]; {
			case status == agency.TestPassed:
				out = append(out, t)
			case ran && status != agency.TestFailed, !ran && s.Receipt.OK():
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
		asks func(mutation.Function) bool
	}{{code.CutOther, func(fn mutation.Function) bool { return fn.Dynamic }}, {code.CutThere, func(fn mutation.Function) bool { return fn.Maybe }}} {
		failed := slices.DeleteFunc(slices.Clone(tests), func(t string) bool { return !needs[t] })
		if len(failed) == 0 || !slices.ContainsFunc(k.Functions, second.asks) {
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
	if old := slices.ContainsFunc(k.Functions, func(fn mutation.Function) bool { return fn.Existed }); !old || len(left) == 0 {
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
func (f changeFacts) failsByAssertion(s suite.Results, test string) bool {
	return f.asserting(test) || slices.ContainsFunc(s.Receipt.Tests, func(t agency.TestResult) bool {
		return t.Name == test && asserted.MatchString(t.Output)
	})
}

// asserted is how failed assertions are told by the runners.
var asserted = regexp.MustCompile(`AssertionError|AssertionFailedError|ComparisonFailure|ERR_ASSERTION|assertion .*failed|expect\(|\bExpected\b|\bexpected\b|_test\.go:\d+:`)

// isDoc tells of files that people read.
func isDoc(p string) bool {
	return slices.Contains([]string{"", ".md", ".rst", ".adoc", ".markdown"}, strings.ToLower(path.Ext(p)))
}

// readsCode is how tests look at sources as text.
var readsCode = regexp.MustCompile(`(?i)(?:(?:ReadFile|readFileSync|\bopen|read_text|read_to_string|File\.read|Files\.(?:read|lines)|readFile)\b|include_str!)[^\n]*\.(?:go|py|[cm]?[jt]sx?|rs|java|kt)\b|inspect\.getsource|\.toString\(\)\.(?:includes|match|length|split|indexOf)|__code__`)

// readsSource tells whether a test of the change looks at sources as text.
func (f changeFacts) readsSource(test string) bool {
	for _, s := range f.sources {
		for _, u := range units(s.path, s.after) {
			if u.Test && plainName(s.path, u.Name) == suite.FunctionOf(test) && readsCode.MatchString(u.Text) {
				return true
			}
		}
	}
	return false
}

// Some tests cannot be run on the base's product, for a name that they or their
// neighbours use is not there. They are run on the claim with less of the change
// in it: its old functions as they were, or its constants other than they are.

// onOldBodies runs tests that did not build on the base's product on a claim in
// which the functions that were there before do what they did.
func (w *weighing) onOldBodies(ctx context.Context) error {
	open := slices.DeleteFunc(slices.Clone(w.open), func(t string) bool { return w.shown[t] })
	if len(open) == 0 || !w.f.sides.changesProduct() {
		return nil
	}
	set, err := w.altered(ctx, w.oldBodies)
	if err != nil || len(set) == 0 {
		return err
	}
	s, err := w.onAltered(ctx, check.StageOldBodies, set, open)
	if err != nil {
		return err
	}
	for _, t := range open {
		if s.Tests[t] == agency.TestFailed && !lacksName(s.Receipt, t) {
			w.shown[t] = true
		}
	}
	return nil
}

// onOtherValues runs tests that no function decides on a claim whose changed
// constants and tables hold other values.
func (w *weighing) onOtherValues(ctx context.Context) error {
	open := slices.DeleteFunc(slices.Clone(w.open), w.f.readsSource)
	if len(open) == 0 || len(w.loose) == 0 {
		return nil
	}
	set, err := w.altered(ctx, func(_ context.Context, c git.Change, _, after []byte) ([]byte, error) {
		return mutation.OtherValues(after, w.loose[c.Path]), nil
	})
	if err != nil || len(set) == 0 {
		return err
	}
	s, err := w.onAltered(ctx, check.StageOtherValues, set, open)
	if err != nil {
		return err
	}
	w.settle(func(t string, v *agency.TestWorth) bool {
		if s.Tests[t] != agency.TestFailed || lacksName(s.Receipt, t) || !w.f.failsByAssertion(s, t) || !slices.Contains(open, t) {
			return false
		}
		if v.Ground = agency.GroundCut; w.shown[t] {
			v.Ground = agency.GroundFails
		}
		return true
	})
	return nil
}

// oldBodies is a source in which the functions that were there before do what they
// did.
func (w *weighing) oldBodies(ctx context.Context, c git.Change, before, after []byte) ([]byte, error) {
	return mutation.OldBodies(ctx, w.v.o.Syntax, c.Path, before, after)
}

// altered are the sources of the product that the change touches, other than
// the claim has them.
func (w *weighing) altered(ctx context.Context, alter func(ctx context.Context, c git.Change, before, after []byte) ([]byte, error)) (set []git.Entry, err error) {
	for _, c := range slices.Concat(w.f.sides.product, w.f.sides.inner) {
		if c.Status == 'D' || !changeset.Regular(c.New.Mode) || code.LanguageOf(c.Path) == "" {
			continue
		}
		before, after := w.trees.Sides(ctx, c)
		text, err := alter(ctx, c, before, after)
		if err != nil {
			return nil, err
		}
		if text != nil && !bytes.Equal(text, after) {
			set = append(set, w.trees.Store(ctx, c.Path, c.New.Mode, text))
		}
	}
	return set, w.trees.Err()
}

func (w *weighing) onAltered(ctx context.Context, stage check.Stage, set []git.Entry, tests []string) (suite.Results, error) {
	tree, err := w.trees.With(ctx, w.task.claim, set)
	if err != nil {
		return suite.Results{}, err
	}
	return w.trial(ctx, w.f.apart(w.task.Commands), stage, tree, tests)
}
