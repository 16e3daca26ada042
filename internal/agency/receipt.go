package agency

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/text"
)

// CheckKind says what a receipt is of.
type CheckKind string

// The kinds of checks. KindTest and KindCommand and KindFile are also the
// kinds of evidence.
const (
	CheckSetup     CheckKind = "setup"
	CheckBuild     CheckKind = "build"
	CheckTypecheck CheckKind = "typecheck"
	CheckLint      CheckKind = "lint"
	CheckTest      CheckKind = "test"
	CheckCommand   CheckKind = "command"
	CheckFile      CheckKind = "file"
)

// CheckedBy says what checks work that no test does: those of the commands that
// are not there to test it or to set it up.
func CheckedBy(kinds ...CheckKind) string {
	var by []string
	for _, k := range []CheckKind{CheckBuild, CheckTypecheck, CheckLint} {
		if slices.Contains(kinds, k) {
			by = append(by, string(k))
		}
	}
	switch n := len(by); n {
	case 0:
		return "nothing checks the work"
	case 1:
		return by[0] + " alone checks the work"
	default:
		return strings.Join(by[:n-1], ", ") + " and " + by[n-1] + " alone check the work"
	}
}

// TestStatus is the outcome of one test.
type TestStatus string

// The outcomes.
const (
	TestPassed  TestStatus = "passed"
	TestFailed  TestStatus = "failed"
	TestSkipped TestStatus = "skipped"
)

// TestResult is one named test of a receipt. Name is unique in its suite:
// for Go the package's path, a dot and the test's name with its subtests.
type TestResult struct {
	Name   string     `json:"name"`
	Status TestStatus `json:"status"`
	Output string     `json:"output,omitempty"` // of a failed test, capped
}

// Receipt is the harness's own record of a check (docs/design.md, Verification), keyed by tree,
// command and environment: the same key need not run again.
type Receipt struct {
	ID         ReceiptID    `json:"id"`
	RunID      RunID        `json:"run_id"`
	ContractID ContractID   `json:"contract_id,omitempty"`
	Kind       CheckKind    `json:"kind"`
	Command    string       `json:"command"`
	ExitCode   int          `json:"exit_code"`
	Cause      string       `json:"cause,omitempty"`  // why it ended, where not by itself: timeout, memory, ...
	Unread     string       `json:"unread,omitempty"` // the report that could not be read, and why
	Duration   float64      `json:"duration_seconds"`
	CPU        float64      `json:"cpu_seconds,omitempty"` // what it took of the processors
	Passed     int          `json:"passed"`
	Failed     int          `json:"failed"`
	Skipped    int          `json:"skipped"`
	Parsed     bool         `json:"parsed"` // test names are known; else only the exit code counts: weak proof
	Tests      []TestResult `json:"tests,omitempty"`
	Output     string       `json:"output,omitempty"` // head and tail
	Tree       OID          `json:"tree"`
	Env        Hash         `json:"env"` // of toolchain, sandbox tier and limits
	At         time.Time    `json:"at"`
	// Stage says on what it ran: work, base, claim, landing or target.
	Stage string `json:"stage,omitempty"`
	// CopyOf is the receipt of an equal check that was taken over instead of
	// running it again.
	CopyOf ReceiptID `json:"copy_of,omitempty"`
}

// Why says in words why the command did not end by itself, or what of its results
// is missing; "" where nothing is.
func (r Receipt) Why() string {
	if r.Unread == "" {
		return r.Cause
	}
	return r.Cause + ": " + r.Unread
}

// OK tells whether the check passed.
func (r Receipt) OK() bool { return r.ExitCode == 0 && r.Cause == "" && r.Failed == 0 }

// ProofKind says how much a criterion's proof is worth (docs/design.md, Verification).
type ProofKind string

// The kinds of proof, strongest first.
const (
	ProofVerified ProofKind = "verified" // its check passed on the claim and did not pass on the base
	ProofReviewed ProofKind = "reviewed" // a critic's finding names it
	ProofAsserted ProofKind = "asserted" // only the agent says so
	ProofOpen     ProofKind = "open"     // nothing yet, or its check failed
)

// Proof is a criterion with what proves it.
type Proof struct {
	Criterion
	Proof   ProofKind `json:"proof"`
	Receipt ReceiptID `json:"receipt,omitempty"`
	Note    string    `json:"note,omitempty"` // which tests, who wrote them
	// Missed: its check was made on the claim and did not hold; what is open otherwise
	// nobody has looked at.
	Missed bool `json:"missed,omitempty"`
	// Undone: it held when its contract landed, and a later landing took it back.
	Undone bool     `json:"undone,omitempty"`
	Tests  []string `json:"tests,omitempty"` // newly passing tests that are the proof
	// Others are tests by which its check still fails as it did before, and which
	// other contracts may mend: the check is made again when all have landed.
	Others []string `json:"others,omitempty"`
	// Landed is where it was looked for again, when its contract landed.
	Landed *LandedProof `json:"landed,omitempty"`
}

// State says for readers how it stands with the criterion.
func (p Proof) State() string {
	if p.Missed {
		return "missed"
	}
	return string(p.Proof)
}

// LandedProof is the merged tree on which a criterion held, and the receipt of the
// tests that ran there.
type LandedProof struct {
	Tree    OID       `json:"tree"`
	Receipt ReceiptID `json:"receipt,omitempty"`
}

// ProveByLanding notes where the criteria of a contract that landed were looked for
// again: those that a landing looks for.
func ProveByLanding(proofs []Proof, at LandedProof) []Proof {
	out := slices.Clone(proofs)
	for i := range out {
		if k := out[i].Check; k != nil && k.onLanding() && out[i].Proof != ProofOpen {
			found := at
			if k.Test == "" {
				found.Receipt = ""
			}
			out[i].Landed = &found
		}
	}
	return out
}

// notLanded is said of what a claim held that has not landed: it is measured, and
// none of the run's branch yet.
const notLanded = "in the last claim, which was not integrated"

// Measured takes for proofs that nothing holds what the last claim was found to be, met
// or missed: only what no claim was looked at for stays as it is.
func Measured(proofs []Proof, last Verdict) []Proof {
	out := slices.Clone(proofs)
	for i := range out {
		at := slices.IndexFunc(last.Proofs, func(p Proof) bool { return p.ID == out[i].ID })
		if at < 0 || out[i].Proof != ProofOpen {
			continue
		}
		if out[i] = last.Proofs[at]; out[i].Proof != ProofOpen {
			out[i].Note = strings.TrimPrefix(out[i].Note+"; "+notLanded, "; ")
		}
	}
	return out
}

// Passing are the tests that a claim made pass, and those that its criteria name and
// that passed before as well.
func (v Verdict) Passing() []string {
	out := slices.Clone(v.NewlyPass)
	for _, p := range v.Proofs {
		if p.Check != nil && p.Check.Test != "" && p.Proof != ProofOpen {
			out = append(out, p.Tests...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Verdict is the result of verifying a claim.
type Verdict struct {
	ContractID  ContractID  `json:"contract_id"`
	Attempt     int         `json:"attempt"`
	Pass        bool        `json:"pass"`
	Reasons     []string    `json:"reasons,omitempty"` // why not, each a line for the agent
	Tree        OID         `json:"tree"`
	Base        OID         `json:"base"`
	Receipts    []ReceiptID `json:"receipts,omitempty"`
	Proofs      []Proof     `json:"criteria"`
	Regressions []string    `json:"regressions,omitempty"`
	Weakened    []Weakening `json:"weakened,omitempty"`
	Leftovers   []Leftover  `json:"leftovers,omitempty"` // new files that the contract does not name
	Unchecked   []string    `json:"unchecked,omitempty"` // folders that the change touches and no command of the run enters
	NewlyPass   []string    `json:"newly_passing,omitempty"`
	Flaky       []string    `json:"flaky,omitempty"`
	WeakProof   bool        `json:"weak_proof,omitempty"` // no test names, exit codes only
	Unchanged   bool        `json:"unchanged,omitempty"`  // its files are those that the work began from: nothing was looked at
	NoTests     bool        `json:"no_tests,omitempty"`   // no test command
	LintRed     bool        `json:"lint_red,omitempty"`   // lint fails by this change; held against the claim unless it need not pass
	TestsRed    bool        `json:"tests_red,omitempty"`  // tests, or criteria that they are to prove, likewise
	NoneRan     bool        `json:"none_ran,omitempty"`   // the test command gave no result of a test, passing or failing on both sides
	Partial     bool        `json:"partial,omitempty"`    // only the tests that the change can affect ran; the rest runs at the landing
	Coverage    *Coverage   `json:"coverage,omitempty"`   // of the changed lines, where the test command measures it
	// Unproved are the changed lines without which every test still passes; nil
	// where nobody tried.
	Unproved *Unproved `json:"unproved,omitempty"`
	// Expectations are the tests of the base that fail in their old form.
	Expectations []Expectation `json:"expectations,omitempty"`
	// Quality is the score of a claim that passed its checks; nil where there is none.
	Quality *Quality `json:"quality,omitempty"`
}

// Coverage is how many of the changed lines that can run did run in the tests.
type Coverage struct {
	Covered int `json:"covered"`
	Lines   int `json:"lines"`
	// Missed are changed lines that no test runs, as file:line or file:from-to.
	Missed []string `json:"missed,omitempty"`
}

// Unproved are the changed lines of the product that no failing test holds:
// taken back, they leave every test as green as it was.
type Unproved struct {
	Lines    int            `json:"lines"`   // without proof
	Changed  int            `json:"changed"` // that were tried
	Files    []UnprovedFile `json:"files,omitempty"`
	NotTried int            `json:"not_tried,omitempty"` // changed lines that nobody took back
}

// UnprovedFile is the part of Unproved that lies in one file.
type UnprovedFile struct {
	Path    string   `json:"path"`
	Lines   int      `json:"lines"`
	Changed int      `json:"changed"`
	Where   []string `json:"where,omitempty"` // file:from-to
}

// Expectation is a test of the base that a change edited and that fails on it in
// its old form: what it expected was changed with it.
type Expectation struct {
	Test   string     `json:"test"`
	Before TestStatus `json:"before"` // on the base
	Now    string     `json:"now"`    // of the old form on the change: failed or unbuilt
	Output string     `json:"output,omitempty"`
}

// Green are the kinds of checks that pass as they ran last.
func Green(all []Receipt) []CheckKind {
	green := map[CheckKind]bool{}
	for _, r := range all {
		green[r.Kind] = r.OK()
	}
	out := []CheckKind{}
	for _, k := range []CheckKind{CheckBuild, CheckTypecheck, CheckLint, CheckTest} {
		if green[k] {
			out = append(out, k)
		}
	}
	return out
}

// Line is the line that people read; "" where every line is proved and tried.
func (u *Unproved) Line() string {
	if u == nil || u.Lines == 0 && u.NotTried == 0 {
		return ""
	}
	files := make([]string, 0, len(u.Files))
	for _, f := range u.Files {
		files = append(files, fmt.Sprintf("%s %d of %d", f.Path, f.Lines, f.Changed))
	}
	if u.Lines == 0 {
		return Things(u.NotTried, "changed line was", "changed lines were") + " not tried"
	}
	them := "them"
	if u.Lines == 1 {
		them = "it"
	}
	s := fmt.Sprintf("%d of %s (no test fails without %s)", u.Lines, Things(u.Changed, "changed line", "changed lines"), them)
	if len(files) > 0 {
		s += ": " + text.Few(files, fewNames)
	}
	if u.NotTried > 0 {
		s += "; " + Things(u.NotTried, "more was", "more were") + " not tried"
	}
	return s
}

// Add sums what two contracts left unproved.
func (u *Unproved) Add(o *Unproved) *Unproved {
	if u == nil || o == nil {
		return cmp.Or(u, o)
	}
	sum := Unproved{Lines: u.Lines + o.Lines, Changed: u.Changed + o.Changed, NotTried: u.NotTried + o.NotTried}
	sum.Files = append(append(sum.Files, u.Files...), o.Files...)
	return &sum
}

// ExpectationsLine is the line that people read of edited expectations; "" where
// there are none.
func ExpectationsLine(all []Expectation) string {
	if len(all) == 0 {
		return ""
	}
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Test
	}
	return fmt.Sprintf("%s: %s", Things(len(all), "test fails in its old form", "tests fail in their old form"), strings.Join(names, ", "))
}

// AssertedLine is the line that people read of criteria that nothing but the
// agent's word proves; "" where there are none.
func AssertedLine(proofs []Proof) string {
	var names []string
	for _, p := range proofs {
		if p.Proof == ProofAsserted {
			names = append(names, fmt.Sprintf("%s (%s)", p.ID, text.OneLine(p.Text, 60)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return Things(len(names), "criterion is", "criteria are") + " only asserted: " + text.Few(names, fewNames)
}
