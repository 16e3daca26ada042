package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// facts is all that a verdict rests on. judge reads nothing else.
type facts struct {
	task
	changes     []git.Change // from base to claim
	gates       []gateFact
	scope       scope // of the claim's tests
	baseSuite   suite // not run where nothing of it is needed
	claimSuite  suite
	tests       comparison
	retried     retrial
	sources     []source // the changed files that are looked at
	unread      []agency.Weakening
	sides       sides
	fresh       []string                    // tests that pass and did not, or that the run rewrote
	worth       map[string]agency.TestWorth // of the tests that may be a proof
	edited      []agency.Expectation        // tests whose form before the run fails on the claim
	unproved    *agency.Unproved
	hollow      bool               // the test command passes whatever the files hold
	madeWithout []agency.ReceiptID // of the runs in between base and claim
	refWorth    map[agency.Check]agency.RefWorth
	refs        map[agency.Check]agency.Receipt
	theirs      map[agency.Check][]string // tests by which a check still fails, and which others may mend
	weaker      []agency.Weakening        // what the sources show
	rewritten   map[string]bool           // tests that say something else than before, by function
	removed     map[string]bool           // tests of changed files that are gone, by function
	baseMixed   map[string]bool           // tests that the base gave both ways
	moved       map[string]string         // tests of the base that stand elsewhere now, by their old name
	receipts    []agency.ReceiptID
	leftovers   []agency.Leftover
	coverage    *agency.Coverage   // of the changed lines, where it is known
	before      map[string]earlier // by criterion: what the contract before proved and still holds
	unmeasured  []string           // changed files that it says nothing of
	aside       []string           // folders of parts that are touched and not checked
	folding     *folding           // of tests whose names differ from run to run
	suiteDiff   diff               // of a test command that is red on both sides by no test of a name
}

// report gathers the lines of a verdict: reasons fail it, notes do not.
type report struct{ reasons, notes []string }

func (r *report) fail(format string, args ...any) {
	r.reasons = append(r.reasons, fmt.Sprintf(format, args...))
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// judge is pure: the verdict on the facts.
func judge(f facts) agency.Verdict {
	v := agency.Verdict{
		ContractID: f.Contract, Attempt: f.Attempt, Tree: f.claim, Base: f.base, Receipts: f.receipts,
		NoTests: f.Commands.Command(agency.CheckTest).Line == "",
	}
	var r report
	if f.refused() {
		f.judgeRefused(&r)
		v.Proofs = openProofs(f.Criteria, "not checked")
		v.Reasons = r.reasons
		return v
	}
	f.judgeGates(&r)
	if slices.ContainsFunc(f.gates, gateFact.stops) {
		v.Proofs = openProofs(f.Criteria, "not checked: the commands before the tests fail")
		v.Reasons = append(r.reasons, r.notes...)
		return v
	}
	f.judgeTests(&v, &r)
	f.judgeCriteria(&v, &r)
	f.judgeCoverage(&v, &r)
	f.judgeWeakened(&v, &r)
	f.judgeLeftovers(&v, &r)
	f.judgeAside(&v, &r)
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
		if p.Proof == agency.ProofVerified && (p.Check == nil || p.Check.File == "") {
			v.Proofs[i].Proof = agency.ProofAsserted
			v.Proofs[i].Note = "its checks pass, but the change holds code that knows of its tests"
		}
	}
}

func (f facts) judgeRefused(r *report) {
	if f.fault != "" {
		r.fail("%s", f.fault)
		return
	}
	r.fail("the claim changes nothing: its files equal those that the work began from")
}

// outline is why a command failed, in a few words.
func outline(r agency.Receipt) string {
	var why []string
	if r.Cause != "" {
		why = append(why, r.Cause)
	}
	for line := range strings.Lines(r.Output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		why = append(why, shorten(line, 200))
		break
	}
	if len(why) == 0 {
		return fmt.Sprintf("exit code %d", r.ExitCode)
	}
	return strings.Join(why, ": ")
}

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + agency.Ellipsis
}

// maxLines is how many tests of one kind a verdict has lines for; its lists
// hold all of them.
const maxLines = 12

func (f facts) judgeTests(v *agency.Verdict, r *report) {
	if !f.claimSuite.ran {
		r.note("no test command is configured: nothing was tested")
		return
	}
	now, was := f.claimSuite.receipt, f.baseSuite.receipt
	v.WeakProof = !now.Parsed
	v.Flaky, v.Partial = f.retried.flaky, f.scope.partial
	if f.baseSuite.ran {
		v.NewlyPass = agency.NewlyPassing(f.baseSuite.tests, f.claimSuite.tests)
	}
	flaky := setOf(f.retried.flaky)
	solid := func(tests []string) []string {
		return slices.DeleteFunc(slices.Clone(tests), func(t string) bool { return flaky[t] })
	}
	v.Regressions = solid(f.tests.regressed)
	for i, name := range f.tests.broken {
		if i == maxLines {
			r.fail("tests: and %d more of these", len(f.tests.broken)-i)
			break
		}
		r.fail("tests: %s: %s", name, firstFailure(now, name))
	}
	broken := f.claimSuite.down
	lines(r.fail, "regression: %s passed before and fails now", slices.DeleteFunc(slices.Clone(v.Regressions), broken))
	lines(r.fail, "new test fails: %s", solid(f.tests.newRed))
	lines(r.note, "pre-existing: %s failed before and still fails", slices.DeleteFunc(slices.Clone(f.tests.stillRed), broken))
	lines(r.note, "flaky: %s gives mixed results", f.retried.flaky)
	lines(r.note, "%s gave both in two runs on the base: that it passes now proves nothing", slices.Sorted(maps.Keys(f.baseMixed)))
	if folded := f.folding.names(); len(folded) > 0 {
		r.note("names that differ from run to run are judged together, as %s", few(folded))
	}
	for _, n := range append(slices.Clone(f.retried.notes), f.scope.note...) {
		r.note("%s", n)
	}
	v.NoneRan = f.noneRan() || f.red()
	f.judgeSuite(r, now, was)
}

// judgeSuite looks at the command as a whole: stopped, cut, or red without a
// failed test.
func (f facts) judgeSuite(r *report, now, was agency.Receipt) {
	switch {
	case now.Cause != "" && now.Cause != was.Cause:
		r.fail("tests: `%s` did not come to its end: %s", now.Command, now.Cause)
	case now.Cause != "":
		r.note("pre-existing: `%s` does not come to its end on the base either: %s", now.Command, now.Cause)
	case now.OK() || f.explained():
	case was.OK():
		r.fail("tests: `%s` fails: %s", now.Command, outline(now))
	default:
		f.suiteDiff.judge(r, "tests", now)
	}
	switch {
	case f.hollow:
		r.note("`%s` passes as well where no file of the repository makes sense, and where there is none: it tests nothing", now.Command)
	case f.noneRan() && len(f.baseSuite.tests) == 0:
		r.note("`%s` passes and no test ran: nothing was tested", now.Command)
	}
}

// noneRan tells whether the test command passed without running a test.
func (f facts) noneRan() bool {
	if !f.claimSuite.ran || f.scope.partial || !f.claimSuite.receipt.OK() {
		return false
	}
	if !f.claimSuite.receipt.Parsed {
		return f.hollow || idle(f.claimSuite.receipt)
	}
	for _, s := range f.claimSuite.tests {
		if s != agency.TestSkipped {
			return false
		}
	}
	return true
}

// red tells whether the test command fails without the result of a single test:
// where it does so on the base too, that refuses no claim, and tests none.
func (f facts) red() bool {
	return f.claimSuite.ran && !f.claimSuite.receipt.OK() && len(f.claimSuite.tests) == 0 && len(f.claimSuite.broken) == 0
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
	for _, t := range r.Tests {
		if t.Name == name {
			return outline(agency.Receipt{ExitCode: r.ExitCode, Output: t.Output})
		}
	}
	return fmt.Sprintf("exit code %d", r.ExitCode)
}

func (f facts) judgeCriteria(v *agency.Verdict, r *report) {
	receipts := map[agency.Check]agency.ReceiptID{{}: f.claimSuite.receipt.ID}
	for c, receipt := range f.refs {
		receipts[c] = receipt.ID
	}
	v.Proofs = agency.Prove(f.Criteria, f.ClaimInfo.Evidence, agency.Checks{
		Claim: f.claimSuite.tests, Fresh: f.fresh, Worth: f.worth, Refs: f.refWorth, Theirs: f.theirs, Receipts: receipts,
		Nameless: f.claimSuite.ran && f.claimSuite.receipt.OK() && !f.claimSuite.receipt.Parsed && !f.noneRan(),
	})
	f.carry(v.Proofs)
	v.Expectations, v.Unproved = f.edited, f.unproved
	for _, p := range v.Proofs {
		if p.Proof == agency.ProofOpen && p.Check != nil {
			r.fail("criterion %s: %s does not pass%s", p.ID, describe(*p.Check), f.because(*p.Check))
		}
	}
	if f.isClaim() {
		f.judgeEvidence(r)
	}
}

// judgeEvidence fails a claim that names evidence which is there and says
// otherwise. Evidence that cannot be found only proves nothing.
func (f facts) judgeEvidence(r *report) {
	for _, cr := range f.Criteria {
		if cr.Check != nil {
			continue
		}
		for _, e := range f.ClaimInfo.Evidence {
			if e.Criterion != cr.ID || e.Ref == "" {
				continue
			}
			switch e.Kind {
			case agency.CheckTest:
				found, ok := agency.LookUp(f.claimSuite.tests, e.Ref)
				if ok && found.Status == agency.TestFailed && !f.byChance(found) {
					r.fail("criterion %s: the claim names the test %s as evidence, and it fails", cr.ID, found.Name)
				}
			case agency.CheckCommand:
				got, ok := f.refs[agency.Check{Command: e.Ref}]
				if ok && !got.OK() && got.ExitCode != 126 && got.ExitCode != 127 {
					r.fail("criterion %s: the claim names `%s` as evidence, and it fails: %s", cr.ID, e.Ref, outline(got))
				}
			}
		}
	}
}

// byChance tells whether all that failed of a test gave mixed results.
func (f facts) byChance(found agency.Found) bool {
	return !slices.ContainsFunc(found.Tests, func(name string) bool {
		_, flaky := slices.BinarySearch(f.retried.flaky, name)
		return f.claimSuite.tests[name] == agency.TestFailed && !flaky
	})
}

func describe(c agency.Check) string {
	switch {
	case c.Test != "":
		return "the test " + c.Test
	case c.Command != "":
		return "`" + c.Command + "`"
	default:
		return "the file " + c.File
	}
}

// because is what is known of why a check does not pass.
func (f facts) because(c agency.Check) string {
	switch {
	case c.Test != "":
		found, ok := agency.LookUp(f.claimSuite.tests, c.Test)
		if !ok {
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
	default:
		return ": it does not exist"
	}
	return ""
}

func openProofs(criteria []agency.Criterion, why string) []agency.Proof {
	out := make([]agency.Proof, 0, len(criteria))
	for _, c := range criteria {
		out = append(out, agency.Proof{Criterion: c, Proof: agency.ProofOpen, Note: why})
	}
	return out
}

// judgeWeakened names what got weaker. It fails the claim the first time only;
// then a person decides.
func (f facts) judgeWeakened(v *agency.Verdict, r *report) {
	if !f.isClaim() {
		return
	}
	for _, w := range slices.Concat(f.tests.weakened, f.weaker, f.onlyEdited()) {
		v.Weakened = append(v.Weakened, w)
		if !slices.ContainsFunc(f.WeakenedBefore, w.Same) {
			r.fail("weakened: %s", w)
		} else {
			r.note("weakened: %s: a person has to accept it", w)
		}
	}
}
