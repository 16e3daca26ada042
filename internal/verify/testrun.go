package verify

import (
	"context"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/suite"
)

// testRun runs the commands on the checkouts of both sides and holds what their
// tests do against each other.
type testRun struct {
	*job
	f           *facts
	cmd         check.Command // of the tests
	claim, base *checkout.Checkout
}

// gate runs one command before the tests; on the base only when it fails on the
// claim.
func (t *testRun) gate(ctx context.Context, kind agency.CheckKind) (gateFact, error) {
	cmd := t.task.Commands.Command(kind)
	if cmd.Line == "" {
		return gateFact{}, nil
	}
	g := gateFact{ran: true}
	var err error
	if g.claim, err = t.claim.Run(ctx, cmd); err != nil || g.claim.OK() {
		return g, err
	}
	if g.base, err = t.base.Run(ctx, cmd); err == nil {
		g.diff, err = complaints(ctx, t.checker, g.claim, g.base, t.f.changes)
	}
	return g, err
}

// tests runs the test command on the claim, on the base where its results are
// needed to judge, and again what is newly red.
func (t *testRun) tests(ctx context.Context) error {
	if t.cmd.Line == "" {
		return nil
	}
	if err := t.suite(ctx); err != nil {
		return err
	}
	if err := t.gutted(ctx); err != nil {
		return err
	}
	if !t.f.needsBase() {
		return nil
	}
	b, err := t.base.Run(ctx, t.f.scope.ofBase(t.cmd))
	if err != nil {
		return err
	}
	t.f.baseSuite = t.f.scope.cut(suite.Read(b), t.f.claimSuite)
	if err := t.compare(ctx); err != nil {
		return err
	}
	if t.f.scope.guessed() && len(t.f.tests.Weakened) > 0 {
		return t.widen(ctx)
	}
	if !t.f.doubtful(len(t.claim.Measure) > 0) {
		return nil
	}
	// What is found out in passing decides nothing: a suite that looks otherwise
	// under it counts as it is without.
	t.claim.Renew()
	r, err := t.claim.Fresh(ctx, t.f.scope.of(t.cmd))
	if err != nil {
		return err
	}
	t.f.claimSuite = suite.Read(r)
	t.f.baseSuite = t.f.scope.cut(suite.Read(b), t.f.claimSuite)
	return t.compare(ctx)
}

// widen judges by the whole suite what looks weaker in a part of it: a test that
// another file brings along is missing there, and nobody took it away.
func (t *testRun) widen(ctx context.Context) error {
	t.f.scope = scope{}
	if err := t.onClaim(ctx, t.cmd); err != nil {
		return err
	}
	b, err := t.base.Run(ctx, t.cmd)
	if err != nil {
		return err
	}
	t.f.baseSuite = suite.Read(b)
	return t.compare(ctx)
}

// compare holds both sides against each other and runs again what is newly red.
func (t *testRun) compare(ctx context.Context) (err error) {
	if err := t.match(ctx); err != nil {
		return err
	}
	if t.f.retried, err = t.retry(ctx); err != nil || !t.f.unexplained() {
		return err
	}
	t.f.diff, err = complaints(ctx, t.checker, t.f.claimSuite.Receipt, t.f.baseSuite.Receipt, t.f.changes)
	return err
}

// suite runs the tests of the claim: those that the change can affect where
// that is known and worth it, else all.
func (t *testRun) suite(ctx context.Context) error {
	var err error
	if t.f.scope, err = t.affected(ctx, t.f.changes, t.cmd, t.claim); err != nil {
		return err
	}
	if err = t.onClaim(ctx, t.f.scope.of(t.cmd)); err != nil || !t.f.scope.partial || t.f.stands() {
		return err
	}
	t.f.scope = scope{}
	return t.onClaim(ctx, t.cmd)
}

func (t *testRun) onClaim(ctx context.Context, cmd check.Command) error {
	r, err := t.claim.Run(ctx, cmd)
	t.f.claimSuite = suite.Read(r)
	return err
}

// match holds the tests of base and claim against each other. A test that only
// moved is judged under the name that it has now. One that was
// red on the base and passes now counts as newly passing only where it was red
// there in each of two runs.
func (t *testRun) match(ctx context.Context) (err error) {
	f := t.f
	was, now := f.baseSuite, f.claimSuite
	f.baseMixed = nil
	hold := func() error {
		f.folding = suite.Stable(was.Tests, now.Tests, checksOf(f.task))
		f.baseSuite, f.claimSuite = f.folding.Fold(was), f.folding.Fold(now)
		f.tests, err = suite.Compare(ctx, f.baseSuite, f.claimSuite)
		return err
	}
	if err := hold(); err != nil || !f.isClaim() {
		return err
	}
	f.moved = f.movedTests()
	if was = was.Renamed(f.moved); len(f.moved) > 0 {
		if err := hold(); err != nil {
			return err
		}
	}
	if !f.mendedByChance() {
		return nil
	}
	line := f.scope.ofBase(t.cmd)
	runs, err := t.base.Again(ctx, line)
	if err != nil {
		return err
	}
	all := []suite.Results{was}
	for _, r := range runs {
		if !r.At.Equal(was.Receipt.At) {
			all = append(all, f.scope.cut(suite.Read(r), now).Renamed(f.moved))
		}
	}
	if was, f.baseMixed = suite.Merge(all); len(f.baseMixed) > 0 {
		if err := t.checker.Distrust(ctx, t.base.Subject(), line); err != nil {
			return err
		}
	}
	return hold()
}
