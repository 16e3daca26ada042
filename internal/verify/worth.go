package verify

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/git"
	"agency/internal/regexp"
	"agency/internal/store"
	"agency/internal/suite"
	"agency/internal/verdicts"
)

// weigh finds out what the checks that may be a proof are worth: it runs the
// tests of either side on the product of either side, as far as that is not
// known from the suites, and takes the change out of the claim where a test
// cannot run without it.
func (t *testRun) weigh(ctx context.Context) error {
	f := t.f
	if f.sides = t.splitter.split(ctx, f.changes); t.trees.Err() != nil {
		return t.trees.Err()
	}
	if f.claimSuite.Receipt.Parsed {
		w := weighing{testRun: t, shown: map[string]bool{}, named: map[string]bool{}, planned: map[string]bool{}}
		f.worth = map[string]agency.TestWorth{}
		if f.baseSuite.Ran {
			w.collect()
		}
		for _, step := range []func(context.Context) error{w.onOldTests, w.onOldProduct, w.onOldBodies, w.withoutBodies} {
			if err := step(ctx); err != nil {
				return err
			}
		}
	}
	return t.weighCommands(ctx)
}

// weighing is one look at what tests are worth.
type weighing struct {
	*testRun
	// open are the tests that are still to be decided, sorted: they pass on the
	// claim.
	open []string
	// shown are those of them that fail on the base's product: where the change
	// has functions, they must need one of them, too.
	shown map[string]bool
	// named are the tests that checks name, planned those that the plan's own do.
	named, planned map[string]bool
	// loose are changed lines of the product outside of all functions, by file.
	loose map[string][]int
}

// collect gathers the tests that may be a proof.
func (w *weighing) collect() {
	f := w.f
	all := map[string]bool{}
	plan := len(planChecks(f.task))
	for i, c := range checksOf(f.task) {
		if c.Test == "" {
			continue
		}
		if found, ok := agency.LookUp(f.claimSuite.Tests, c.Test); ok {
			for _, t := range found.Members(f.claimSuite.Tests) {
				all[t], w.named[t] = true, true
				w.planned[t] = w.planned[t] || i < plan
			}
		}
	}
	for _, r := range f.refs { // a test command that a plan's check names
		for _, t := range agency.NewlyPassing(f.baseSuite.Tests, statuses(r)) {
			all[t] = true
		}
	}
	f.fresh = f.ofTheRun()
	for _, t := range f.fresh {
		all[t] = true
	}
	for _, t := range slices.Sorted(maps.Keys(all)) {
		if f.claimSuite.Tests[t] == agency.TestPassed && !slices.Contains(f.retried.flaky, t) {
			_, existed := f.baseSuite.Tests[t]
			w.f.worth[t] = agency.TestWorth{Existed: existed}
			w.open = append(w.open, t)
		}
	}
}

// settle closes tests with what they are worth.
func (w *weighing) settle(decide func(test string, v *agency.TestWorth) bool) {
	w.open = slices.DeleteFunc(w.open, func(t string) bool {
		v := w.f.worth[t]
		done := decide(t, &v)
		w.f.worth[t] = v
		return done
	})
}

// onOldTests runs the base's test matter on the claim's product: what was red
// there and passes now is the change's doing, and what fails in its old form is
// an expectation that the run edited.
func (w *weighing) onOldTests(ctx context.Context) error {
	f := w.f
	got := f.claimSuite
	if f.sides.changesTests() {
		names := w.oldForms()
		red := slices.DeleteFunc(slices.Clone(w.open), func(t string) bool {
			was, there := f.baseSuite.Tests[t]
			return was == agency.TestPassed || !there && !f.baseSuite.Down(t)
		})
		names = slices.Compact(slices.Sorted(slices.Values(append(names, red...))))
		if len(names) == 0 {
			return nil
		}
		tree, err := w.splitter.oldTests(ctx, f.sides)
		if err != nil {
			return err
		}
		if got, err = w.trial(ctx, f.apart(w.task.Commands), check.StageOldTests, tree, f.oldNames(names)); err != nil {
			return err
		}
		got = got.Renamed(f.moved)
		f.expectations(got, names)
	}
	chance, err := w.byChance(ctx, slices.DeleteFunc(slices.Clone(w.open), func(t string) bool {
		return f.baseSuite.Tests[t] != agency.TestFailed || got.Tests[t] != agency.TestPassed
	}))
	if err != nil {
		return err
	}
	w.settle(func(t string, v *agency.TestWorth) bool {
		switch {
		case chance[t]:
			v.Why = "run again it failed, so that it passed may be chance"
			return true
		case !f.sides.changesProduct():
			return false
		}
		was, existed := f.baseSuite.Tests[t]
		if was == agency.TestFailed && got.Tests[t] == agency.TestFailed && !f.baseMixed[t] {
			v.Why = "it passes only with what this run edited of the tests"
			return true
		}
		v.Edited = slices.ContainsFunc(f.edited, func(e agency.Expectation) bool { return e.Test == t && e.Before == agency.TestPassed })
		v.Declared = v.Edited && f.declares()
		if edited := v.Edited || existed && f.rewritten[suite.FunctionOf(t)]; edited && len(f.Writes) > 0 && !f.declares() && (v.Edited || !w.planned[t]) {
			v.Why = "it was edited in this run, outside of the declared writes"
			return true
		}
		switch {
		case got.Tests[t] != agency.TestPassed || f.baseSuite.Tests[t] == agency.TestPassed || f.baseMixed[t]:
			return false
		case !existed && !f.baseSuite.Down(t):
			return false // a case that the product brings along, or a name of this one run
		}
		v.Ground = agency.GroundStood
		return true
	})
	return nil
}

// oldForms are the tests of the base that stand in matter which the run edited:
// those of edited files, and where helpers or data changed all that can use them.
func (w *weighing) oldForms() (names []string) {
	f := w.f
	wide := slices.ContainsFunc(f.sides.tests, func(c git.Change) bool { return c.Status != 'A' && !isTestFile(c.Path) })
	for t, s := range f.baseSuite.Tests {
		if s != agency.TestSkipped && (wide || f.rewritten[suite.FunctionOf(t)] || f.removed[suite.FunctionOf(t)]) {
			names = append(names, t)
		}
	}
	return names
}

// onOldProduct runs the claim's test matter on the base's product: what passes
// there does not need the change.
func (w *weighing) onOldProduct(ctx context.Context) error {
	f := w.f
	if len(w.open) == 0 {
		return nil
	}
	got := f.baseSuite
	switch {
	case !f.sides.changesProduct():
		got = f.claimSuite
	case f.sides.changesTests():
		tree, err := w.splitter.newTests(ctx, f.sides)
		if err != nil {
			return err
		}
		if got, err = w.trial(ctx, f.apart(w.task.Commands), check.StageWithout, tree, w.open); err != nil {
			return err
		}
	}
	w.settle(func(t string, v *agency.TestWorth) bool {
		switch {
		case got.Tests[t] == agency.TestPassed:
			v.Why = "it passes without the change too"
			if f.baseMixed[t] {
				v.Why = "its results were mixed before the change"
			}
			return true
		case got.Tests[t] == agency.TestFailed && !lacksName(got.Receipt, t):
			w.shown[t] = true
		}
		return false
	})
	return nil
}

// noName is how runtimes say that a name is not there: a test that fails so on
// the base has not asserted anything yet.
var noName = regexp.MustCompile(`\b(?:ImportError|ModuleNotFoundError|NameError)\b|AttributeError: .*(?:has no attribute|module)|TypeError: .*(?:unexpected keyword argument|positional arguments?|missing \d+ required)|` +
	`is not a (?:function|constructor)|ReferenceError: .* is not defined|Cannot find module|ERR_MODULE_NOT_FOUND|does not provide an export|Cannot read propert(?:y|ies) .* of undefined|NoSuchMethodError|NoClassDefFoundError|ClassNotFoundException`)

// lacksName tells whether a test failed for something that is not there.
func lacksName(r agency.Receipt, test string) bool {
	return noName.MatchString(suite.Output(r, test))
}

// apart is the test command for trees that are made to find out what tests need.
func (f testFacts) apart(all check.Commands) check.Command {
	cmd := f.scope.again(all.Command(agency.CheckTest))
	cmd.Timeout = patience(cmd, f.claimSuite.Receipt)
	return cmd
}

// trial runs these tests on a tree of its own, the whole suite where they are nil
// or cannot be picked.
func (j *job) trial(ctx context.Context, cmd check.Command, stage check.Stage, tree agency.OID, names []string) (s suite.Results, err error) {
	b := j.checkouts.New(stage, tree)
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	return pick(ctx, b, cmd, names)
}

// pick runs some tests of a suite, all of it where they are nil, and again those
// that a crash kept from their turn.
func pick(ctx context.Context, b *checkout.Checkout, cmd check.Command, names []string) (suite.Results, error) {
	if names == nil {
		r, err := b.Run(ctx, cmd)
		return suite.Read(r), err
	}
	const most = 400 // names on a line
	var out suite.Results
	for round := 0; len(names) > 0 && round < maxRounds; round++ {
		line, ok := "", false
		if len(names) <= most {
			var err error
			if line, ok, err = b.RerunLine(ctx, cmd.Line, names); err != nil {
				return out, err
			}
		}
		one := cmd
		if ok {
			one.Line = line
		}
		r, err := b.Run(ctx, one)
		if err != nil {
			return out, err
		}
		s := suite.Read(r)
		out = out.With(s)
		left := slices.DeleteFunc(slices.Clone(names), func(t string) bool { _, ran := s.Tests[t]; return ran || s.Down(t) })
		if !ok || len(s.Crashed()) == 0 || len(left) == len(names) {
			break
		}
		names = left
	}
	return out, nil
}

// maxRounds bounds how often the tests behind a crash are run again.
const maxRounds = 12

// expectations notes the tests whose form before the run fails on the claim's
// product, while their present one passes there.
func (f *facts) expectations(old suite.Results, names []string) {
	for _, t := range names {
		before, was := f.baseSuite.Tests[t]
		if !was || before == agency.TestSkipped || f.claimSuite.Tests[t] != agency.TestPassed || f.baseMixed[t] {
			continue
		}
		e := agency.Expectation{Test: t, Before: before, Now: "failed"}
		switch _, ran := old.Tests[t]; {
		case old.Tests[t] == agency.TestFailed:
			e.Output = firstFailure(old.Receipt, t)
		case !ran && old.Down(t):
			e.Now = "unbuilt"
		default:
			continue
		}
		if f.isUnchanged(e, old) {
			continue
		}
		f.edited = append(f.edited, e)
	}
}

// What the contract before this one proved stays proved of the work that goes on
// with it. Held against what this work began from, its tests prove nothing: they
// passed there already. Held against what the run began from they do, as long as
// they pass, in the form in which they were the proof.

// earlier is a proof that the run has given before.
type earlier struct {
	contract agency.ContractID
	tree     agency.OID // on which it was given
	proof    agency.Proof
}

// carry gathers what is proved already of the claim's criteria, and holds on the
// claim, too.
func (j *testRun) carry(ctx context.Context) error {
	f := j.f
	if j.task.After == "" || !f.claimSuite.Ran {
		return nil
	}
	all, err := j.provedBefore(ctx)
	if err != nil {
		return err
	}
	f.before = map[string]earlier{}
	for _, e := range all {
		holds, err := j.holds(ctx, e)
		if err != nil {
			return err
		}
		if holds {
			f.before[e.proof.ID] = e
		}
	}
	return nil
}

// provedBefore are the proofs by tests that the last verdict on the contract before
// gave of the same criteria.
func (j *testRun) provedBefore(ctx context.Context) (out []earlier, err error) {
	err = j.v.o.DB.Read(ctx, func(s *store.Snapshot) error {
		given, err := verdicts.All(s, j.task.Run)
		for _, v := range given {
			if !v.Pass || v.ContractID != j.task.After {
				continue
			}
			out = nil
			for _, p := range v.Proofs {
				same := func(c agency.Criterion) bool {
					return c.ID == p.ID && c.Text == p.Text && (c.Check == nil || reflect.DeepEqual(c.Check, p.Check))
				}
				if p.Proof == agency.ProofVerified && len(p.Tests) > 0 && slices.ContainsFunc(j.task.Criteria, same) {
					out = append(out, earlier{v.ContractID, v.Tree, p})
				}
			}
		}
		return err
	})
	return out, err
}

// holds tells whether the tests of an earlier proof pass on the claim, and in the
// form that they had then.
func (j *testRun) holds(ctx context.Context, e earlier) (_ bool, err error) {
	f := j.f
	fails := func(t string) bool {
		s, ran := f.claimSuite.Tests[t]
		return slices.Contains(f.retried.flaky, t) || s != agency.TestPassed && (ran || !f.scope.partial)
	}
	if slices.ContainsFunc(e.proof.Tests, fails) {
		return false, nil
	}
	since := *j.job
	since.task.base = e.tree
	since.change = newChange(since.task, j.trees, j.v.o.Syntax)
	g := &facts{task: since.task, testFacts: testFacts{claimSuite: f.claimSuite}}
	if g.changes, err = j.run.Changes(ctx, e.tree, j.task.claim); err != nil {
		return false, err
	}
	since.files.plan(ctx, planChecks(j.task))
	if err := since.readSources(ctx, g); err != nil {
		return false, err
	}
	g.sides = since.splitter.split(ctx, g.changes)
	tree := j.task.claim
	switch {
	case g.sides.changesTests():
		tree, err = since.splitter.oldTests(ctx, g.sides)
	case allPass(f.claimSuite, e.proof.Tests):
		return true, nil
	}
	if err != nil {
		return false, err
	}
	got, err := since.trial(ctx, g.apart(since.task.Commands), check.StageOldTests, tree, e.proof.Tests)
	return err == nil && allPass(got, e.proof.Tests), err
}

func allPass(s suite.Results, tests []string) bool {
	return !slices.ContainsFunc(tests, func(t string) bool { return s.Tests[t] != agency.TestPassed })
}

// carryProofs gives the criteria that nothing of this change proves the proof that
// they have already.
func (f facts) carryProofs(proofs []agency.Proof) {
	for i, p := range proofs {
		if e, ok := f.before[p.ID]; ok && p.Proof == agency.ProofAsserted {
			proofs[i].Proof, proofs[i].Tests, proofs[i].Check = agency.ProofVerified, e.proof.Tests, e.proof.Check
			proofs[i].Receipt = f.claimSuite.Receipt.ID
			proofs[i].Note = e.proof.Note + "; proved by " + string(e.contract) + ", and passes still"
		}
	}
}
