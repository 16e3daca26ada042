// Package verify judges a claim by what the harness itself finds out: on a
// clean checkout of the claimed tree it runs the commands of the run's own copy
// of the configuration, compares with what the base did, and says for each
// criterion what proves it (docs/design.md, Verification).
//
// A claim fails when a check that the base passed fails now, when one that was
// red before complains of more, when a test is new and red, when a criterion's
// own check does not pass, when evidence that it names is false, when it changes
// nothing, and, once, when it made the checks weaker. What the base already got
// wrong does not fail it; it is named.
//
// One run of a suite is not yet a fact. What is newly red is run again before it
// is a regression, and what was red on the base before it proves a claim that
// passes it (flaky, testrun): only what whole suites gave both ways is flaky, and
// that proves nothing on either side. A name that differs from run to run is
// judged through what holds it (package suite).
//
// What a passing test proves is found out by two axes (worth): whose tests, on
// whose product. The base's test matter on the claim's product shows what the
// change really mended; the claim's on the base's product, and on the claim with
// the changed functions taken out (cutting), whether a test of the run needs the
// change.
//
// What belongs to tests is told by its path, or by those that use it on the
// base (usage). A command that the plan set is worth what it reads (criteria); a
// new file by which another is not loaded any more (shadowing) and a comment by
// which a check keeps quiet (silenced) prove nothing and are named.
//
// Results come from a process that the claim's code shares, so that code can know
// of its tests and decide them. What a change adds of that is named with its place
// and makes its criteria asserted (testAwareness, handedIn). Whether an option that only
// its own test sets, or a function that a test hands in, is the work that was
// asked for, no reader of the source can tell: that is a person's.
//
// A job is one verification: it reads the change (package changeset), runs commands
// on checkouts of both sides (package checkout), gathers facts, and judges them. The
// package changes nothing of the work, does not review code, and does not decide
// what happens after a verdict: that is contractrun's.
package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/code"
	"agency/internal/flow"
	"agency/internal/store"
	"agency/internal/verdicts"
	"agency/internal/workspace"
)

// The activities, bound to Verifier.Verify and Verifier.VerifyTree by Bind.
var (
	Activity     = flow.Activity[Spec, agency.Verdict]{Name: "verify"}
	TreeActivity = flow.Activity[Spec, agency.Verdict]{Name: "verify.tree"}
)

// Spec is one claim and what it is judged by. All of it is fixed when the claim
// is made, so that a repeated step judges the same.
type Spec struct {
	Run      agency.RunID        `json:"run"`
	Contract agency.ContractID   `json:"contract"`
	Type     agency.ContractType `json:"type,omitempty"`
	Attempt  int                 `json:"attempt"`
	Criteria []agency.Criterion  `json:"criteria"`
	// Base is what the work began from, Claim what is claimed: commits or trees
	// that the run's private git directory has.
	Base      agency.OID   `json:"base"`
	Claim     agency.OID   `json:"claim"`
	ClaimInfo agency.Claim `json:"claim_info,omitzero"`
	// Writes are the contract's declared writes; empty where it declares none.
	// A test that was there before and lies outside of them must not change.
	Writes []string `json:"writes,omitempty"`
	// Expected are the files that the contract expects to be made or changed.
	Expected []string `json:"expected,omitempty"`
	// About are the files that a contract of tests is about; empty where it names none.
	About []string `json:"about,omitempty"`
	// Commands are those of the run's own copy of the configuration.
	Commands check.Commands `json:"commands"`
	// WeakenedBefore has been fed back in earlier verdicts: what of it stays is
	// named and no longer fails the claim.
	WeakenedBefore []agency.Weakening `json:"weakened_before,omitempty"`
	// LeftBefore are the leftovers that have been fed back, likewise.
	LeftBefore []string `json:"left_before,omitempty"`
	// LowBefore tells that a low quality score has been fed back.
	LowBefore bool `json:"low_before,omitempty"`
	// Thresholds are the scores that the contract itself asks for.
	Thresholds map[agency.Dimension]float64 `json:"thresholds,omitempty"`
	// OthersOpen tells that other contracts of the run were open when this work began:
	// tests that were red on its base may be theirs to mend.
	OthersOpen bool `json:"beside,omitempty"`
	// After is the contract whose work this one goes on with, that a person rejected:
	// what it proved of the same criteria need not be proved again.
	After agency.ContractID `json:"after,omitempty"`
	// Anew runs everything on the claim, whatever is known of its tree.
	Anew bool `json:"anew,omitempty"`
}

// Options make a Verifier.
type Options struct {
	DB         *store.DB
	Workspaces *workspace.Manager
	// Checker gives the checker of a run: its toolchain is found when the run
	// starts.
	Checker func(ctx context.Context, run agency.RunID) (*check.Checker, error)
	// AffectedAbove is how long the whole suite must have taken before a claim
	// runs only the tests that its change can affect: below, telling them apart
	// costs more than it saves. Zero: a minute.
	AffectedAbove time.Duration
	// LinesFor is how long the search for changed lines that no test holds may take
	// whatever the suite takes. Zero: three seconds.
	LinesFor time.Duration
	// AnalyzersFor is how long the analyzers of the project and the machine may take
	// together, beside the tests. Zero: two minutes.
	AnalyzersFor time.Duration
	// Syntax reads sources for what a change can be taken out of. Needed.
	Syntax *code.Engine
	// Quality are the rules of a run's quality score, nil where there is none; nil: no run
	// has one.
	Quality func(ctx context.Context, run agency.RunID) (*agency.QualityRules, error)
	// AtWork books the time that the checks of a contract took; nil: nobody does.
	AtWork func(tx *store.Tx, run agency.RunID, contract agency.ContractID, took time.Duration) error
}

// Verifier verifies claims. It is safe for concurrent use.
type Verifier struct {
	o    Options
	kept verdicts.Store
	// baselines has a turn a base tree: two claims on one base run it once.
	baselines checkout.Turns
}

// New makes a Verifier; it does nothing yet.
func New(o Options) *Verifier {
	if o.AffectedAbove <= 0 {
		o.AffectedAbove = time.Minute
	}
	if o.LinesFor <= 0 {
		o.LinesFor = 3 * time.Second
	}
	if o.AnalyzersFor <= 0 {
		o.AnalyzersFor = maxTime
	}
	return &Verifier{o: o, kept: verdicts.Store{DB: o.DB, AtWork: o.AtWork}}
}

// Bind registers the activities.
func Bind(r *flow.Registry, v *Verifier) {
	flow.Bind(r, Activity, v.Verify)
	flow.Bind(r, TreeActivity, v.VerifyTree)
}

// Verify judges a claim and records the verdict. The error says that there is
// no verdict: the sandbox or the store refused, or the context ended. A claim
// that fails is a verdict. A step that is repeated with the same key returns the
// verdict that it gave.
func (v *Verifier) Verify(ctx context.Context, key agency.StepKey, spec Spec) (agency.Verdict, error) {
	if old, ok, err := v.kept.Of(ctx, spec.Run, key); err != nil || ok {
		return old, err
	}
	j, err := v.job(ctx, key, check.StageClaim, spec)
	if err != nil {
		return agency.Verdict{}, err
	}
	defer j.trees.Close()
	if j.task.refusal, err = j.refusal(ctx); err != nil {
		return agency.Verdict{}, err
	}
	verdict, err := j.work(ctx)
	if err != nil {
		return agency.Verdict{}, fmt.Errorf("verify %s: %w", spec.Contract, err)
	}
	return v.kept.Keep(ctx, spec.Run, key, verdict, j.checkouts.Took())
}

// VerifyTree judges the tree that a landing, or without a contract the final
// merge, would make: the whole suite on Claim, the merged tree, against what
// Base, the head that it goes on top of, did. Whether a claim changed anything
// or made the checks weaker was judged before, and evidence is not looked at. A
// merged tree that equals a claim which passed on the same base passes by that
// verdict; otherwise its receipts are reused as far as they fit. The verdict is
// not recorded: it belongs to the landing.
func (v *Verifier) VerifyTree(ctx context.Context, key agency.StepKey, spec Spec) (agency.Verdict, error) {
	stage := check.StageTarget
	if spec.Contract != "" {
		stage = check.StageLanding
	}
	spec.ClaimInfo.Evidence = nil
	// A landing is tried again, under the same key, when its branch has moved.
	key = agency.StepKey(fmt.Sprintf("%s %s %s", key, spec.Base, spec.Claim))
	j, err := v.job(ctx, key, stage, spec)
	if err != nil {
		return agency.Verdict{}, err
	}
	defer j.trees.Close()
	if old, ok, err := j.passed(ctx); !spec.Anew && (err != nil || ok) {
		return old, err
	}
	verdict, err := j.work(ctx)
	if err != nil {
		return agency.Verdict{}, fmt.Errorf("verify %s: %w", stage, err)
	}
	return verdict, v.kept.Book(ctx, spec.Run, spec.Contract, j.checkouts.Took())
}

// Ahead runs the tests of what work begins from before there is a claim, standing
// back where others want a processor: the verification finds their results, and
// caches that are warm. Of the spec the run, the contract, Base and Commands are
// looked at. Nothing is run of which the result could not be kept. built is called once
// all have something to begin with, or when it is over: it may be called twice.
func (v *Verifier) Ahead(ctx context.Context, spec Spec, built func()) (err error) {
	defer built()
	cmd := spec.Commands.Command(agency.CheckTest)
	if cmd.Line == "" {
		return nil
	}
	spec.Claim = spec.Base
	j, err := v.job(ctx, agency.StepKey(fmt.Sprintf("ahead %s %s", spec.Contract, spec.Base)), check.StageBase, spec)
	if err != nil {
		return err
	}
	defer j.trees.Close()
	j.checkouts.Idle = true
	base := j.checkouts.New(check.StageBase, j.task.base)
	if !check.Keeps(ctx, j.checker, base.Subject(), cmd) {
		return nil
	}
	defer func() { err = errors.Join(err, base.Close(ctx)) }()
	first, err := base.Build(ctx, cmd)
	built()
	if lint := spec.Commands.Command(agency.CheckLint); err == nil && first && lint.Line != "" {
		_, err = base.Run(ctx, lint) // what it makes of what the work builds on is for all, too
	}
	if err == nil {
		_, err = base.Run(ctx, cmd)
	}
	return err
}

// job opens what a verification works with.
func (v *Verifier) job(ctx context.Context, key agency.StepKey, stage check.Stage, spec Spec) (*job, error) {
	run, err := v.o.Workspaces.Run(ctx, spec.Run)
	if err != nil {
		return nil, err
	}
	checker, err := v.o.Checker(ctx, spec.Run)
	if err != nil {
		return nil, err
	}
	t := task{Spec: spec, stage: stage}
	if t.base, err = run.Dir().Refs().ResolveTree(ctx, spec.Base); err != nil {
		return nil, fmt.Errorf("base of %s: %w", stage, err)
	}
	if t.claim, err = run.Dir().Refs().ResolveTree(ctx, spec.Claim); err != nil {
		return nil, fmt.Errorf("tree of %s: %w", stage, err)
	}
	j := &job{task: t, v: v, run: run, checker: checker, change: newChange(t, changeset.Open(run.Dir()), v.o.Syntax)}
	j.checkouts = &checkout.Maker{
		Run: run, Checker: checker, Turns: &v.baselines, Key: key, ID: spec.Run, Contract: spec.Contract,
		Fence: flow.ScopeOf(ctx).Fence, Commands: spec.Commands, Anew: spec.Anew,
	}
	return j, nil
}

// passed finds the verdict of a claim that is this very tree on this base, whose
// tests would load now what they loaded then. The two whole suites tell: what ran
// for proofs had settings of its own in the same world.
func (j *job) passed(ctx context.Context) (out agency.Verdict, ok bool, err error) {
	var tests []agency.Receipt
	err = j.v.o.DB.Read(ctx, func(s *store.Snapshot) error {
		all, err := verdicts.All(s, j.task.Run)
		for _, w := range all {
			held := len(j.task.Criteria) == 0 || w.ContractID == j.task.Contract
			if held && w.Pass && !w.Partial && w.Tree == j.task.claim && w.Base == j.task.base {
				out, ok = w, true
			}
		}
		for _, id := range out.Receipts {
			r, rerr := check.Receipt(s, id)
			whole := r.Stage == string(check.StageBase) || r.Stage == string(check.StageClaim)
			if rerr == nil && whole && r.Kind == agency.CheckTest {
				tests = append(tests, r)
			}
			err = errors.Join(err, rerr)
		}
		return err
	})
	cmd, s := j.task.Commands.Command(agency.CheckTest), j.checkouts.New(j.task.stage, j.task.claim).Subject()
	for _, r := range tests {
		ok = ok && j.checker.Stands(ctx, s, r, cmd)
	}
	return out, ok, err
}

// refusal looks whether the workspace of the claim holds what no tree can show: a
// repository inside of it, or something at its .git; and whether the user's git
// would take the claim over.
func (j *job) refusal(ctx context.Context) (string, error) {
	w, err := j.run.Open(ctx, string(j.task.Contract), workspace.Work)
	if err == nil {
		err = w.Check(ctx)
	} else if agency.KindOf(err) == agency.KindNotFound {
		err = nil
	}
	if err == nil {
		err = j.run.Sound(ctx, j.task.claim)
	}
	if f := (*workspace.Violation)(nil); errors.As(err, &f) {
		return f.Error(), nil
	}
	return "", err
}
