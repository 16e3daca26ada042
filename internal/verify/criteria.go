package verify

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/text"
)

// maxChecks bounds the commands that a claim's evidence can have the harness
// run.
const maxChecks = 20

// criteria looks at the checks of the criteria, and at what the evidence names
// for those that have none: commands run on clean checkouts of both sides, files
// are looked up in the trees.
func (t *testRun) criteria(ctx context.Context) error {
	f := t.f
	f.refWorth = map[agency.Check]agency.RefWorth{}
	f.refs, f.theirs = map[agency.Check]agency.Receipt{}, map[agency.Check][]string{}
	planned := len(planChecks(t.task))
	left := t.cmd.Timeout // for all evidence together
	for i, c := range checksOf(t.task) {
		var err error
		switch {
		case c.File != "":
			t.file(ctx, c, i < planned)
		case c.Created != "" || c.Modified != "":
			t.promised(ctx, c)
		case c.Command != "" && i < planned:
			err = t.command(ctx, c)
		case c.Command != "":
			left, err = t.evidence(ctx, c, left)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// promisedFiles looks at the files of the plan's checks alone, where no command is run
// any more: whoever mends what stopped it is told at once what else is missing.
func (t *testRun) promisedFiles(ctx context.Context) {
	t.f.refWorth = map[agency.Check]agency.RefWorth{}
	for _, c := range planChecks(t.task) {
		switch {
		case c.File != "":
			t.file(ctx, c, true)
		case c.Created != "" || c.Modified != "":
			t.promised(ctx, c)
		}
	}
}

// planChecks are a task's checks that its plan has set: checksOf begins with them.
func planChecks(t task) []agency.Check {
	t.ClaimInfo.Evidence = nil
	return checksOf(t)
}

// evidence runs a command that the agent chose, on the claim alone: that it
// passes proves nothing, that it fails is worth knowing. All of them together
// take no longer than one check may.
func (t *testRun) evidence(ctx context.Context, c agency.Check, left time.Duration) (time.Duration, error) {
	if left <= 0 {
		return 0, nil
	}
	r, err := t.claim.RunClean(ctx, check.Command{Kind: agency.CheckCommand, Line: c.Command, Timeout: left})
	if err != nil {
		return 0, err
	}
	t.f.refs[c], t.f.refWorth[c] = r, agency.RefWorth{Passes: passes(r)}
	return left - checkout.Seconds(r.Duration), nil
}

// checksOf are the checks of criteria and evidence, each once, in order.
func checksOf(t task) []agency.Check {
	var out []agency.Check
	add := func(c agency.Check) {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	own := map[string]bool{}
	for _, cr := range t.Criteria {
		if cr.Check != nil {
			own[cr.ID] = true
			add(*cr.Check)
		}
	}
	limit := len(out) + maxChecks
	for _, e := range t.ClaimInfo.Evidence {
		known := slices.ContainsFunc(t.Criteria, func(c agency.Criterion) bool { return c.ID == e.Criterion })
		if !known || own[e.Criterion] || e.Ref == "" || len(out) >= limit {
			continue
		}
		switch e.Kind {
		case agency.CheckCommand:
			add(agency.Check{Command: e.Ref})
		case agency.CheckFile:
			add(agency.Check{File: e.Ref})
		case agency.CheckTest:
			add(agency.Check{Test: e.Ref})
		}
	}
	return out
}

// file looks whether a file or folder is in the trees. That it is there says
// nothing of what stands in it: where the run wrote it, only the agent does.
func (t *testRun) file(ctx context.Context, c agency.Check, planned bool) {
	w := agency.RefWorth{Passes: hasFile(t.trees.List(ctx, t.task.claim), c.File), Why: "it is there, and was before"}
	if planned && !hasFile(t.trees.List(ctx, t.task.base), c.File) {
		w.Why = c.File + " is there; the run wrote it"
	}
	t.f.refWorth[c] = w
}

// promised looks whether the work added or changed a file, as its plan said.
func (t *testRun) promised(ctx context.Context, c agency.Check) {
	name := path.Clean(cmp.Or(c.Created, c.Modified))
	if !t.task.isClaim() { // against what a claim changed it was held there
		there := slices.ContainsFunc(t.trees.List(ctx, t.task.claim), func(e git.Entry) bool { return e.Path == name })
		t.f.refWorth[c] = agency.RefWorth{Passes: there, Why: name + " is not there"}
		return
	}
	at := func(tree agency.OID) (git.Entry, bool) {
		for _, e := range t.trees.List(ctx, tree) {
			if e.Path == name {
				return e, true
			}
		}
		return git.Entry{}, false
	}
	was, before := at(t.task.base)
	now, there := at(t.task.claim)
	w := agency.RefWorth{}
	switch {
	case !there:
		w.Why = name + " is not there"
	case c.Created != "" && before:
		w.Why = name + " was there before"
	case c.Modified != "" && !before:
		w.Why = name + " was not there before"
	case c.Modified != "" && was == now:
		w.Why = name + " is as it was"
	case c.Created != "":
		w = agency.RefWorth{Passes: true, Proves: true, Why: "the run added " + name}
	default:
		w = agency.RefWorth{Passes: true, Proves: true, Why: "the run changed " + name}
	}
	t.f.refWorth[c] = w
}

// covered looks whether tests reach as much of the change as its plan asks for. Where
// they cannot be measured that is not known, unless nothing of it could be reached.
func (t *testRun) covered() {
	at := slices.IndexFunc(t.f.Criteria, func(cr agency.Criterion) bool { return cr.Check != nil && cr.Check.Coverage > 0 })
	if at < 0 {
		return
	}
	c, w, got, foreign := *t.f.Criteria[at].Check, agency.RefWorth{}, t.f.coverage, t.job.foreign(t.f.changes, t.f.reached)
	of := [2]string{"changed line that can run", "changed lines that can run"}
	if got != nil && got.Lines == 0 && t.task.Type == agency.TypeTest {
		if all := t.job.whole(t.f.reached); all != nil {
			got, of = all, [2]string{"line that can run", "lines that can run of what is tested"}
		}
	}
	reachable := got != nil && got.Lines > 0
	switch {
	case !reachable && len(foreign) == 0 && (got != nil || len(t.f.unmeasured) == 0):
		w.Passes, w.Why = true, "no line was changed that tests can reach"
	case !reachable:
		w.Why = "the tests do not measure " + text.Few(slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.f.unmeasured, foreign)))), maxLines)
	default:
		w.Passes = float64(got.Covered)*100 >= c.Coverage*float64(got.Lines)
		w.Proves, w.Why = w.Passes && len(foreign) == 0, fmt.Sprintf("tests reach %d of %s", got.Covered, agency.Things(got.Lines, of[0], of[1]))
		if len(foreign) > 0 {
			w.Why += "; they do not measure " + text.Few(foreign, maxLines)
		}
		if !w.Passes {
			w.Why += "; not run: " + text.Few(got.Missed, maxLines)
		}
	}
	t.f.refWorth[c] = w
}

func hasFile(entries []git.Entry, name string) bool {
	name = path.Clean(name)
	return slices.ContainsFunc(entries, func(e git.Entry) bool {
		return e.Path == name || strings.HasPrefix(e.Path, name+"/")
	})
}

// command runs a check that the plan set on the claim, and on the base when it
// passes there: only then the base decides what it proves.
func (t *testRun) command(ctx context.Context, c agency.Check) error {
	cmd := t.task.asCommand(c)
	r, err := t.claim.RunClean(ctx, cmd)
	if err != nil {
		return err
	}
	t.f.refs[c] = r
	w := agency.RefWorth{Passes: passes(r)}
	defer func() { t.f.refWorth[c] = w }()
	if !w.Passes && !t.task.OthersOpen {
		return nil
	}
	was, err := t.base.RunClean(ctx, cmd)
	if err != nil {
		return err
	}
	if w.Why = "its check passed before the change too"; !w.Passes {
		t.f.theirs[c] = stillRed(was, r)
	}
	w.Proves = w.Passes && !passes(was) // so far: what it reads is looked at later
	return nil
}

func (t task) asCommand(c agency.Check) check.Command {
	return check.Command{Kind: agency.CheckCommand, Line: c.Command, Timeout: t.Commands.Command(agency.CheckTest).Timeout}
}

// stillRed are the tests by which a command fails on the claim as it did on the
// base, where it fails by nothing else and some that failed there pass now. A
// command that runs all tests cannot pass while other contracts still mend what
// is theirs.
func stillRed(base, claim agency.Receipt) []string {
	if !base.Parsed || !claim.Parsed || base.Cause != "" || claim.Cause != "" {
		return nil
	}
	was, now := statuses(base), statuses(claim)
	var red []string
	for name, s := range now {
		if s != agency.TestFailed {
			continue
		}
		if was[name] != agency.TestFailed {
			return nil
		}
		red = append(red, name)
	}
	if len(red) != claim.Failed || len(agency.NewlyPassing(was, now)) == 0 {
		return nil
	}
	slices.Sort(red)
	return red
}

func statuses(r agency.Receipt) map[string]agency.TestStatus {
	out := make(map[string]agency.TestStatus, len(r.Tests))
	for _, t := range r.Tests {
		out[t.Name] = t.Status
	}
	return out
}

// passes tells whether a command proves something: `go test -run TestX` exits 0
// where there is no TestX.
func passes(r agency.Receipt) bool {
	return r.OK() && (!r.Parsed || r.Passed > 0)
}

// weighCommands looks at the commands that the plan set as checks, which failed
// before and pass now: each is worth what it reads.
func (t *testRun) weighCommands(ctx context.Context) error {
	f := t.f
	for _, cr := range f.Criteria {
		if cr.Check == nil || cr.Check.Command == "" {
			continue
		}
		w := f.refWorth[*cr.Check]
		if !w.Passes || !w.Proves {
			continue
		}
		var err error
		if w, err = t.weighCommand(ctx, *cr.Check, w); err != nil {
			return err
		}
		f.refWorth[*cr.Check] = w
	}
	return nil
}

func (t *testRun) weighCommand(ctx context.Context, c agency.Check, w agency.RefWorth) (agency.RefWorth, error) {
	f := t.f
	if gone := f.redAndGone(); len(gone) > 0 && f.refs[c].Parsed {
		w.Proves, w.Why = false, "what failed before the run is gone: "+text.Few(gone, maxLines)
		return w, nil
	}
	if tests, known := f.testsOf(c); known {
		return f.worthOfTests(tests, w), nil
	}
	if onlyReads(c.Command) {
		w.Proves, w.Why = false, "it reads text, which this run wrote: "+text.Few(named(c.Command, f.changes), maxLines)
		return w, nil
	}
	if own := t.usage.ownInputs(ctx, f.changes, c.Command); len(own) > 0 {
		w.Proves, w.Why = false, "it reads what this run edited: "+text.Few(own, maxLines)
		return w, nil
	}
	w.Why = "it failed before the run"
	if !f.sides.changesTests() {
		return w, nil
	}
	tree, err := t.splitter.oldTests(ctx, f.sides)
	if err != nil {
		return w, err
	}
	got, err := t.trial(ctx, t.task.asCommand(c), check.StageOldTests, tree, nil)
	if err != nil {
		return w, err
	}
	if !passes(got.Receipt) {
		w.Proves, w.Why = false, "it passes only with what this run edited of the tests: "+text.Few(pathsOf(slices.Concat(f.sides.tests, f.sides.inner)), maxLines)
	}
	return w, nil
}

// testsOf are the tests by which a test command passes now. Known is false where
// it names none, or others than the suite.
func (f facts) testsOf(c agency.Check) (tests []string, known bool) {
	r := f.refs[c]
	if !r.Parsed || !f.baseSuite.Ran {
		return nil, false
	}
	for _, t := range r.Tests {
		if _, ok := f.claimSuite.Tests[t.Name]; !ok {
			return nil, false
		}
		if t.Status == agency.TestPassed && f.baseSuite.Tests[t.Name] != agency.TestPassed {
			tests = append(tests, t.Name)
		}
	}
	return tests, len(tests) > 0
}

// worthOfTests is what a test command proves by the tests that pass now.
func (f facts) worthOfTests(tests []string, w agency.RefWorth) agency.RefWorth {
	p := agency.Prove([]agency.Criterion{{ID: "it"}}, nil, agency.Checks{Claim: f.claimSuite.Tests, Fresh: tests, Worth: f.worth})[0]
	w.Proves, w.Why, w.Tests = p.Proof == agency.ProofVerified, p.Note, p.Tests
	return w
}

// readers are programs that look at files as text, and say nothing of what a
// program does.
var readers = map[string]bool{
	"grep": true, "egrep": true, "fgrep": true, "rg": true, "ag": true, "test": true, "[": true, "[[": true, "cat": true, "head": true, "tail": true,
	"diff": true, "cmp": true, "wc": true, "ls": true, "find": true, "stat": true, "file": true, "sed": true, "awk": true, "jq": true, "yq": true, "echo": true,
	"printf": true, "true": true, ":": true, "cd": true, "sort": true, "uniq": true, "cut": true, "tr": true, "xargs": true, "sha256sum": true, "md5sum": true, "git": true,
}

// onlyReads tells whether a line consists of such programs.
func onlyReads(line string) bool {
	return callsOnly(line, syntax.LangBash, func(program string) bool { return readers[path.Base(program)] })
}

// callsOnly tells whether a line of shell consists of calls of such programs.
func callsOnly(line string, variant syntax.LangVariant, such func(program string) bool) bool {
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(line), "")
	if err != nil {
		return false
	}
	calls, others := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.TestClause:
			calls++
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				if calls++; !such(ecosystem.WordText(n.Args[0])) {
					others++
				}
			}
		}
		return true
	})
	return calls > 0 && others == 0
}

// named are the changed files whose name stands in a line; all of them where
// none does.
func named(line string, changes []git.Change) []string {
	out := slices.DeleteFunc(pathsOf(changes), func(p string) bool { return !strings.Contains(line, path.Base(p)) })
	if len(out) == 0 {
		return pathsOf(changes)
	}
	return out
}

func pathsOf(changes []git.Change) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.Path
	}
	return out
}
