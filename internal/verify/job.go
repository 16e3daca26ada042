package verify

import (
	"context"
	"errors"
	"slices"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/code"
	"agency/internal/secretscan"
	"agency/internal/workspace"
)

// task is what is judged, and by what.
type task struct {
	Spec
	stage       check.Stage
	base, claim agency.OID // trees
	refusal     string     // for what the workspace or the claim holds
}

// isClaim tells a claim from a tree that is merged from claims.
func (t task) isClaim() bool { return t.stage == check.StageClaim }

// refused tells whether the claim fails before anything is run.
func (t task) refused() bool { return t.refusal != "" || t.unchanged() }

// unchanged tells of a claim that changes nothing, of a contract that is there to.
func (t task) unchanged() bool {
	return t.isClaim() && t.base == t.claim && !slices.Contains([]agency.ContractType{agency.TypeReview, agency.TypeVerify, agency.TypeDesign}, t.Type)
}

// job is one verification at work.
type job struct {
	task      task
	v         *Verifier
	run       *workspace.Run
	checker   *check.Checker
	checkouts *checkout.Maker
	change
}

// change is what is read of the change from base to claim.
type change struct {
	trees     *changeset.Trees
	files     *commandFiles
	usage     *usage
	shadowing *shadowing
	splitter  *splitter
}

func newChange(t task, trees *changeset.Trees, syntax *code.Engine) change {
	c := change{trees: trees}
	c.files = &commandFiles{trees: trees, base: t.base, claim: t.claim, commands: t.Commands}
	c.usage = &usage{trees: trees, files: c.files, syntax: syntax, base: t.base, claim: t.claim, matters: map[string]matter{}}
	c.shadowing = &shadowing{trees: trees, base: t.base, claim: t.claim, test: t.Commands.Test}
	c.splitter = &splitter{trees: trees, usage: c.usage, shadowing: c.shadowing, syntax: syntax, base: t.base}
	return c
}

// gates are the commands before the tests, in order. A new failure of the first
// two ends the verification: what follows would only repeat it.
var gates = []agency.CheckKind{agency.CheckSetup, agency.CheckBuild, agency.CheckTypecheck, agency.CheckLint}

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
		scan := secretscan.Scanner{Blobs: j.trees.Blobs(), Redact: j.v.o.DB.Redact}
		if f.refusal, err = scan.Fault(ctx, f.changes); err != nil || f.refusal != "" {
			return judge(f), err
		}
	}
	j.files.plan(ctx, planChecks(j.task))
	if err := j.readSources(ctx, &f); err != nil {
		return v, err
	}
	claim, base := j.checkouts.New(j.task.stage, j.task.claim), j.checkouts.New(check.StageBase, j.task.base)
	defer func() { err = errors.Join(err, claim.Close(ctx), base.Close(ctx)) }()
	lines := lineCoverage{job: j}
	if claim.Measure, err = lines.ofRun(ctx, f.changes); err != nil {
		return v, err
	}
	if err := j.find(ctx, &f, claim, base); err != nil {
		return v, err
	}
	f.receipts = slices.Concat(base.Made(), claim.Made(), j.checkouts.Closed())
	if f.unmeasured, err = lines.unmeasured(ctx, f.changes, f.coverage); err != nil {
		return v, err
	}
	return judge(f), j.trees.Err()
}

// find runs what must be run, in order, and gathers the facts.
func (j *job) find(ctx context.Context, f *facts, claim, base *checkout.Checkout) error {
	run := testRun{job: j, f: f, cmd: j.task.Commands.Command(agency.CheckTest), claim: claim, base: base}
	for _, kind := range gates {
		g, err := run.gate(ctx, kind)
		if err != nil {
			return err
		}
		if g.ran {
			f.gates = append(f.gates, g)
		}
		if g.stops() {
			return nil
		}
	}
	if err := run.tests(ctx); err != nil {
		return err
	}
	if err := run.criteria(ctx); err != nil {
		return err
	}
	if !j.task.isClaim() {
		return nil
	}
	var err error
	if f.coverage, err = (lineCoverage{job: j}).measured(ctx); err != nil {
		return err
	}
	if err = errors.Join(run.weigh(ctx), priorProofs{job: j, f: f}.carry(ctx)); err != nil {
		return err
	}
	quiet, err := silencing{job: j, f: f}.find(ctx)
	if err != nil {
		return err
	}
	if f.weaker, err = j.weaker(ctx, f, quiet); err != nil {
		return err
	}
	if f.aside, err = j.aside(ctx, f.changes, claim); err != nil {
		return err
	}
	f.leftovers = j.leftovers(ctx, f.changes)
	return nil
}
