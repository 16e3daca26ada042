package agency

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Checks is what the harness found out about a claim and its base, as Prove
// reads it.
type Checks struct {
	// Claim and Base are the tests by name; Base is nil where no test command
	// exists.
	Claim, Base map[string]TestStatus
	// ClaimRef and BaseRef tell whether a command or file check passes there.
	ClaimRef, BaseRef map[Check]bool
	// Theirs are, by check, the tests by which its command still fails: all of
	// them red before, while other contracts were open that may mend them.
	Theirs map[Check][]string
	// Without are the claim's tests on the base's code: what of a test that both
	// sides pass under one name needs the change. nil where that was not run.
	Without map[string]TestStatus
	// Nameless: the claim's test command passes, and its output names no test.
	Nameless bool
	// Receipts names the receipt that shows a check on the claim; a test's is
	// under the zero Check.
	Receipts map[Check]ReceiptID
}

// Prove gives each criterion its proof (DESIGN 1.1, INTERFACES 7). A check
// proves when it passes on the claim and did not pass on the base; a test that
// the base does not have did not pass there, and one that was changed did not
// where its new form fails on the base's code. A criterion without a check takes
// the check that the evidence names; where none is named, the tests that newly
// pass are it; with neither it is asserted. A failing check leaves it open; a
// test that cannot be known by name is no failing one.
func Prove(criteria []Criterion, evidence []Evidence, c Checks) []Proof {
	newly := NewlyPassing(c.Base, c.Claim)
	out := make([]Proof, 0, len(criteria))
	for _, cr := range criteria {
		p := Proof{Criterion: cr, Proof: ProofAsserted}
		check, named := checkOf(cr, evidence)
		switch {
		case named:
			p.Check = &check
			c.judge(&p, check, cr.Check == nil)
		case len(newly) > 0:
			p.Proof, p.Tests, p.Receipt = ProofVerified, newly, c.Receipts[Check{}]
			p.Note = "by tests that newly pass; " + authors(newly, c.Base)
		}
		out = append(out, p)
	}
	return out
}

// checkOf is the criterion's own check, else the one that the evidence names.
func checkOf(cr Criterion, evidence []Evidence) (Check, bool) {
	if cr.Check != nil {
		return *cr.Check, true
	}
	for _, e := range evidence {
		if e.Criterion != cr.ID || e.Ref == "" {
			continue
		}
		switch e.Kind {
		case CheckTest:
			return Check{Test: e.Ref}, true
		case CheckCommand:
			return Check{Command: e.Ref}, true
		case CheckFile:
			return Check{File: e.Ref}, true
		}
	}
	return Check{}, false
}

func (c Checks) judge(p *Proof, check Check, byAgent bool) {
	if check.Test != "" {
		c.judgeTest(p, check.Test, byAgent)
		return
	}
	p.Receipt = c.Receipts[check]
	if red := c.Theirs[check]; len(red) > 0 {
		p.Proof, p.Note, p.Others = ProofAsserted, "its check still failed by what was red before ("+few(red)+"); made again when all had landed", red
		return
	}
	p.Proof, p.Note = worth(c.ClaimRef[check], c.BaseRef[check], byAgent)
}

// few names the first of many.
func few(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func (c Checks) judgeTest(p *Proof, name string, byAgent bool) {
	p.Receipt = c.Receipts[Check{}]
	claim, there := LookUp(c.Claim, name)
	if !there && c.Nameless {
		p.Proof, p.Note = ProofAsserted, "the test command passes, but names no tests"
		return
	}
	if !there && byAgent {
		p.Proof, p.Note = ProofAsserted, "the test that the evidence names was not run"
		return
	}
	if there {
		p.Tests = []string{claim.Name}
	}
	base, known := LookUp(c.Base, name)
	p.Proof, p.Note = worth(there && claim.Status == TestPassed, known && base.Status == TestPassed, byAgent)
	if p.Proof == ProofVerified {
		p.Note = authors(claim.Tests, c.Base)
	}
	if p.Proof != ProofAsserted || claim.Status != TestPassed {
		return
	}
	// It passed under this name before: what of it is new?
	if without, ok := LookUp(c.Without, name); ok {
		if without.Status == TestFailed {
			p.Proof, p.Note = ProofVerified, "changed in this run, fails without the change"
		}
		return
	}
	members := casesOf(c.Claim, claim.Name)
	for _, t := range claim.Tests {
		members[t] = c.Claim[t]
	}
	if fresh := NewlyPassing(c.Base, members); len(fresh) > 0 {
		p.Proof, p.Note, p.Tests = ProofVerified, "by its cases that newly pass; "+authors(fresh, c.Base), fresh
	}
}

// worth is what a check proves by its results on both sides.
func worth(now, before, byAgent bool) (ProofKind, string) {
	switch {
	case !now && byAgent:
		// Evidence that does not hold is worth no more than the agent's word.
		return ProofAsserted, "the evidence named does not pass"
	case !now:
		return ProofOpen, "its check does not pass"
	case before:
		return ProofAsserted, "its check passed before the change too"
	default:
		return ProofVerified, ""
	}
}

// authors says who wrote the tests that are a proof: a test of the agent's own
// is worth less than one that was there before.
func authors(tests []string, base map[string]TestStatus) string {
	written := 0
	for _, name := range tests {
		if _, ok := base[name]; !ok {
			written++
		}
	}
	switch written {
	case 0:
		return "there before the run, not passing"
	case len(tests):
		return "written in this run"
	default:
		return fmt.Sprintf("%d of %d written in this run", written, len(tests))
	}
}

// Found is what a name leads to among the results: a test, or a group of them
// that only stands in the names of its members, such as the title around
// JavaScript's tests, a test of Python with parameters, or a file.
type Found struct {
	Name   string   // in full
	Tests  []string // sorted
	Status TestStatus
}

// LookUp looks a test up by its full name, or by the end of it after what parts
// names in its ecosystem: people write TestParse or test_parse, not the whole
// path. A name may be that of a group, and what several tests or groups bear
// means all of them: they have passed when none failed and one passed. A test
// of just this name stands for itself where it ran. What no test bears may
// begin with the file of the test.
func LookUp(tests map[string]TestStatus, name string) (Found, bool) {
	if f, ok := lookUp(tests, name); ok {
		return f, true
	}
	return inFile(tests, name)
}

func lookUp(tests map[string]TestStatus, name string) (Found, bool) {
	if status, ok := tests[name]; ok && status != TestSkipped {
		return Found{Name: name, Tests: []string{name}, Status: status}, true
	}
	ends, groups := map[string]string{}, map[string]string{} // by test, what bears the name
	for full := range tests {
		if rest, ok := strings.CutSuffix(full, name); ok && endsPart(rest) {
			ends[full] = full
		} else if group, ok := groupIn(full, name); ok {
			groups[full] = group
		}
	}
	if !ranAny(tests, ends) { // a skipped test hides no other of its name
		maps.Copy(ends, groups)
	}
	f := Found{Status: TestSkipped}
	for full, bearer := range ends {
		if f.Tests = append(f.Tests, full); f.Name == "" {
			f.Name = bearer
		} else if f.Name != bearer {
			f.Name = name
		}
		if s := tests[full]; s == TestFailed || s == TestPassed && f.Status != TestFailed {
			f.Status = s
		}
	}
	if len(f.Tests) == 0 {
		return Found{}, false
	}
	slices.Sort(f.Tests)
	return f, true
}

func ranAny(tests map[string]TestStatus, of map[string]string) bool {
	for full := range of {
		if tests[full] != TestSkipped {
			return true
		}
	}
	return false
}

// endsPart tells whether a name may begin after this.
func endsPart(before string) bool {
	return before == "" || slices.ContainsFunc(nameEnds, func(end string) bool { return strings.HasSuffix(before, end) })
}

// casesOf are the tests below a name.
func casesOf(tests map[string]TestStatus, name string) map[string]TestStatus {
	out := map[string]TestStatus{}
	for full, status := range tests {
		if rest, ok := strings.CutPrefix(full, name); ok && beginsCase(rest) {
			out[full] = status
		}
	}
	return out
}

// groupIn is the full name of the group of this name that a test belongs to.
func groupIn(full, name string) (string, bool) {
	for from := 0; name != ""; {
		i := strings.Index(full[from:], name)
		if i < 0 {
			return "", false
		}
		start, end := from+i, from+i+len(name)
		if endsPart(full[:start]) && beginsCase(full[end:]) {
			return full[:end], true
		}
		from = start + 1
	}
	return "", false
}

func beginsCase(rest string) bool {
	if strings.HasPrefix(rest, ".") { // not what is behind the stem of a file's name
		return !strings.Contains(rest, " > ") && !strings.Contains(rest, "::")
	}
	return strings.HasPrefix(rest, "[") || slices.ContainsFunc(nameEnds, func(e string) bool { return strings.HasPrefix(rest, e) })
}

// nameEnds part the names of tests: packages and classes, folders and subtests,
// files of Python and modules of Rust, titles of JavaScript.
var nameEnds = []string{".", "/", "::", " > ", "#"}

// NewlyPassing are the tests that pass on the claim and did not on the base,
// sorted.
func NewlyPassing(base, claim map[string]TestStatus) []string {
	var out []string
	for name, s := range claim {
		if s == TestPassed && base[name] != TestPassed {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Regressions are the tests that passed on the base and fail on the claim,
// sorted. A test that is gone or skipped is a weakening, not a regression.
func Regressions(base, claim map[string]TestStatus) []string {
	var out []string
	for name, s := range base {
		if s == TestPassed && claim[name] == TestFailed {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// WeakenedTests are the tests of the base that the claim deleted or newly
// skips, sorted by name; all of them gone is one WeakZero.
func WeakenedTests(base, claim map[string]TestStatus) []Weakening {
	if len(base) > 0 && len(claim) == 0 {
		return []Weakening{{Kind: WeakZero, Name: "all"}}
	}
	var out []Weakening
	for name, s := range base {
		now, there := claim[name]
		switch {
		case s == TestSkipped:
		case !there:
			out = append(out, Weakening{Kind: WeakDeleted, Name: name})
		case now == TestSkipped:
			out = append(out, Weakening{Kind: WeakSkipped, Name: name})
		}
	}
	slices.SortFunc(out, func(a, b Weakening) int { return strings.Compare(a.Name, b.Name) })
	return out
}
