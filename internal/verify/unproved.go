package verify

import (
	"context"
	"maps"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/code"
	"agency/internal/git"
	"agency/internal/mutation"
	"agency/internal/suite"
)

// Bounds of the search for lines that nothing holds.
const (
	maxCuts     = 24  // functions that are taken out one by one
	linesBudget = 0.4 // of what the suite takes
)

// unproved finds the changed lines that no failing test holds: what no test
// reaches needs no run. Of the rest it takes out one piece after the other and
// runs first the tests that the run brought, then, as far as time allows, all.
func (k *cutting) unproved(ctx context.Context) error {
	own := slices.DeleteFunc(slices.Clone(k.f.fresh), func(t string) bool { return slices.Contains(k.f.retried.flaky, t) })
	took := checkout.Seconds(k.f.claimSuite.Receipt.Duration)
	k.told = linesTold{files: map[string]*agency.UnprovedFile{}, left: max(time.Duration(linesBudget*float64(took)), k.v.o.LinesFor)}
	k.rounds = nil
	if len(own) > 0 {
		k.rounds = append(k.rounds, own)
	}
	if k.whole = took <= k.told.left; k.whole {
		k.rounds = append(k.rounds, nil) // all tests
	}
	undone, err := k.undone(ctx)
	for i, fn := range k.Functions {
		if err != nil {
			return err
		}
		unrun := missedOf(k.f.reached, fn.Path, fn.Lines)
		switch {
		case len(fn.Lines) == 0:
		case len(unrun) == len(fn.Lines), fn.Existed && undone:
			k.told.tell(fn.Path, fn.Lines, fn.Lines)
		case i >= maxCuts || !k.stands(ctx, own, &err):
			k.told.notSure(fn.Path, fn.Lines, unrun)
		default:
			err = k.held(fn.Path, fn.Lines, unrun, func(names []string) (s suite.Results, err error) {
				for _, cut := range []code.Cut{code.CutZero, code.CutOther} {
					if s, err = k.with(ctx, string(cut)+":"+fn.ID, names); err != nil || k.turnsRed(s) {
						break
					}
				}
				return s, err
			})
		}
	}
	if err == nil {
		err = k.looseUnproved(ctx)
	}
	k.f.unproved = k.told.all()
	return err
}

// held tells of lines of a file whether a test fails without them.
func (k *cutting) held(path string, lines, unrun []int, without func(names []string) (suite.Results, error)) error {
	if len(k.rounds) == 0 || k.told.left <= 0 {
		k.told.notSure(path, lines, unrun)
		return nil
	}
	for _, names := range k.rounds {
		s, err := without(names)
		if err != nil {
			return err
		}
		if k.told.left -= checkout.Seconds(s.Receipt.Duration); k.turnsRed(s) {
			k.told.tell(path, lines, unrun)
			return nil
		}
	}
	if k.whole {
		k.told.tell(path, lines, lines)
	} else {
		k.told.notSure(path, lines, unrun)
	}
	return nil
}

// undone tells whether all tests pass with the old bodies of all functions that
// were there before: then none of them holds what was changed in those.
func (k *cutting) undone(ctx context.Context) (bool, error) {
	proved := slices.ContainsFunc(slices.Collect(maps.Values(k.f.worth)), func(w agency.TestWorth) bool { return w.Ground != "" })
	if proved || !k.whole || !slices.ContainsFunc(k.Functions, func(fn mutation.Function) bool { return fn.Existed && len(fn.Lines) > 0 }) {
		return false, nil
	}
	set, err := k.altered(ctx, k.oldBodies)
	if err != nil || len(set) == 0 {
		return false, err
	}
	for _, names := range k.rounds {
		s, err := k.onAltered(ctx, check.StageOldBodies, set, names)
		if err != nil || !s.Ran || k.turnsRed(s) {
			return false, err
		}
		k.told.left -= checkout.Seconds(s.Receipt.Duration)
	}
	return true, nil
}

// looseUnproved does so for lines outside of functions, which are tried with
// other values, a file at a time.
func (k *cutting) looseUnproved(ctx context.Context) error {
	for _, path := range slices.Sorted(maps.Keys(k.LooseLines)) {
		lines := k.LooseLines[path]
		unrun := missedOf(k.f.reached, path, lines)
		set, err := k.altered(ctx, func(_ context.Context, c git.Change, _, after []byte) ([]byte, error) {
			if c.Path != path {
				return nil, nil
			}
			return mutation.OtherValues(after, lines), nil
		})
		switch {
		case err != nil:
			return err
		case len(set) == 0: // no value in them
			k.told.notSure(path, lines, unrun)
			continue
		}
		err = k.held(path, lines, unrun, func(names []string) (suite.Results, error) {
			return k.onAltered(ctx, check.StageOtherValues, set, names)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stands tells whether the claim does what it did with the switches in it and
// all of them off. It is tried once.
func (k *cutting) stands(ctx context.Context, own []string, err *error) bool {
	if !k.tried && *err == nil {
		var s suite.Results
		if len(own) == 0 {
			own = nil // then all
		}
		s, *err = k.with(ctx, "", own)
		k.tried, k.unfit = true, *err != nil || k.turnsRed(s)
	}
	return !k.unfit
}

// linesTold gathers which changed lines are held.
type linesTold struct {
	files    map[string]*agency.UnprovedFile
	order    []string
	notTried int
	left     time.Duration // for more runs
}

// tell notes that of some lines these are held by nothing.
func (t *linesTold) tell(path string, lines, loose []int) {
	if len(lines) == 0 {
		return
	}
	file := t.files[path]
	if file == nil {
		file = &agency.UnprovedFile{Path: path}
		t.files[path], t.order = file, append(t.order, path)
	}
	file.Changed += len(lines)
	file.Lines += len(loose)
	file.Where = append(file.Where, changeset.Ranges(path, slices.Clone(loose))...)
}

// notSure notes lines of which only those are known that no test runs.
func (t *linesTold) notSure(path string, lines, unrun []int) {
	t.tell(path, unrun, unrun)
	t.notTried += len(lines) - len(unrun)
}

// all is what was told, in the order of the change; nil where nothing was.
func (t *linesTold) all() *agency.Unproved {
	u := agency.Unproved{NotTried: t.notTried}
	for _, path := range t.order {
		file := t.files[path]
		u.Files, u.Lines, u.Changed = append(u.Files, *file), u.Lines+file.Lines, u.Changed+file.Changed
	}
	if u.Changed+u.NotTried == 0 {
		return nil
	}
	return &u
}

// missedOf are those of changed lines that no test runs, where that was measured.
func missedOf(reached []check.FileCoverage, path string, lines []int) (out []int) {
	for _, f := range reached {
		if f.Path != path {
			continue
		}
		for _, n := range lines {
			if slices.ContainsFunc(f.Missed, func(l check.Lines) bool { return l.From <= n && n <= l.To }) {
				out = append(out, n)
			}
		}
	}
	return out
}

// turnsRed tells whether something fails with a cut that passes without.
func (k *cutting) turnsRed(s suite.Results) bool {
	for t, status := range s.Tests {
		if status == agency.TestFailed && k.f.claimSuite.Tests[t] == agency.TestPassed && !slices.Contains(k.f.retried.flaky, t) {
			return true
		}
	}
	return len(s.Broken) > len(k.f.claimSuite.Broken)
}
