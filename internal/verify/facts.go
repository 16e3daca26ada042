package verify

import (
	"slices"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/suite"
)

// facts is all that a verdict rests on: judge reads nothing else.
type facts struct {
	task
	changeFacts
	testFacts
	proofFacts
	gates      []gateFact
	weaker     []agency.Weakening // what the sources show
	leftovers  []agency.Leftover
	aside      []string             // folders of parts that are touched and not checked
	coverage   *agency.Coverage     // of the changed lines, where it is known
	reached    []check.FileCoverage // all that was measured with it
	unmeasured []string             // changed files that it says nothing of
	receipts   []agency.ReceiptID
}

// changeFacts are what the change is.
type changeFacts struct {
	changes   []git.Change // from base to claim
	sources   []source     // the changed files that are looked at
	unread    []agency.Weakening
	sides     sides
	rewritten map[string]bool // tests that say something else than before, by function
	removed   map[string]bool // tests of changed files that are gone, by function
}

// testFacts are what the test command says on both sides.
type testFacts struct {
	scope      scope         // of the claim's tests
	baseSuite  suite.Results // not run where nothing of it is needed
	claimSuite suite.Results
	tests      suite.Comparison
	retried    retrial
	baseMixed  map[string]bool   // tests that the base gave both ways
	moved      map[string]string // tests of the base that stand elsewhere now, by their old name
	folding    *suite.Folding    // of tests whose names differ from run to run
	diff       diff              // of a test command that is red on both sides by no test of a name
	hollow     bool              // the test command passes whatever the files hold
}

// proofFacts are what was found out of the checks that may prove something.
type proofFacts struct {
	fresh    []string                    // tests that pass and did not, or that the run rewrote
	worth    map[string]agency.TestWorth // of the tests that may be a proof
	edited   []agency.Expectation        // tests whose form before the run fails on the claim
	unproved *agency.Unproved
	refWorth map[agency.Check]agency.RefWorth
	refs     map[agency.Check]agency.Receipt
	theirs   map[agency.Check][]string // tests by which a check still fails, and which others may mend
	before   map[string]earlier        // by criterion: what the contract before proved and still holds
}

// needsBase tells whether the results of the claim's tests can only be judged
// beside the base's: something is red or missing, a test may be a proof, or the
// change could have taken tests away.
func (f facts) needsBase() bool {
	s := f.claimSuite
	if !s.Receipt.OK() || len(s.Tests) == 0 {
		return f.isClaim() || !s.Receipt.OK()
	}
	if !f.isClaim() { // what a merged tree proves was judged at its claims
		return false
	}
	return slices.ContainsFunc(f.Criteria, func(c agency.Criterion) bool { return c.Check == nil || c.Check.Test != "" }) ||
		slices.ContainsFunc(f.changes, func(c git.Change) bool { return isTestFile(c.Path) || isRunner(c.Path) || c.Status == 'D' })
}

// hasNamedTests tells whether every test that a criterion or its evidence names
// is among the results.
func (f facts) hasNamedTests() bool {
	return !slices.ContainsFunc(checksOf(f.task), func(c agency.Check) bool {
		_, ok := agency.LookUp(f.claimSuite.Tests, c.Test)
		return c.Test != "" && !ok
	})
}

// stands tells whether what a narrowed command showed may stand for the suite:
// something was tested, and every test that has to be known by name was. What is
// red stands where the tests that did not run cannot be the reason.
func (f facts) stands() bool {
	s := f.claimSuite
	switch {
	case !f.hasNamedTests(), s.Receipt.Parsed && !s.Tested():
		return false
	case !f.scope.guessed():
		return true
	}
	red := !s.Receipt.OK() && (f.scope.together || s.Receipt.Failed == 0)
	return s.Receipt.Parsed && s.Whole() && !red
}

// ofTheRun are the tests that pass and did not before, and those that the run
// rewrote.
func (f facts) ofTheRun() []string {
	out := agency.NewlyPassing(f.baseSuite.Tests, f.claimSuite.Tests)
	for t, s := range f.claimSuite.Tests {
		if s == agency.TestPassed && f.rewritten[suite.FunctionOf(t)] {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// declares tells whether the contract's declared writes hold all that the run
// edited of the tests that were there.
func (f facts) declares() bool {
	declared := slices.Concat(f.Writes, f.Expected)
	for _, c := range slices.Concat(f.sides.tests, f.sides.inner) {
		if _, _, ok := agency.Overlap([]string{c.Path}, declared, nil); c.Status != 'A' && !ok {
			return false
		}
	}
	return len(declared) > 0
}

// noneRan tells whether the test command passed without running a test.
func (f testFacts) noneRan() bool {
	if !f.claimSuite.Ran || f.scope.partial || !f.claimSuite.Receipt.OK() {
		return false
	}
	if !f.claimSuite.Receipt.Parsed {
		return f.hollow || idle(f.claimSuite.Receipt)
	}
	for _, s := range f.claimSuite.Tests {
		if s != agency.TestSkipped {
			return false
		}
	}
	return true
}

// red tells whether the test command fails without the result of a single test:
// where it does so on the base too, that refuses no claim, and tests none.
func (f testFacts) red() bool {
	return f.claimSuite.Ran && !f.claimSuite.Receipt.OK() && len(f.claimSuite.Tests) == 0 && len(f.claimSuite.Broken) == 0
}

// explained tells whether tests of names are why the test command is red.
func (f testFacts) explained() bool {
	t := f.tests
	return f.claimSuite.Receipt.Parsed && len(t.Regressed)+len(t.NewRed)+len(t.Broken)+len(t.StillRed) > 0
}

// unexplained tells whether the test command is red on both sides and no test
// says why.
func (f testFacts) unexplained() bool {
	return !f.claimSuite.Receipt.OK() && !f.baseSuite.Receipt.OK() && !f.explained()
}

// doubtful tells whether a suite that was measured in passing is red in a way
// that its tests, run alone and without, did not confirm.
func (f testFacts) doubtful(measured bool) bool {
	r := f.claimSuite.Receipt
	if !measured || r.OK() {
		return false
	}
	return r.Cause != "" || !r.Parsed || r.Failed == 0 || len(f.tests.Broken) > 0 || f.retried.doubtful()
}

// mendedByChance tells whether something was red on the base that passes on the
// claim, and could have been red by chance.
func (f testFacts) mendedByChance() bool {
	for name, s := range f.claimSuite.Tests {
		if s != agency.TestPassed {
			continue
		}
		if f.baseSuite.Tests[name] == agency.TestFailed || f.baseSuite.Down(name) {
			return true
		}
	}
	return false
}

// byChance tells whether all that failed of a test gave mixed results.
func (f testFacts) byChance(found agency.Found) bool {
	return !slices.ContainsFunc(found.Tests, func(name string) bool {
		_, flaky := slices.BinarySearch(f.retried.flaky, name)
		return f.claimSuite.Tests[name] == agency.TestFailed && !flaky
	})
}

// redAndGone are the tests that failed on the base and are no more.
func (f testFacts) redAndGone() (out []string) {
	for t, s := range f.baseSuite.Tests {
		if _, there := f.claimSuite.Tests[t]; s == agency.TestFailed && !there && !f.claimSuite.Down(t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// oldNames adds what moved tests were called, under which their old form runs.
func (f testFacts) oldNames(names []string) []string {
	out := slices.Clone(names)
	for was, is := range f.moved {
		for _, name := range names {
			if suite.TopOf(name) == is {
				out = append(out, was)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// onlyEdited are the tests that were red and are green only in an edited form:
// nothing of the product mended them.
func (f proofFacts) onlyEdited() (out []agency.Weakening) {
	for _, e := range f.edited {
		if e.Before == agency.TestFailed && e.Now == "failed" {
			out = append(out, agency.Weakening{Kind: agency.WeakExpectation, Name: e.Test})
		}
	}
	return out
}
