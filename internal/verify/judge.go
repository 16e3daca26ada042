package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/suite"
	"agency/internal/text"
)

// report gathers the lines of a verdict: reasons fail it, notes do not.
type report struct{ reasons, notes []string }

func (r *report) fail(format string, args ...any) {
	r.reasons = append(r.reasons, fmt.Sprintf(format, args...))
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// named tells whether a look finds what fails a claim. Where that need not pass it is
// named, and not held against the claim.
func (r *report) named(need bool, look func()) (red bool) {
	before := len(r.reasons)
	look()
	red = len(r.reasons) > before
	if red && !need {
		for _, reason := range r.reasons[before:] {
			r.note("need not pass: %s", reason)
		}
		r.reasons = r.reasons[:before]
	}
	return red
}

// judgement is a verdict as it is made.
type judgement struct {
	facts
	v *agency.Verdict
	r *report
}

// judge is pure: the verdict on the facts.
func judge(f facts) agency.Verdict {
	v := agency.Verdict{
		ContractID: f.Contract, Attempt: f.Attempt, Tree: f.claim, Base: f.base, Receipts: f.receipts,
		NoTests: f.Commands.Command(agency.CheckTest).Line == "",
	}
	var r report
	j := judgement{f, &v, &r}
	if f.refused() {
		r.fail("%s", cmp.Or(f.refusal, "the claim changes nothing: its files equal those that the work began from"))
		j.judgeFiles("not checked")
		v.Reasons, v.Unchanged = r.reasons, f.refusal == ""
		return v
	}
	j.judgeGates()
	if slices.ContainsFunc(f.gates, gateFact.stops) {
		j.judgeFiles("not checked: the commands before the tests fail")
		v.Pass = len(r.reasons) == 0
		v.Reasons = append(r.reasons, r.notes...)
		return v
	}
	v.TestsRed = r.named(!f.Commands.MayFail(agency.CheckTest), j.judgeTests)
	for _, look := range []func(){j.judgeCriteria, j.judgeCoverage, j.judgeWeakened, j.judgeLeftovers, j.judgeAside} {
		look()
	}
	distrust(&v)
	v.Pass = len(r.reasons) == 0
	v.Reasons = append(r.reasons, r.notes...)
	return v
}

// distrust takes the word of tests for no more than the agent's where the
// change can tell that it is tested or end its own test run: such results are
// its own to write.
func distrust(v *agency.Verdict) {
	if !slices.ContainsFunc(v.Weakened, func(w agency.Weakening) bool { return w.Kind == agency.WeakForging }) {
		return
	}
	for i, p := range v.Proofs {
		if p.Proof == agency.ProofVerified && (p.Check == nil || p.Check.File+p.Check.Created+p.Check.Modified == "") {
			v.Proofs[i].Proof = agency.ProofAsserted
			v.Proofs[i].Note = "its checks pass, but the change holds code that knows of its tests"
		}
	}
}

// outline is why a command failed, in a few words.
func outline(r agency.Receipt) string {
	var why []string
	if r.Cause != "" {
		why = append(why, r.Why())
	}
	for line := range strings.Lines(r.Output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		why = append(why, text.Head(line, 200))
		break
	}
	if len(why) == 0 {
		return fmt.Sprintf("exit code %d", r.ExitCode)
	}
	return strings.Join(why, ": ")
}

// maxLines is how many tests of one kind a verdict has lines for; its lists
// hold all of them.
const maxLines = 12

func (j judgement) judgeTests() {
	if !j.claimSuite.Ran {
		j.r.note("no test command is configured: nothing was tested")
		return
	}
	now, was := j.claimSuite.Receipt, j.baseSuite.Receipt
	j.v.WeakProof = !now.Parsed
	j.v.Flaky, j.v.Partial = j.retried.flaky, j.scope.partial
	if j.baseSuite.Ran {
		j.v.NewlyPass = agency.NewlyPassing(j.baseSuite.Tests, j.claimSuite.Tests)
	}
	solid := func(tests []string) []string {
		return slices.DeleteFunc(slices.Clone(tests), func(t string) bool {
			_, flaky := slices.BinarySearch(j.retried.flaky, t)
			return flaky
		})
	}
	j.v.Regressions = solid(j.tests.Regressed)
	for i, name := range j.tests.Broken {
		if i == maxLines {
			j.r.fail("tests: and %d more of these", len(j.tests.Broken)-i)
			break
		}
		j.r.fail("tests: %s: %s", name, firstFailure(now, name))
	}
	broken := j.claimSuite.Down
	lines(j.r.fail, "regression: %s passed before and fails now", slices.DeleteFunc(slices.Clone(j.v.Regressions), broken))
	lines(j.r.fail, "new test fails: %s", solid(j.tests.NewRed))
	lines(j.r.note, "pre-existing: %s failed before and still fails", slices.DeleteFunc(slices.Clone(j.tests.StillRed), broken))
	lines(j.r.note, "flaky: %s gives mixed results", j.retried.flaky)
	lines(j.r.note, "%s gave both in two runs on the base: that it passes now proves nothing", slices.Sorted(maps.Keys(j.baseMixed)))
	if folded := j.folding.Names(); len(folded) > 0 {
		j.r.note("names that differ from run to run are judged together, as %s", text.Few(folded, maxLines))
	}
	for _, n := range append(slices.Clone(j.retried.notes), j.scope.note...) {
		j.r.note("%s", n)
	}
	j.v.NoneRan = j.noneRan() || j.red()
	j.judgeSuite(now, was)
}

// judgeSuite looks at the command as a whole: stopped, cut, or red without a
// failed test.
func (j judgement) judgeSuite(now, was agency.Receipt) {
	switch {
	case now.Cause != "" && now.Why() != was.Why():
		j.r.fail("tests: `%s` did not come to its end: %s", now.Command, now.Why())
	case now.Cause != "":
		j.r.note("pre-existing: `%s` does not come to its end on the base either: %s", now.Command, now.Why())
	case now.OK() || j.explained():
	case was.OK():
		j.r.fail("tests: `%s` fails: %s", now.Command, outline(now))
	default:
		j.diff.judge(j.r, "tests", now)
	}
	switch {
	case j.hollow:
		j.r.note("`%s` passes as well where no file of the repository makes sense, and where there is none: it tests nothing", now.Command)
	case j.noneRan() && len(j.baseSuite.Tests) == 0:
		j.r.note("`%s` passes and no test ran: nothing was tested", now.Command)
	}
}

func lines(say func(string, ...any), format string, tests []string) {
	for i, t := range tests {
		if i == maxLines {
			say("and %d more of these", len(tests)-i)
			return
		}
		say(format, t)
	}
}

// firstFailure is the first line of what a failed test printed.
func firstFailure(r agency.Receipt, name string) string {
	return outline(agency.Receipt{ExitCode: r.ExitCode, Output: suite.Output(r, name)})
}

func (j judgement) judgeCriteria() {
	receipts := map[agency.Check]agency.ReceiptID{{}: j.claimSuite.Receipt.ID}
	for c, receipt := range j.refs {
		receipts[c] = receipt.ID
	}
	j.v.Proofs = agency.Prove(j.Criteria, j.ClaimInfo.Evidence, agency.Checks{
		Claim: j.claimSuite.Tests, Fresh: j.fresh, Worth: j.worth, Refs: j.refWorth, Theirs: j.theirs, Receipts: receipts,
		Nameless: j.nameless(),
	})
	j.carryProofs(j.v.Proofs)
	j.v.Expectations, j.v.Unproved = j.edited, j.unproved
	for _, p := range j.v.Proofs {
		if p.Proof == agency.ProofOpen && p.Check != nil {
			byTests := p.Check.Test != "" || p.Check.Coverage > 0
			j.v.TestsRed = j.r.named(!byTests || !j.Commands.TestsMayFail, func() {
				j.r.fail("criterion %s: %s%s", p.ID, describe(*p.Check), j.because(*p.Check))
			}) && byTests || j.v.TestsRed
		}
	}
	if j.isClaim() {
		j.judgeEvidence()
	}
}

// judgeEvidence fails a claim that names evidence which is there and says
// otherwise. Evidence that cannot be found only proves nothing.
func (j judgement) judgeEvidence() {
	for _, cr := range j.Criteria {
		if cr.Check != nil {
			continue
		}
		for _, e := range j.ClaimInfo.Evidence {
			if e.Criterion != cr.ID || e.Ref == "" {
				continue
			}
			switch e.Kind {
			case agency.CheckTest:
				found, ok := agency.LookUp(j.claimSuite.Tests, e.Ref)
				if ok && found.Status == agency.TestFailed && !j.byChance(found) {
					j.r.fail("criterion %s: the claim names the test %s as evidence, and it fails", cr.ID, found.Name)
				}
			case agency.CheckCommand:
				got, ok := j.refs[agency.Check{Command: e.Ref}]
				if ok && !got.OK() && got.ExitCode != 126 && got.ExitCode != 127 {
					j.r.fail("criterion %s: the claim names `%s` as evidence, and it fails: %s", cr.ID, e.Ref, outline(got))
				}
			}
		}
	}
}

func describe(c agency.Check) string {
	switch {
	case c.Test != "":
		return "the test " + c.Test + " does not pass"
	case c.Command != "":
		return "`" + c.Command + "` does not pass"
	case c.File != "":
		return "the file " + c.File + " does not pass"
	case c.Created != "":
		return c.Created + " was to be made"
	case c.Modified != "":
		return c.Modified + " was to be changed"
	default:
		return fmt.Sprintf("tests were to reach %g percent of the changed lines", c.Coverage)
	}
}

// nameless tells whether the claim's test command passes, and no test has a name.
func (f facts) nameless() bool {
	return f.claimSuite.Ran && f.claimSuite.Receipt.OK() && !f.claimSuite.Receipt.Parsed && !f.noneRan()
}

// because is what is known of why a check does not pass.
func (f facts) because(c agency.Check) string {
	switch {
	case c.Test != "":
		found, ok := agency.LookUp(f.claimSuite.Tests, c.Test)
		switch {
		case !ok && f.nameless():
			return fmt.Sprintf(": `%s` ends well and names no tests, so nobody can see it; a criterion may name a command", f.claimSuite.Receipt.Command)
		case !ok:
			return ": it was not run"
		}
		if found.Status == agency.TestFailed && f.byChance(found) {
			return ": its results are mixed"
		}
	case c.Command != "":
		if r, ok := f.refs[c]; ok && !r.OK() {
			return ": " + outline(r)
		} else if ok {
			return ": it runs no test"
		}
	case c.File != "":
		return ": it does not exist"
	default:
		return ": " + f.refWorth[c].Why
	}
	return ""
}

// judgeFiles judges the criteria of a claim on which no command was run: by the files
// that they name, where they do, and else not, for this reason.
func (j judgement) judgeFiles(why string) {
	for _, c := range j.Criteria {
		p := agency.Proof{Criterion: c, Proof: agency.ProofOpen, Note: why}
		if c.Check != nil {
			if _, looked := j.refWorth[*c.Check]; looked {
				p = agency.Prove([]agency.Criterion{c}, nil, agency.Checks{Refs: j.refWorth})[0]
			}
		}
		if j.v.Proofs = append(j.v.Proofs, p); p.Missed {
			j.r.fail("criterion %s: %s%s", p.ID, describe(*p.Check), j.because(*p.Check))
		}
	}
}

// judgeWeakened names what got weaker. It fails the claim the first time only;
// then a person decides.
func (j judgement) judgeWeakened() {
	if !j.isClaim() {
		return
	}
	for _, w := range slices.Concat(j.tests.Weakened, j.weaker, j.onlyEdited()) {
		j.v.Weakened = append(j.v.Weakened, w)
		// Who is to edit a file by name has nothing else to do at a second try.
		asked := w.Kind == agency.WeakControl && (slices.Contains(j.Writes, w.Name) || slices.Contains(j.Expected, w.Name))
		if !asked && !slices.ContainsFunc(j.WeakenedBefore, w.Same) {
			j.r.fail("weakened: %s", w)
		} else {
			j.r.note("weakened: %s: a person has to accept it", w)
		}
	}
}
