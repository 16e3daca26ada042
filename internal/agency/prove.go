package agency

import (
	"fmt"
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
	// Receipts names the receipt that shows a check on the claim; a test's is
	// under the zero Check.
	Receipts map[Check]ReceiptID
}

// Prove gives each criterion its proof (DESIGN 1.1, INTERFACES 7). A check
// proves when it passes on the claim and did not pass on the base; a test that
// the base does not have did not pass there. A criterion without a check takes
// the check that the evidence names; where none is named, the tests that newly
// pass are it; with neither it is asserted. A failing check leaves it open.
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
	var now, before bool
	if check.Test != "" {
		name := ""
		name, now = FindTest(c.Claim, check.Test)
		now = now && c.Claim[name] == TestPassed
		_, before = FindTest(c.Base, check.Test)
		if base, ok := FindTest(c.Base, check.Test); ok {
			before = c.Base[base] == TestPassed
		}
		p.Receipt = c.Receipts[Check{}]
		if name != "" {
			p.Tests = []string{name}
		}
	} else {
		now, before = c.ClaimRef[check], c.BaseRef[check]
		p.Receipt = c.Receipts[check]
	}
	switch {
	case !now && byAgent:
		// Evidence that does not hold is worth no more than the agent's word.
		p.Proof, p.Note = ProofAsserted, "the evidence named does not pass"
	case !now:
		p.Proof, p.Note = ProofOpen, "its check does not pass"
	case before:
		p.Proof, p.Note = ProofAsserted, "its check passed before the change too"
	default:
		p.Proof = ProofVerified
		if len(p.Tests) > 0 {
			p.Note = authors(p.Tests, c.Base)
		}
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

// FindTest looks a test up by its full name, or by the end of it after what
// parts names in its ecosystem, where that is unique: people write TestParse or
// test_parse, not the whole path.
func FindTest(tests map[string]TestStatus, name string) (string, bool) {
	if _, ok := tests[name]; ok {
		return name, true
	}
	var found []string
	for full := range tests {
		if rest, ok := strings.CutSuffix(full, name); ok && slices.ContainsFunc(nameEnds, func(end string) bool { return strings.HasSuffix(rest, end) }) {
			found = append(found, full)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
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
