package agency

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// IssueSeverity says how much a finding of a review weighs.
type IssueSeverity string

// The severities, heaviest first.
const (
	IssueCritical IssueSeverity = "critical" // must be mended: wrong, unsafe, loses data, a criterion is not met
	IssueMajor    IssueSeverity = "major"    // should be mended: fails in cases that matter, untested, hard to keep
	IssueMinor    IssueSeverity = "minor"    // would be better
	IssueNitpick  IssueSeverity = "nitpick"  // taste
)

// IssueSeverities are all severities, heaviest first.
func IssueSeverities() []IssueSeverity {
	return []IssueSeverity{IssueCritical, IssueMajor, IssueMinor, IssueNitpick}
}

// Blocks tells whether an issue of this severity stands against an approval.
func (s IssueSeverity) Blocks() bool { return s == IssueCritical || s == IssueMajor }

// ReviewVerdict is what a review comes to.
type ReviewVerdict string

// The verdicts.
const (
	ReviewApprove    ReviewVerdict = "approve"
	ReviewChanges    ReviewVerdict = "request_changes"
	ReviewDiscussion ReviewVerdict = "needs_discussion"
)

// ParseReviewVerdict reads a verdict, by the names of either reference design
// (docs/design.md, Reviews).
func ParseReviewVerdict(s string) (ReviewVerdict, error) {
	switch s {
	case "approve", "PERFECT":
		return ReviewApprove, nil
	case "request_changes", "NEEDS_WORK", "MAJOR_ISSUES":
		return ReviewChanges, nil
	case "needs_discussion", "REJECT":
		return ReviewDiscussion, nil
	}
	return "", Errorf(KindInvalid, "verdict %q: want approve, request_changes or needs_discussion", s)
}

// Ruling is what a lead decides where producer and critic do not come together;
// empty: it leaves that to a person.
type Ruling string

// The rulings.
const (
	RulingLand     Ruling = "land"
	RulingRework   Ruling = "rework"   // it is changed as the lead says
	RulingReword   Ruling = "reword"   // the contract says another thing; its criteria stay
	RulingReassign Ruling = "reassign" // another role goes on with it
	RulingSplit    Ruling = "split"    // other contracts stand in for it
	RulingPerson   Ruling = "person"
)

// Rulings are all rulings.
func Rulings() []Ruling {
	return []Ruling{RulingLand, RulingRework, RulingReword, RulingReassign, RulingSplit, RulingPerson}
}

// Decided is a lead's ruling with what carrying it out needs.
type Decided struct {
	Ruling  Ruling `json:"decision,omitempty"`
	Role    RoleID `json:"assign_to,omitempty"`   // that a contract is reassigned to
	Wording string `json:"description,omitempty"` // of a contract that is reworded
}

// Issue is one finding of a review.
type Issue struct {
	Severity   IssueSeverity `json:"severity"`
	File       string        `json:"file,omitempty"`
	Line       int           `json:"line,omitempty"` // from 1; 0: the whole file
	LineEnd    int           `json:"line_end,omitempty"`
	Criterion  string        `json:"criterion,omitempty"` // the acceptance criterion that it is about
	Issue      string        `json:"issue"`
	Suggestion string        `json:"suggestion,omitempty"`
	CodeBefore string        `json:"code_before,omitempty"`
	CodeAfter  string        `json:"code_after,omitempty"`
	// Note is what the harness has to say about it.
	Note string `json:"note,omitempty"`
}

// Where is the issue's place as people read it.
func (i Issue) Where() string {
	switch {
	case i.File == "":
		return "in general"
	case i.Line == 0:
		return i.File
	case i.LineEnd > i.Line:
		return fmt.Sprintf("%s:%d-%d", i.File, i.Line, i.LineEnd)
	}
	return fmt.Sprintf("%s:%d", i.File, i.Line)
}

// CriterionFinding is what a critic found out about one acceptance criterion.
type CriterionFinding struct {
	Criterion string `json:"criterion"`
	Met       bool   `json:"met"`
	Finding   string `json:"finding"`
}

// Review is a critic's structured feedback on one claim, with what the harness
// made of it. Verdict is the one that counts.
type Review struct {
	ContractID ContractID    `json:"contract_id"`
	Role       RoleID        `json:"role,omitempty"` // of who gave it
	Session    SessionID     `json:"session_id"`
	Reviewer   AgentID       `json:"reviewer"`
	Attempt    int           `json:"attempt"`
	Iteration  int           `json:"iteration"` // from 1 in each attempt
	Verdict    ReviewVerdict `json:"verdict"`
	// Said is the critic's own verdict, Reason why the harness's differs.
	Said   ReviewVerdict `json:"said"`
	Reason string        `json:"reason,omitempty"`

	Summary    string             `json:"summary"`
	Issues     []Issue            `json:"issues"`
	Criteria   []CriterionFinding `json:"criteria,omitempty"`
	Strengths  []string           `json:"strengths,omitempty"`
	Conditions []string           `json:"approval_conditions,omitempty"`
	// Notes are issues that do not count: beyond what the contract asks, once its
	// criteria are frozen.
	Notes []Issue `json:"notes,omitempty"`

	Files       []string  `json:"files_reviewed,omitempty"`
	TestsPassed bool      `json:"tests_passed"`
	LintPassed  bool      `json:"lint_passed"`
	Score       float64   `json:"score"` // 100 for no issue
	Tree        OID       `json:"tree"`
	Base        OID       `json:"base"`
	At          time.Time `json:"at,omitzero"`
}

// Blocking are the issues that stand against an approval.
func (r Review) Blocking() []Issue {
	return slices.DeleteFunc(slices.Clone(r.Issues), func(i Issue) bool { return !i.Severity.Blocks() })
}

// Count is how many issues of a severity there are.
func (r Review) Count(s IssueSeverity) (n int) {
	for _, i := range r.Issues {
		if i.Severity == s {
			n++
		}
	}
	return n
}

// Line is the review in a few words.
func (r Review) Line() string {
	var counts []string
	for _, s := range IssueSeverities() {
		if n := r.Count(s); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	line := string(r.Verdict)
	if len(counts) > 0 {
		line += ", " + strings.Join(counts, ", ")
	}
	if r.Reason != "" {
		line += " (" + r.Reason + ")"
	}
	return line
}

// ReviewRules say what an approval is (docs/design.md, Reviews).
type ReviewRules struct {
	MaxIterations int           `json:"max_iterations"` // rounds of one attempt
	RequireLint   bool          `json:"require_lint"`
	RequireTests  bool          `json:"require_tests"`
	AllowMajor    bool          `json:"allow_major,omitempty"`
	Perfect       bool          `json:"perfect,omitempty"` // minor issues count too
	Timeout       time.Duration `json:"timeout"`           // nanoseconds at work of the whole loop
}

// counts tells whether an issue forbids an approval under the rules.
func (u ReviewRules) counts(s IssueSeverity) bool {
	switch s {
	case IssueCritical:
		return true
	case IssueMajor:
		return !u.AllowMajor
	case IssueMinor:
		return u.Perfect
	}
	return false
}

// ReviewFacts is what the harness itself knows of the reviewed claim.
type ReviewFacts struct {
	TestsPassed, LintPassed bool
	// Below are the thresholds that are not met, a line each.
	Below []string
	// Weakened are the checks that got weaker and that no person accepted.
	Weakened []Weakening
}

// JudgeReview decides what a review comes to: the harness, not the critic, says
// what an approval is. An approval that the rules or the critic's own findings
// forbid becomes a request for changes, with the reason; nothing else changes.
func JudgeReview(r Review, u ReviewRules, f ReviewFacts) Review {
	r.Verdict, r.Reason = r.Said, ""
	r.TestsPassed, r.LintPassed, r.Score = f.TestsPassed, f.LintPassed, score(r.Issues)
	if r.Said != ReviewApprove {
		return r
	}
	if why := against(r, u, f); why != "" {
		r.Verdict, r.Reason = ReviewChanges, "not an approval: "+why
	}
	return r
}

func against(r Review, u ReviewRules, f ReviewFacts) string {
	switch {
	case u.RequireTests && !f.TestsPassed:
		return "the tests do not pass"
	case u.RequireLint && !f.LintPassed:
		return "lint does not pass"
	case len(f.Below) > 0:
		return f.Below[0]
	case len(f.Weakened) > 0:
		return "a check got weaker: " + f.Weakened[0].String()
	}
	for _, s := range IssueSeverities() {
		if n := r.Count(s); n > 0 && u.counts(s) {
			return "it names " + Things(n, string(s)+" issue", string(s)+" issues")
		}
	}
	for _, c := range r.Criteria {
		if !c.Met {
			return fmt.Sprintf("it says that criterion %s is not met", c.Criterion)
		}
	}
	return ""
}

// score weighs issues as the quality score does (docs/design.md, Verification).
func score(issues []Issue) float64 {
	s := 100.0
	for _, i := range issues {
		switch i.Severity {
		case IssueCritical:
			s -= 40
		case IssueMajor:
			s -= 15
		case IssueMinor:
			s -= 5
		case IssueNitpick:
			s--
		}
	}
	return max(s, 0)
}

// Disagreement is why a producer and a critic do not come together.
type Disagreement string

// The disagreements. The empty one: nothing speaks against another round.
const (
	Oscillating Disagreement = "oscillating" // the same blocking issues as two reviews ago
	ScopeCreep  Disagreement = "scope_creep" // more issues with each review
	Subjective  Disagreement = "subjective"  // only minor issues and nitpicks, all checks green
	Unresolved  Disagreement = "unresolved"  // none of these, and no round is left
)

// Disagree classifies the reviews of one attempt, oldest first, of which none
// is an approval. Spent says that no round is left: before that only what more
// rounds cannot mend is one.
func Disagree(history []Review, u ReviewRules, spent bool) Disagreement {
	n := len(history)
	if n == 0 {
		return ""
	}
	last := history[n-1]
	if n >= 3 && len(last.Blocking()) > 0 && sameIssues(last.Blocking(), history[n-3].Blocking()) {
		return Oscillating
	}
	if rising(history) && (n >= 3 || spent && n >= 2) {
		return ScopeCreep
	}
	if (n >= 2 || spent) && subjective(history[max(0, n-2):], u) {
		return Subjective
	}
	if spent {
		return Unresolved
	}
	return ""
}

func rising(history []Review) bool {
	for i := 1; i < len(history); i++ {
		if len(history[i].Issues) <= len(history[i-1].Issues) {
			return false
		}
	}
	return true
}

func subjective(last []Review, u ReviewRules) bool {
	for _, r := range last {
		if u.RequireTests && !r.TestsPassed || u.RequireLint && !r.LintPassed {
			return false
		}
	}
	r := last[len(last)-1]
	if r.Verdict == ReviewDiscussion || slices.ContainsFunc(r.Criteria, func(c CriterionFinding) bool { return !c.Met }) {
		return false
	}
	return !slices.ContainsFunc(r.Issues, func(i Issue) bool { return i.Severity.Blocks() || u.counts(i.Severity) })
}

// sameIssues tells whether two sets of issues are about the same things.
func sameIssues(a, b []Issue) bool {
	within := func(a, b []Issue) bool {
		for _, i := range a {
			if !slices.ContainsFunc(b, i.Same) {
				return false
			}
		}
		return true
	}
	return within(a, b) && within(b, a)
}

// Same tells whether both issues are about the same thing: one file, one
// criterion, and the same words or most of them. Lines move, and no critic says
// a thing twice in the same way.
func (i Issue) Same(o Issue) bool {
	if i.File != o.File || i.Criterion != o.Criterion {
		return false
	}
	a, b := wordsOf(i.Issue), wordsOf(o.Issue)
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	shared := 0
	for w := range a {
		if b[w] {
			shared++
		}
	}
	return 2*shared >= len(a)+len(b)-shared
}

func wordsOf(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 2 {
			out[w] = true
		}
	}
	return out
}

// Freeze holds a review to what the contract asks and what the first review
// found: other issues become notes. Critical ones never do.
func Freeze(r, first Review) Review {
	var kept []Issue
	for _, i := range r.Issues {
		if i.Severity == IssueCritical || i.Criterion != "" || slices.ContainsFunc(first.Issues, i.Same) {
			kept = append(kept, i)
			continue
		}
		r.Notes = append(r.Notes, i)
	}
	r.Issues = kept
	return r
}

// BestReview is the place of the review of the best attempt so far: by verdict,
// then score; of equals the latest. -1 where there is none.
func BestReview(history []Review) int {
	best := -1
	for i, r := range history {
		if best < 0 || better(r, history[best]) >= 0 {
			best = i
		}
	}
	return best
}

func better(a, b Review) int {
	rank := func(v ReviewVerdict) int {
		switch v {
		case ReviewApprove:
			return 2
		case ReviewDiscussion:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a.Verdict), rank(b.Verdict)), cmp.Compare(a.Score, b.Score))
}

// ProveWithoutVerdict are the proofs of a contract's criteria of which nothing
// was verified, such as a plan's or a reviewer's: open until it is complete, and
// then its holder's word, unless its own review names them.
func ProveWithoutVerdict(c Contract, reviews []Review) []Proof {
	kind := ProofOpen
	if c.Status == StatusComplete {
		kind = ProofAsserted
	}
	out := make([]Proof, len(c.AcceptanceCriteria))
	for i, cr := range c.AcceptanceCriteria {
		out[i] = Proof{Criterion: cr, Proof: kind}
	}
	for _, r := range reviews {
		if r.ContractID == c.ID {
			out = ProveByReview(out, r)
		}
	}
	return out
}

// ProveByReview raises what only the agent said to reviewed where an approving
// review of the same files names the criterion: as met, or in an issue.
func ProveByReview(proofs []Proof, r Review) []Proof {
	out := slices.Clone(proofs)
	if r.Verdict != ReviewApprove {
		return out
	}
	for i, p := range out {
		if p.Proof != ProofAsserted {
			continue
		}
		if finding, ok := r.names(p.ID); ok {
			out[i].Proof, out[i].Note = ProofReviewed, strings.TrimSuffix("by "+string(r.Reviewer)+": "+finding, ": ")
		}
	}
	return out
}

func (r Review) names(id string) (finding string, ok bool) {
	for _, c := range r.Criteria {
		if c.Criterion == id && c.Met {
			return c.Finding, true
		}
	}
	for _, i := range r.Issues {
		if i.Criterion == id {
			return i.Issue, true
		}
	}
	return "", false
}
