package verify

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/code"
	"agency/internal/git"
	"agency/internal/regexp"
	"agency/internal/secretscan"
	"agency/internal/suite"
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
		(&testRun{job: j, f: &f}).promisedFiles(ctx)
		return judge(f), j.trees.Err()
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
	if claim.Measure, err = j.measuredOfRun(ctx, f.changes); err != nil {
		return v, err
	}
	score, err := j.scoring(ctx, &f)
	if err != nil {
		return v, fmt.Errorf("quality: %w", err)
	}
	defer func() { err = errors.Join(err, score.stop()) }()
	if err := j.find(ctx, &f, claim, base); err != nil {
		return v, err
	}
	f.receipts = slices.Concat(base.Made(), claim.Made(), j.checkouts.Closed())
	v = judge(f)
	if err := score.score(ctx, &f, &v); err != nil {
		return v, fmt.Errorf("quality: %w", err)
	}
	return v, j.trees.Err()
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
			run.promisedFiles(ctx)
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
	if f.coverage, f.reached, err = j.coverage(ctx); err != nil {
		return err
	}
	if f.unmeasured, err = j.unmeasured(ctx, f.changes, f.coverage); err != nil {
		return err
	}
	run.covered()
	if err = errors.Join(run.weigh(ctx), run.carry(ctx)); err != nil {
		return err
	}
	quiet, err := run.silenced(ctx)
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

// maxGutted bounds the files of a tree that is gutted; of a larger one nothing is
// found out.
const maxGutted = 50_000

// nonsense is a text that no language and no format takes.
const nonsense = ")\"'<\x01}\n"

// gutted finds out whether a test command of which no result can be read tests
// anything: one that passes where no file of the repository makes sense, and
// where none is left, hides that its runner is not there, or has nothing to run.
// What it is made of stays: scripts that it names, recipes and manifests. Claims
// alone are asked about: by their verdicts a merge is shown.
func (t *testRun) gutted(ctx context.Context) error {
	r := t.f.claimSuite.Receipt
	if !t.task.isClaim() || !t.f.claimSuite.Ran || r.Parsed || !r.OK() || idle(r) {
		return nil
	}
	entries := t.trees.List(ctx, t.task.claim)
	if len(entries) > maxGutted {
		return nil
	}
	named := t.files.named(ctx)
	text := t.trees.Store(ctx, "nonsense", 0o100644, []byte(nonsense))
	var broken, gone []git.Entry
	for _, e := range entries {
		runs := e.Mode == 0o100755 || isUnread(e.Path) || languageOf(e.Path) != "" // a command can run it
		if !changeset.Regular(e.Mode) || named[e.Path] && runs || hasParts(e.Path) || isLock(e.Path) || isRunner(e.Path) || isRecipe(path.Base(e.Path)) || strings.HasPrefix(path.Base(e.Path), ".git") {
			continue
		}
		broken = append(broken, git.Entry{Path: e.Path, Mode: e.Mode, ID: text.ID})
		gone = append(gone, git.Entry{Path: e.Path})
	}
	if len(broken) == 0 {
		return nil
	}
	cmd := t.cmd
	cmd.Timeout = patience(cmd, r)
	for _, set := range [][]git.Entry{broken, gone} {
		tree, err := t.trees.With(ctx, t.task.claim, set)
		if err != nil {
			return err
		}
		if got, err := t.trial(ctx, cmd, check.StageGutted, tree, nil); err != nil || !passes(got.Receipt) {
			return err
		}
	}
	t.f.hollow = true
	return nil
}

// idle tells whether a command that passed ran nothing: there is nothing in it to
// run, or make found nothing to make, as where a folder has the target's name.
func idle(r agency.Receipt) bool {
	if doesNothing(r.Command) {
		return true
	}
	said := 0
	for line := range strings.Lines(r.Output) {
		switch line = strings.TrimSpace(line); {
		case nothingMade.MatchString(line):
			said++
		case line != "" && !enters.MatchString(line):
			return false
		}
	}
	return said > 0
}

// doesNothing tells whether a line of shell consists of commands that succeed
// whatever the repository holds.
func doesNothing(line string) bool {
	return callsOnly(line, syntax.LangPOSIX, func(program string) bool {
		return slices.Contains([]string{"true", ":", "echo", "printf", "exit"}, program)
	})
}

// What make says when it made nothing, and as it goes from folder to folder.
var (
	nothingMade = regexp.MustCompile("^\\S*make(?:\\[\\d+\\])?: (?:[`'].*' is up to date|Nothing to be done for [`'].*')\\.$")
	enters      = regexp.MustCompile(`^\S*make(?:\[\d+\])?: (?:Entering|Leaving) directory `)
)
