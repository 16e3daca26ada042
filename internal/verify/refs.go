package verify

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// weighCommands looks at the commands that the plan set as checks, which failed
// before and pass now: each is worth what it reads.
func (j *job) weighCommands(ctx context.Context, f *facts) error {
	for _, cr := range f.Criteria {
		if cr.Check == nil || cr.Check.Command == "" {
			continue
		}
		w := f.refWorth[*cr.Check]
		if !w.Passes || !w.Proves {
			continue
		}
		var err error
		if w, err = j.weighCommand(ctx, f, *cr.Check, w); err != nil {
			return err
		}
		f.refWorth[*cr.Check] = w
	}
	return nil
}

func (j *job) weighCommand(ctx context.Context, f *facts, c agency.Check, w agency.RefWorth) (agency.RefWorth, error) {
	if gone := f.redAndGone(); len(gone) > 0 && f.refs[c].Parsed {
		w.Proves, w.Why = false, "what failed before the run is gone: "+few(gone)
		return w, nil
	}
	if tests, known := f.testsOf(c); known {
		return f.worthOfTests(tests, w), nil
	}
	if onlyReads(c.Command) {
		w.Proves, w.Why = false, "it reads text, which this run wrote: "+few(named(c.Command, f.changes))
		return w, nil
	}
	if own, err := j.ownInputs(ctx, f, c.Command); err != nil || len(own) > 0 {
		w.Proves, w.Why = false, "it reads what this run edited: "+few(own)
		return w, err
	}
	w.Why = "it failed before the run"
	if !f.sides.changesTests() {
		return w, nil
	}
	tree, err := j.oldTests(ctx, f.sides)
	if err != nil {
		return w, err
	}
	b := newBench(j, check.StageOldTests, tree)
	r, err := b.run(ctx, j.asCommand(c))
	f.madeWithout = append(f.madeWithout, b.made...)
	if err = errors.Join(err, b.close(ctx)); err != nil {
		return w, err
	}
	if !passes(r) {
		w.Proves, w.Why = false, "it passes only with what this run edited of the tests: "+few(pathsOf(slices.Concat(f.sides.tests, f.sides.inner)))
	}
	return w, nil
}

// redAndGone are the tests that failed on the base and are no more.
func (f facts) redAndGone() (out []string) {
	for t, s := range f.baseSuite.tests {
		if _, there := f.claimSuite.tests[t]; s == agency.TestFailed && !there && !f.claimSuite.down(t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// testsOf are the tests by which a test command passes now. Known is false where
// it names none, or others than the suite.
func (f facts) testsOf(c agency.Check) (tests []string, known bool) {
	r := f.refs[c]
	if !r.Parsed || !f.baseSuite.ran {
		return nil, false
	}
	for _, t := range r.Tests {
		if _, ok := f.claimSuite.tests[t.Name]; !ok {
			return nil, false
		}
		if t.Status == agency.TestPassed && f.baseSuite.tests[t.Name] != agency.TestPassed {
			tests = append(tests, t.Name)
		}
	}
	return tests, len(tests) > 0
}

// worthOfTests is what a test command proves by the tests that pass now.
func (f facts) worthOfTests(tests []string, w agency.RefWorth) agency.RefWorth {
	p := agency.Prove([]agency.Criterion{{ID: "it"}}, nil, agency.Checks{Claim: f.claimSuite.tests, Fresh: tests, Worth: f.worth})[0]
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
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return false
	}
	calls, reading := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.TestClause:
			calls, reading = calls+1, reading+1
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				if calls++; readers[path.Base(check.Word(n.Args[0]))] {
					reading++
				}
			}
		}
		return true
	})
	return calls > 0 && calls == reading
}

// named are the changed files whose name stands in a line; all of them where
// none does.
func named(line string, changes []git.Change) (out []string) {
	for _, c := range changes {
		if strings.Contains(line, c.Path) || strings.Contains(line, path.Base(c.Path)) {
			out = append(out, c.Path)
		}
	}
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
