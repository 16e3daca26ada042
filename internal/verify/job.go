package verify

import (
	"context"
	"errors"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/workspace"
)

// task is what is judged, and by what.
type task struct {
	Spec
	stage       check.Stage
	base, claim agency.OID // trees
	fault       string     // of the workspace
}

// isClaim tells a claim from a tree that is merged from claims.
func (t task) isClaim() bool { return t.stage == check.StageClaim }

// refused tells whether the claim fails before anything is run.
func (t task) refused() bool { return t.fault != "" || t.unchanged() }

func (t task) unchanged() bool {
	return t.isClaim() && t.base == t.claim && judgesChange(t.Type)
}

// job is one verification at work.
type job struct {
	task    task
	key     agency.StepKey
	v       *Verifier
	run     *workspace.Run
	checker *check.Checker
	fence   agency.Fence
	trees   map[agency.OID][]git.Entry
	took    time.Duration // what commands took that really ran
	lookup
}

// tree lists the files of a tree, once.
func (j *job) tree(ctx context.Context, id agency.OID) ([]git.Entry, error) {
	if have, ok := j.trees[id]; ok {
		return have, nil
	}
	entries, err := j.run.Dir().Tree(ctx, id)
	if err != nil {
		return nil, err
	}
	if j.trees == nil {
		j.trees = map[agency.OID][]git.Entry{}
	}
	j.trees[id] = entries
	return entries, nil
}

// gates are the commands before the tests, in order. A new failure of the first
// two ends the verification: what follows would only repeat it.
var gates = []agency.CheckKind{agency.CheckSetup, agency.CheckBuild, agency.CheckTypecheck, agency.CheckLint}

// stopsAt tells whether nothing is run after a failure of this kind.
func stopsAt(kind agency.CheckKind) bool {
	return kind == agency.CheckSetup || kind == agency.CheckBuild
}

// work finds out everything that is to be known of a claim and judges it.
func (j *job) work(ctx context.Context) (v agency.Verdict, err error) {
	f := facts{task: j.task}
	if f.refused() {
		return judge(f), nil
	}
	if f.changes, err = j.run.Changes(ctx, j.task.base, j.task.claim); err != nil {
		return v, err
	}
	if j.task.isClaim() {
		if f.fault, err = j.secrets(ctx, f.changes); err != nil || f.fault != "" {
			return judge(f), err
		}
	}
	if err := j.plannedScripts(ctx); err != nil {
		return v, err
	}
	if err := j.readSources(ctx, &f); err != nil {
		return v, err
	}
	claim, base := newBench(j, j.task.stage, j.task.claim), newBench(j, check.StageBase, j.task.base)
	defer func() { err = errors.Join(err, claim.close(ctx), base.close(ctx)) }()
	if claim.measure, err = j.ofRun(ctx, f.changes); err != nil {
		return v, err
	}
	if err := j.find(ctx, &f, claim, base); err != nil {
		return v, err
	}
	f.receipts = append(append(base.made, claim.made...), f.madeWithout...)
	own, err := j.measurable(ctx, f.changes)
	if err != nil {
		return v, err
	}
	if f.unmeasured, err = j.unmeasured(ctx, own, f.coverage); err != nil {
		return v, err
	}
	return judge(f), nil
}

// find runs what must be run, in order, and gathers the facts.
func (j *job) find(ctx context.Context, f *facts, claim, base *bench) error {
	for _, kind := range gates {
		g, err := j.gate(ctx, kind, f.changes, claim, base)
		if err != nil {
			return err
		}
		if g.ran {
			f.gates = append(f.gates, g)
		}
		if g.failed() && stopsAt(kind) {
			return nil
		}
	}
	if err := j.tests(ctx, f, claim, base); err != nil {
		return err
	}
	if err := j.criteria(ctx, f, claim, base); err != nil {
		return err
	}
	if !j.task.isClaim() {
		return nil
	}
	var err error
	if f.coverage, err = j.coverage(ctx); err != nil {
		return err
	}
	if err = errors.Join(j.weigh(ctx, f, claim), j.provedBefore(ctx, f)); err != nil {
		return err
	}
	quiet, err := j.silenced(ctx, f)
	if err != nil {
		return err
	}
	if f.weaker, err = j.weaker(ctx, f, quiet); err != nil {
		return err
	}
	if f.aside, err = j.aside(ctx, f.changes, claim); err != nil {
		return err
	}
	f.leftovers, err = j.leftovers(ctx, f.changes)
	return err
}

// gate runs one command before the tests; on the base only when it fails on the
// claim.
func (j *job) gate(ctx context.Context, kind agency.CheckKind, changes []git.Change, claim, base *bench) (gateFact, error) {
	cmd := j.task.Commands.Command(kind)
	if cmd.Line == "" {
		return gateFact{}, nil
	}
	g := gateFact{ran: true}
	var err error
	if g.claim, err = claim.run(ctx, cmd); err != nil || g.claim.OK() {
		return g, err
	}
	if g.base, err = base.run(ctx, cmd); err == nil {
		g.diff, err = j.complaints(ctx, g.claim, g.base, changes)
	}
	return g, err
}

// tests runs the test command on the claim, on the base where its results are
// needed to judge, and again what is newly red.
func (j *job) tests(ctx context.Context, f *facts, claim, base *bench) error {
	cmd := j.task.Commands.Command(agency.CheckTest)
	if cmd.Line == "" {
		return nil
	}
	if err := j.suite(ctx, f, cmd, claim); err != nil {
		return err
	}
	if err := j.gutted(ctx, f, cmd); err != nil {
		return err
	}
	if !f.needsBase() {
		return nil
	}
	b, err := base.run(ctx, f.scope.ofBase(cmd))
	if err != nil {
		return err
	}
	f.baseSuite = f.scope.cut(readSuite(b), f.claimSuite)
	if err := j.compare(ctx, f, cmd, claim, base); err != nil {
		return err
	}
	if f.scope.guessed() && len(f.tests.weakened) > 0 {
		return j.widen(ctx, f, cmd, claim, base)
	}
	if !f.doubtful(claim) {
		return nil
	}
	// What is found out in passing decides nothing: a suite that looks otherwise
	// under it counts as it is without.
	claim.renew()
	r, err := claim.fresh(ctx, f.scope.of(cmd))
	if err != nil {
		return err
	}
	f.claimSuite = readSuite(r)
	f.baseSuite = f.scope.cut(readSuite(b), f.claimSuite)
	return j.compare(ctx, f, cmd, claim, base)
}

// widen judges by the whole suite what looks weaker in a part of it: a test that
// another file brings along is missing there, and nobody took it away.
func (j *job) widen(ctx context.Context, f *facts, cmd check.Command, claim, base *bench) error {
	f.scope = scope{}
	r, err := claim.run(ctx, cmd)
	if err != nil {
		return err
	}
	b, err := base.run(ctx, cmd)
	if err != nil {
		return err
	}
	f.claimSuite, f.baseSuite = readSuite(r), readSuite(b)
	return j.compare(ctx, f, cmd, claim, base)
}

// compare holds both sides against each other and runs again what is newly red.
func (j *job) compare(ctx context.Context, f *facts, cmd check.Command, claim, base *bench) (err error) {
	if err := j.sides(ctx, f, cmd, base); err != nil {
		return err
	}
	if f.retried, err = j.retry(ctx, cmd, f, claim, base); err != nil || !f.unexplained() {
		return err
	}
	f.suiteDiff, err = j.complaints(ctx, f.claimSuite.receipt, f.baseSuite.receipt, f.changes)
	return err
}

// doubtful tells whether a suite that was measured in passing is red in a way
// that its tests, run alone and without, did not confirm.
func (f facts) doubtful(claim *bench) bool {
	r := f.claimSuite.receipt
	if len(claim.measure) == 0 || r.OK() {
		return false
	}
	return r.Cause != "" || !r.Parsed || r.Failed == 0 || len(f.tests.broken) > 0 || f.retried.doubtful()
}

// suite runs the tests of the claim: those that the change can affect where
// that is known and worth it, else all.
func (j *job) suite(ctx context.Context, f *facts, cmd check.Command, claim *bench) error {
	var err error
	if f.scope, err = j.affected(ctx, f.changes, cmd, claim); err != nil {
		return err
	}
	r, err := claim.run(ctx, f.scope.of(cmd))
	if err != nil {
		return err
	}
	f.claimSuite = readSuite(r)
	if !f.scope.partial || f.stands() {
		return nil
	}
	f.scope = scope{}
	r, err = claim.run(ctx, cmd)
	f.claimSuite = readSuite(r)
	return err
}

// judgesChange tells whether a contract of this type is there to change files.
func judgesChange(t agency.ContractType) bool {
	switch t {
	case agency.TypeReview, agency.TypeVerify, agency.TypeDesign:
		return false
	}
	return true
}
