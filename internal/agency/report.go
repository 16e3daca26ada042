package agency

import (
	"cmp"
	"slices"
	"time"

	"agency/internal/text"
)

// Report is what a run came to. The harness measured it, from receipts,
// landings and their differences; only Manager is what an agent says.
type Report struct {
	RunID  RunID  `json:"run_id"`
	Number int    `json:"number,omitempty"`
	Goal   string `json:"goal"`
	Mode   Mode   `json:"mode"`
	Standing
	Branch string `json:"branch"`
	Target string `json:"target"`
	Merged OID    `json:"merged_commit,omitempty"`
	// Local are the user's own edits that land with the work; nil: there are none.
	Local *LocalEdits `json:"local_edits,omitempty"`

	Rollup     Rollup           `json:"rollup"`
	Contracts  []ReportContract `json:"contracts"` // of the work, in the order of the plan
	CostByRole []RoleCost       `json:"cost_by_role"`
	LeftOpen   LeftOpen         `json:"left_open"`
	Manager    *ManagerWords    `json:"manager,omitempty"`
	// Acts are what acts on others' machines of what the last merge gate showed.
	Acts []Act `json:"acts_elsewhere,omitempty"`
}

// Standing is where a run stands, why, what people said at its gates, and what a person may do
// about it.
type Standing struct {
	State   RunState `json:"state"`
	Reason  string   `json:"reason,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	Next    []Step   `json:"next,omitempty"`
	Words   []Word   `json:"said_at_gates,omitempty"`
}

// ReportLevel is a level of a tiered run on which something landed.
type ReportLevel struct {
	Level     LandingLevel `json:"level"`
	Name      string       `json:"name"` // for people; the branch of the last one
	Contracts []ContractID `json:"contracts"`
	Commit    OID          `json:"commit"` // of the last landing
	// Tree is that whose checks let the last landing go there, Checks what passed on it.
	Tree   OID         `json:"checked_tree"`
	Checks []CheckKind `json:"checks"`
	// Apart is set where the commit is not on the run's branch: not yet, or dropped.
	Apart bool `json:"apart,omitempty"`
}

// LocalEdits are the uncommitted edits that a person had a run start from: a
// commit of their own below the work.
type LocalEdits struct {
	Commit OID         `json:"commit"`
	Parent OID         `json:"parent"` // what was checked out
	Files  []LocalFile `json:"files"`
}

// LocalFile is one file of them.
type LocalFile struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
}

// Rollup is the counts of a run over all its contracts. A nil count
// was not measured.
type Rollup struct {
	// Levels are the branch of a tiered run and the lines below it, from below.
	Levels    []ReportLevel `json:"levels,omitempty"`
	FeatureID FeatureID     `json:"feature_id,omitempty"`
	// Success: something landed, nothing failed or is still to come, and what
	// critics read they approved of in the end.
	Success bool `json:"success"`

	Total      int `json:"total_contracts"`
	Complete   int `json:"completed_contracts"`
	Failed     int `json:"failed_contracts"`
	Blocked    int `json:"blocked_contracts"`
	Cancelled  int `json:"cancelled_contracts"`
	Unfinished int `json:"unfinished_contracts"` // still at work or waiting

	Files  *Files     `json:"files,omitempty"` // by what landed
	Before *TestCount `json:"tests_before,omitempty"`
	After  *TestCount `json:"tests_after,omitempty"`
	// TestsAdded pass now and were not there before; nil where names are not
	// known.
	TestsAdded *int      `json:"tests_added,omitempty"`
	LintPassed *bool     `json:"lint_passed,omitempty"`
	Coverage   *Coverage `json:"coverage,omitempty"` // of all lines that the run changed, by the tests of what landed last

	Attempts   int `json:"attempts"`
	Iterations int `json:"iterations"`
	Reviews    int `json:"reviews"`
	Approvals  int `json:"approvals"`
	// ReviewApproved tells whether the last review of each contract that landed
	// approves; nil where none was reviewed.
	ReviewApproved *bool `json:"review_approved,omitempty"`

	Errors []string `json:"errors"` // of contracts that failed for good

	Requests    int     `json:"requests"`
	Lost        int     `json:"lost,omitempty"` // of these, charged at their reservation
	Tokens      int64   `json:"tokens"`         // output plus uncached input
	CostUSD     float64 `json:"cost_usd"`
	Unpriced    bool    `json:"unpriced,omitempty"`
	WallSeconds float64 `json:"wall_seconds"` // with a session or check at work
}

// TestCount is the results of one run of the tests.
type TestCount struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Files are those that a change touches, sorted.
type Files struct {
	Created  []string `json:"created"`
	Modified []string `json:"modified"`
	Deleted  []string `json:"deleted"`
	// LeftOut counts those that are not named; nil: all are.
	LeftOut *FileCount `json:"left_out,omitempty"`
}

// FileCount is how many files a change touches.
type FileCount struct {
	Created  int `json:"created"`
	Modified int `json:"modified"`
	Deleted  int `json:"deleted"`
}

// Count counts the files, those that are left out, too.
func (f Files) Count() FileCount {
	n := FileCount{Created: len(f.Created), Modified: len(f.Modified), Deleted: len(f.Deleted)}
	if l := f.LeftOut; l != nil {
		n.Created, n.Modified, n.Deleted = n.Created+l.Created, n.Modified+l.Modified, n.Deleted+l.Deleted
	}
	return n
}

// Cut leaves names out where a list has more than most of them.
func (f Files) Cut(most int) Files {
	all := f.Count()
	if len(f.Created) <= most && len(f.Modified) <= most && len(f.Deleted) <= most {
		return f
	}
	first := func(names []string) []string { return slices.Clone(names[:min(len(names), most)]) }
	f.Created, f.Modified, f.Deleted = first(f.Created), first(f.Modified), first(f.Deleted)
	f.LeftOut = &FileCount{Created: all.Created - len(f.Created), Modified: all.Modified - len(f.Modified), Deleted: all.Deleted - len(f.Deleted)}
	return f
}

// ReportContract is one contract as a report shows it.
type ReportContract struct {
	ID         ContractID `json:"id"`
	Title      string     `json:"title"`
	Role       RoleID     `json:"role"`
	Status     Status     `json:"status"`
	Error      string     `json:"error,omitempty"`
	Attempts   int        `json:"attempts"`
	Iterations int        `json:"iterations,omitempty"`
	Tokens     int64      `json:"tokens"`
	CostUSD    float64    `json:"cost_usd"`
	Commits    []OID      `json:"commits"`        // its landings on the run's branch
	Said       string     `json:"said,omitempty"` // by its agent, for who reads the change
	Files      *Files     `json:"files,omitempty"`
	Criteria   []Proof    `json:"criteria"`
	Reviews    []Review   `json:"reviews,omitempty"` // in their order
	Coverage   *Coverage  `json:"coverage,omitempty"`
	// Unproved and Expectations are those of its verdict.
	Unproved     *Unproved     `json:"unproved,omitempty"`
	Expectations []Expectation `json:"expectations,omitempty"`
	// Red are the checks that did not pass when it was last checked.
	Red []Red `json:"red,omitempty"`
}

// RoleCost is what the agents of a role spent.
type RoleCost struct {
	Role     RoleID  `json:"role"`
	Requests int     `json:"requests"`
	Tokens   int64   `json:"tokens"`
	CostUSD  float64 `json:"cost_usd"`
	Unpriced bool    `json:"unpriced,omitempty"`
}

// ActsOf are what acts on others' machines of what a run's last merge gate
// showed. Before it has one they are not known.
func ActsOf(gates []Gate) (out []Act) {
	for _, g := range gates {
		if g.Kind != GateMerge {
			continue
		}
		out = nil
		for _, a := range g.Acts {
			a.Accepted = !a.Declared && g.Decision.Verb == Approve
			out = append(out, a)
		}
	}
	return out
}

// LeftOpen is what a run did not settle, or settled by somebody's word.
type LeftOpen struct {
	Contracts []OpenContract    `json:"contracts"` // that did not land
	Asserted  []OpenCriterion   `json:"asserted"`  // of contracts that landed
	Weakened  []OpenWeakening   `json:"weakened"`  // of contracts that landed
	Leftovers []OpenFile        `json:"leftovers"`
	Writes    []UndeclaredWrite `json:"undeclared_writes"`
	Flaky     []string          `json:"flaky"` // tests
	// Unchecked are folders that the change touches and no command enters.
	Unchecked []string `json:"unchecked"`
}

// Empty tells whether nothing is open.
func (o LeftOpen) Empty() bool {
	return len(o.Contracts)+len(o.Asserted)+len(o.Weakened)+len(o.Leftovers)+len(o.Writes)+len(o.Flaky)+len(o.Unchecked) == 0
}

// OpenContract is one that did not land, and why.
type OpenContract struct {
	ID     ContractID `json:"id"`
	Title  string     `json:"title"`
	Status Status     `json:"status"`
	Reason string     `json:"reason,omitempty"`
}

// OpenCriterion is one that nothing but an agent's word proves.
type OpenCriterion struct {
	Contract ContractID `json:"contract_id"`
	Proof
}

// OpenWeakening is a check that got weaker. Accepted tells whether a person
// accepted it by its name.
type OpenWeakening struct {
	Contract ContractID `json:"contract_id"`
	Weakening
	Accepted bool `json:"accepted"`
}

// OpenFile is a new file that the contract of its landing does not name.
type OpenFile struct {
	Contract ContractID `json:"contract_id"`
	Leftover
}

// UndeclaredWrite is the files that a contract changed beyond its write set.
type UndeclaredWrite struct {
	Contract ContractID `json:"contract_id"`
	Files    []string   `json:"files"`
	LeftOut  int        `json:"left_out,omitempty"` // further ones
}

// Count counts the files, those that are left out, too.
func (w UndeclaredWrite) Count() int { return len(w.Files) + w.LeftOut }

// MostNames bounds a list of files of a report that is shown.
const MostNames = 1000

// Shorten leaves names of files out of long lists, and counts them: whoever is
// shown a report has no use for ten thousand, and git knows them.
func (r *Report) Shorten() {
	if f := r.Rollup.Files; f != nil {
		short := f.Cut(MostNames)
		r.Rollup.Files = &short
	}
	for i := range r.Contracts {
		if f := r.Contracts[i].Files; f != nil {
			short := f.Cut(MostNames)
			r.Contracts[i].Files = &short
		}
	}
	for i := range r.LeftOpen.Writes {
		if w := &r.LeftOpen.Writes[i]; len(w.Files) > MostNames {
			w.LeftOut += len(w.Files) - MostNames
			w.Files = slices.Clone(w.Files[:MostNames])
		}
	}
}

// ManagerWords are the manager's own report, or why there is none. Nothing in
// it is checked.
type ManagerWords struct {
	Session SessionID `json:"session_id,omitempty"`
	Text    string    `json:"text,omitempty"`
	Missing string    `json:"missing,omitempty"` // why there is none
}

// Undeclared are the files of a change that a contract did not declare. One
// without declared writes may change any.
func Undeclared(c Contract, files, shared []string) (out []string) {
	declared := c.WriteSet()
	if len(declared) == 0 {
		return nil
	}
	for _, f := range files {
		if _, _, ok := Overlap(declared, []string{f}, nil); !ok && !isShared(f, shared) {
			out = append(out, f)
		}
	}
	return out
}

// Word is what a person said at a gate.
type Word struct {
	Gate     GateID     `json:"gate_id"`
	Kind     GateKind   `json:"kind"`
	Contract ContractID `json:"contract_id,omitempty"`
	Verb     Verb       `json:"verb"`
	By       string     `json:"by"`
	Note     string     `json:"note,omitempty"`
	At       time.Time  `json:"at"`
}

// Bounds of what is told of people's words: the last so many, and so much of each.
const (
	mostWords   = 50
	longestWord = 1000
)

// WordsOf are what people said at gates, oldest first: each reject, and all that they wrote.
func WordsOf(gates []Gate) (out []Word) {
	for _, g := range gates {
		d := g.Decision
		if g.Open() || d.By == ByYes || d.By == ByHarness || d.Verb == Approve && d.Note == "" {
			continue
		}
		out = append(out, Word{g.ID, g.Kind, g.ContractID, d.Verb, d.By, text.Head(d.Note, longestWord), d.At})
	}
	return out[max(0, len(out)-mostWords):]
}

// String is the word in one line.
func (w Word) String() string {
	did := map[Verb]string{Approve: "approved", Reject: "rejected"}[w.Verb] + " the " + string(w.Kind) + " gate"
	if w.Kind == GateQuestion {
		did = map[Verb]string{Approve: "answered the question", Reject: "did not answer the question"}[w.Verb]
	}
	s := cmp.Or(w.By, "a person") + " " + did
	if w.Contract != "" {
		s += " of " + string(w.Contract)
	}
	return s + ": " + cmp.Or(text.OneLine(w.Note, longestWord), "no reason given")
}
