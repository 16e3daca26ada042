package agency

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/text"
)

// Ground is why a test that passes on the claim may prove something
// (docs/design.md, Verification). The two axes behind it are test matter and product matter, of the base
// and of the claim.
type Ground string

// The grounds, strongest first.
const (
	// GroundStood: the base has the test, it was red there, and passes with the
	// base's test matter on the claim's product.
	GroundStood Ground = "stood"
	// GroundFails: written or edited in the run, and it fails on the base's
	// product by what it asserts.
	GroundFails Ground = "fails"
	// GroundCut: written or edited in the run; it cannot run on the base's product,
	// and fails when the bodies of the changed functions are taken out.
	GroundCut Ground = "cut"
)

// TestWorth is what one test may prove.
type TestWorth struct {
	Ground Ground // empty: it proves nothing
	Why    string // it proves nothing
	// Existed: the base has a test of this name.
	Existed bool
	// Edited: its form on the base passed there and fails on the claim. Only who
	// planned can say that this is wanted: by a check that names the test, or,
	// Declared, by declared writes that hold its file.
	Edited, Declared bool
}

// RefWorth is what a check by a command or a file came to.
type RefWorth struct {
	Passes bool // on the claim
	Proves bool // and only with the change's product
	Why    string
	Tests  []string // by which a test command proves
}

// Checks is what the harness found out about a claim, as Prove reads it.
type Checks struct {
	// Claim are the tests of the claim by name.
	Claim map[string]TestStatus
	// Fresh are the tests that pass and did not before, or that the run edited,
	// sorted.
	Fresh []string
	// Worth is what tests may prove: of all that a criterion or its evidence
	// names, and where they name none, of Fresh.
	Worth map[string]TestWorth
	// Refs are the checks by commands and files.
	Refs map[Check]RefWorth
	// Theirs are, by check, the tests by which its command still fails: all of
	// them red before, while other contracts were open that may mend them.
	Theirs map[Check][]string
	// Nameless: the claim's test command passes, and its output names no test.
	Nameless bool
	// Receipts names the receipt that shows a check on the claim; a test's is
	// under the zero Check.
	Receipts map[Check]ReceiptID
}

// Prove gives each criterion its proof (docs/design.md, Verification). Its check
// proves it when it passes on the claim and is shown to need the change. Of
// evidence, which the agent chooses, only a test does; a command or a file is no
// more than its word. What no test is named for is proved by the tests of the run
// only where the contract has no other criterion. A failing check leaves a
// criterion open, and so does one that names a test where no test has a name; evidence
// that does is only its word.
func Prove(criteria []Criterion, evidence []Evidence, c Checks) []Proof {
	out := make([]Proof, 0, len(criteria))
	only := written(criteria) == 1
	for _, cr := range criteria {
		p := Proof{Criterion: cr, Proof: ProofAsserted}
		if cr.Check != nil {
			c.judge(&p, *cr.Check)
		} else {
			c.judgeEvidence(&p, evidence, only && cr.From == "")
		}
		out = append(out, p)
	}
	return out
}

// judge looks at a check that the plan has set.
func (c Checks) judge(p *Proof, check Check) {
	if check.Test != "" {
		c.judgeTest(p, check.Test, true)
		return
	}
	p.Receipt = c.Receipts[check]
	if red := c.Theirs[check]; len(red) > 0 {
		p.Proof, p.Note, p.Others = ProofAsserted, "its check still failed by what was red before ("+text.Few(red, fewNames)+"); made again when all were integrated", red
		return
	}
	switch ref := c.Refs[check]; {
	case !ref.Passes:
		p.Proof, p.Missed, p.Note = ProofOpen, true, cmp.Or(ref.Why, "its check does not pass")
	case !ref.Proves:
		p.Note = ref.Why
	default:
		p.Proof, p.Note, p.Tests = ProofVerified, ref.Why, ref.Tests
	}
}

// judgeEvidence takes the best of what the agent names, and of the only
// criterion what the tests of the run show.
func (c Checks) judgeEvidence(p *Proof, evidence []Evidence, only bool) {
	named := false
	for _, e := range evidence {
		if e.Criterion != p.ID || e.Ref == "" || p.Proof == ProofVerified {
			continue
		}
		try := Proof{Criterion: p.Criterion, Proof: ProofAsserted}
		switch e.Kind {
		case CheckTest:
			try.Check = &Check{Test: e.Ref}
			c.judgeTest(&try, e.Ref, false)
		case CheckCommand, CheckFile:
			check := Check{Command: e.Ref}
			if e.Kind == CheckFile {
				check = Check{File: e.Ref}
			}
			try.Check, try.Receipt = &check, c.Receipts[check]
			try.Note = "the agent chose what shows it"
			if !c.Refs[check].Passes {
				try.Note = "the evidence named does not pass"
			}
		default:
			continue
		}
		if !named || try.Proof == ProofVerified {
			*p, named = try, true
		}
	}
	if p.Proof == ProofVerified || len(c.Fresh) == 0 {
		return
	}
	if proving := c.proving(c.Fresh, false); only && len(proving) > 0 {
		p.Check, p.Proof, p.Tests, p.Receipt = nil, ProofVerified, proving, c.Receipts[Check{}]
		p.Note = c.grounds(proving)
		return
	}
	switch {
	case named:
	case only:
		p.Note = c.why(c.Fresh, false)
	default:
		p.Note = "tests of this run pass, and none is named for it"
	}
}

// judgeTest looks at a test that the plan names, or else the agent.
func (c Checks) judgeTest(p *Proof, name string, planned bool) {
	p.Receipt = c.Receipts[Check{}]
	found, there := LookUp(c.Claim, name)
	switch {
	case !there && c.Nameless && planned:
		p.Proof, p.Missed, p.Note = ProofOpen, true, "its check cannot be seen: the test command names no tests"
	case !there && c.Nameless:
		p.Note = "the test command passes, but names no tests"
	case !there && planned:
		p.Proof, p.Missed, p.Note = ProofOpen, true, "its check does not pass"
	case !there:
		p.Note = "the test that the evidence names was not run"
	case found.Status != TestPassed && planned:
		p.Proof, p.Missed, p.Note, p.Tests = ProofOpen, true, "its check does not pass", []string{found.Name}
	case found.Status != TestPassed: // worth no more than the agent's word
		p.Note, p.Tests = "the evidence named does not pass", []string{found.Name}
	default:
		members := found.Members(c.Claim)
		p.Tests = []string{found.Name}
		if proving := c.proving(members, planned); len(proving) > 0 {
			p.Proof, p.Tests, p.Note = ProofVerified, proving, c.grounds(proving)
			return
		}
		p.Note = c.why(members, planned)
	}
}

// proving are those of the tests that prove something.
func (c Checks) proving(tests []string, planned bool) (out []string) {
	for _, t := range tests {
		if w := c.Worth[t]; w.Ground != "" && (!w.Edited || planned || w.Declared) {
			out = append(out, t)
		}
	}
	return out
}

// why is why none of the tests proves anything.
func (c Checks) why(tests []string, planned bool) string {
	why := "its check passed before the change too"
	for _, t := range tests {
		switch w := c.Worth[t]; {
		case w.Ground != "" && w.Edited && !planned && !w.Declared:
			return "its expectation was edited in this run, and what it held before fails now: only the agent says that this is wanted"
		case w.Why != "":
			why = w.Why
		}
	}
	return why
}

// grounds says why these tests count as proof.
func (c Checks) grounds(tests []string) string {
	if len(tests) == 1 {
		return c.ground(tests[0])
	}
	count := map[string]int{}
	for _, t := range tests {
		count[c.ground(t)]++
	}
	if len(count) == 1 {
		return c.ground(tests[0])
	}
	var parts []string
	for _, said := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[said], said))
	}
	return strings.Join(parts, "; ")
}

func (c Checks) ground(test string) string {
	w := c.Worth[test]
	by := "written in this run"
	if w.Existed {
		by = "edited in this run"
	}
	if w.Edited {
		by += ", its old form fails now"
	}
	switch w.Ground {
	case GroundStood:
		return "there before the run, not passing"
	case GroundFails:
		return by + ", fails without the change"
	case GroundCut:
		return by + ", fails when what was changed is taken out"
	}
	return ""
}

// fewNames is how many of a list are named in a sentence.
const fewNames = 5

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

// WeakenedTests are the tests of the base that the claim deleted or newly
// skips, sorted by name; all of them gone is one WeakZero that names some.
func WeakenedTests(base, claim map[string]TestStatus) []Weakening {
	if len(base) > 0 && len(claim) == 0 {
		names := slices.Sorted(maps.Keys(base))
		return []Weakening{{Kind: WeakZero, Name: "all", Detail: text.Few(names, fewNames)}}
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
