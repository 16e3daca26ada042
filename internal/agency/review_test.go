package agency

import (
	"fmt"
	"strings"
	"testing"
)

func issue(s IssueSeverity, file, text string) Issue {
	return Issue{Severity: s, File: file, Issue: text}
}

var (
	strict = ReviewRules{MaxIterations: 5, RequireLint: true, RequireTests: true}
	green  = ReviewFacts{TestsPassed: true, LintPassed: true}
)

func TestJudgeReview(t *testing.T) {
	critical, major := issue(IssueCritical, "a.go", "wraps around"), issue(IssueMajor, "a.go", "no test")
	minor, nit := issue(IssueMinor, "a.go", "unclear name"), issue(IssueNitpick, "a.go", "taste")
	for name, tt := range map[string]struct {
		said   ReviewVerdict
		issues []Issue
		rules  func(*ReviewRules)
		facts  func(*ReviewFacts)
		unmet  bool
		want   ReviewVerdict
		why    string
	}{
		"nothing":                        {said: ReviewApprove, want: ReviewApprove},
		"minor and nitpick":              {said: ReviewApprove, issues: []Issue{minor, nit}, want: ReviewApprove},
		"critical":                       {said: ReviewApprove, issues: []Issue{critical}, want: ReviewChanges, why: "1 critical issue"},
		"major":                          {said: ReviewApprove, issues: []Issue{nit, major, major}, want: ReviewChanges, why: "2 major issues"},
		"major is allowed":               {said: ReviewApprove, issues: []Issue{major}, rules: func(u *ReviewRules) { u.AllowMajor = true }, want: ReviewApprove},
		"critical where major is":        {said: ReviewApprove, issues: []Issue{critical}, rules: func(u *ReviewRules) { u.AllowMajor = true }, want: ReviewChanges, why: "critical"},
		"minor, to be perfect":           {said: ReviewApprove, issues: []Issue{minor}, rules: func(u *ReviewRules) { u.Perfect = true }, want: ReviewChanges, why: "1 minor issue"},
		"nitpick, to be perfect":         {said: ReviewApprove, issues: []Issue{nit}, rules: func(u *ReviewRules) { u.Perfect = true }, want: ReviewApprove},
		"red tests":                      {said: ReviewApprove, facts: func(f *ReviewFacts) { f.TestsPassed = false }, want: ReviewChanges, why: "the tests do not pass"},
		"red tests that need not":        {said: ReviewApprove, facts: func(f *ReviewFacts) { f.TestsPassed = false }, rules: func(u *ReviewRules) { u.RequireTests = false }, want: ReviewApprove},
		"red lint":                       {said: ReviewApprove, facts: func(f *ReviewFacts) { f.LintPassed = false }, want: ReviewChanges, why: "lint"},
		"red lint that need not":         {said: ReviewApprove, facts: func(f *ReviewFacts) { f.LintPassed = false }, rules: func(u *ReviewRules) { u.RequireLint = false }, want: ReviewApprove},
		"below a threshold":              {said: ReviewApprove, facts: func(f *ReviewFacts) { f.Below = []string{"coverage is 10, the least is 80"} }, want: ReviewChanges, why: "coverage is 10"},
		"weakened":                       {said: ReviewApprove, facts: func(f *ReviewFacts) { f.Weakened = []Weakening{{WeakDeleted, "p.TestOld", ""}} }, want: ReviewChanges, why: "test deleted: p.TestOld"},
		"contradicts itself":             {said: ReviewApprove, unmet: true, want: ReviewChanges, why: "criterion c1 is not met"},
		"asks for changes":               {said: ReviewChanges, issues: []Issue{nit}, want: ReviewChanges},
		"discussion":                     {said: ReviewDiscussion, issues: []Issue{critical}, want: ReviewDiscussion},
		"a discussion is no word on red": {said: ReviewDiscussion, facts: func(f *ReviewFacts) { f.TestsPassed = false }, want: ReviewDiscussion},
	} {
		u, f := strict, green
		if tt.rules != nil {
			tt.rules(&u)
		}
		if tt.facts != nil {
			tt.facts(&f)
		}
		r := Review{Said: tt.said, Issues: tt.issues}
		if tt.unmet {
			r.Criteria = []CriterionFinding{{Criterion: "c1"}}
		}
		got := JudgeReview(r, u, f)
		if got.Verdict != tt.want || got.Said != tt.said || !strings.Contains(got.Reason, tt.why) || (tt.why == "") != (got.Reason == "") {
			t.Errorf("%s: %s, %q", name, got.Verdict, got.Reason)
		}
	}
}

func TestParseReviewVerdict(t *testing.T) {
	for in, want := range map[string]ReviewVerdict{
		"approve": ReviewApprove, "request_changes": ReviewChanges, "needs_discussion": ReviewDiscussion,
		"PERFECT": ReviewApprove, "NEEDS_WORK": ReviewChanges, "MAJOR_ISSUES": ReviewChanges, "REJECT": ReviewDiscussion,
		"LGTM": "", "": "",
	} {
		got, err := ParseReviewVerdict(in)
		if got != want || (want == "") != (KindOf(err) == KindInvalid) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func asks(issues ...Issue) Review {
	return JudgeReview(Review{Said: ReviewChanges, Issues: issues}, strict, green)
}

func TestDisagree(t *testing.T) {
	a, b := issue(IssueMajor, "a.go", "the mutex is held while the callback runs"), issue(IssueMajor, "a.go", "the callback sees a stale value")
	moved := a
	moved.Line, moved.Issue = 90, "The mutex is still held while the callback runs"
	elsewhere := a
	elsewhere.File = "b.go"
	minor, nit := issue(IssueMinor, "a.go", "unclear name"), issue(IssueNitpick, "a.go", "taste")
	red := asks(minor)
	red.TestsPassed = false
	unmet := asks(nit)
	unmet.Criteria = []CriterionFinding{{Criterion: "c1"}}
	for name, tt := range map[string]struct {
		history []Review
		rules   ReviewRules
		spent   bool
		want    Disagreement
	}{
		"none":                             {nil, strict, true, ""},
		"one":                              {[]Review{asks(a)}, strict, false, ""},
		"one, no round left":               {[]Review{asks(a)}, strict, true, Unresolved},
		"two":                              {[]Review{asks(a), asks(b)}, strict, false, ""},
		"as two ago":                       {[]Review{asks(a), asks(b), asks(a)}, strict, false, Oscillating},
		"as two ago, in other words":       {[]Review{asks(a), asks(b), asks(moved)}, strict, false, Oscillating},
		"never mended":                     {[]Review{asks(a), asks(a), asks(a)}, strict, false, Oscillating},
		"as two ago, in another file":      {[]Review{asks(a), asks(b), asks(elsewhere)}, strict, false, ""},
		"half of two ago":                  {[]Review{asks(a, b), asks(b), asks(a)}, strict, false, ""},
		"oscillating goes first":           {[]Review{asks(a), asks(b, nit), asks(a, nit, minor)}, strict, false, Oscillating},
		"rising":                           {[]Review{asks(a), asks(b, nit), asks(b, nit, minor)}, strict, false, ScopeCreep},
		"rising twice, no round left":      {[]Review{asks(a), asks(b, nit)}, strict, true, ScopeCreep},
		"rising and falling":               {[]Review{asks(a), asks(b, nit), asks(b)}, strict, false, ""},
		"small things once":                {[]Review{asks(minor)}, strict, false, ""},
		"small things twice":               {[]Review{asks(a), asks(minor)}, strict, false, Subjective},
		"small things, no round left":      {[]Review{asks(minor)}, strict, true, Subjective},
		"small things on red":              {[]Review{asks(a), red}, strict, true, Unresolved},
		"small things after red":           {[]Review{red, asks(minor)}, strict, true, Unresolved},
		"nothing named, a criterion unmet": {[]Review{asks(a), unmet}, strict, true, Unresolved},
		"minor, to be perfect":             {[]Review{asks(a), asks(minor)}, ReviewRules{Perfect: true}, true, Unresolved},
		"nitpick, to be perfect":           {[]Review{asks(a), asks(nit)}, ReviewRules{Perfect: true}, true, Subjective},
		"major, allowed, is no taste":      {[]Review{asks(b), asks(a)}, ReviewRules{AllowMajor: true}, true, Unresolved},
	} {
		if got := Disagree(tt.history, tt.rules, tt.spent); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestFreeze(t *testing.T) {
	first := asks(issue(IssueMajor, "a.go", "no test for negative values"))
	about := issue(IssueMajor, "a.go", "percent above a hundred")
	about.Criterion = "percent"
	got := Freeze(asks(
		issue(IssueMajor, "a.go", "still no test for negative values"), issue(IssueMajor, "b.go", "could be generic"),
		issue(IssueCritical, "b.go", "the query is built from input"), about, issue(IssueMinor, "c.go", "add a changelog"),
	), first)
	var kept, notes []string
	for _, i := range got.Issues {
		kept = append(kept, i.Issue)
	}
	for _, i := range got.Notes {
		notes = append(notes, i.Issue)
	}
	if fmt.Sprint(kept) != "[still no test for negative values the query is built from input percent above a hundred]" {
		t.Errorf("kept %q", kept)
	}
	if fmt.Sprint(notes) != "[could be generic add a changelog]" {
		t.Errorf("notes %q", notes)
	}
}

func TestBestReview(t *testing.T) {
	critical, minor := asks(issue(IssueCritical, "a.go", "x")), asks(issue(IssueMinor, "a.go", "x"))
	discussed := JudgeReview(Review{Said: ReviewDiscussion, Issues: critical.Issues}, strict, green)
	approved := JudgeReview(Review{Said: ReviewApprove, Issues: minor.Issues}, strict, green)
	for name, tt := range map[string]struct {
		history []Review
		want    int
	}{
		"none":               {nil, -1},
		"by score":           {[]Review{critical, minor, critical}, 1},
		"the latest of two":  {[]Review{minor, critical, minor}, 2},
		"by verdict":         {[]Review{minor, discussed, critical}, 1},
		"an approval counts": {[]Review{approved, discussed, minor}, 0},
	} {
		if got := BestReview(tt.history); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if critical.Score != 60 || minor.Score != 95 || asks(critical.Issues[0], critical.Issues[0], critical.Issues[0]).Score != 0 {
		t.Errorf("scores %v, %v", critical.Score, minor.Score)
	}
}

// Nothing of a reviewer's own contract is verified: its review is what it is for.
func TestProveWithoutVerdict(t *testing.T) {
	c := Contract{ID: "audit", Status: StatusInReview, AcceptanceCriteria: []Criterion{{ID: "c1"}, {ID: "c2"}}}
	reviews := []Review{
		{ContractID: "audit", Verdict: ReviewApprove, Reviewer: "rex", Criteria: []CriterionFinding{{"c1", true, "a.go:7"}}},
		{ContractID: "other", Verdict: ReviewApprove, Reviewer: "rex", Criteria: []CriterionFinding{{"c2", true, "b.go:7"}}},
	}
	for status, want := range map[Status]string{StatusInReview: "c1 open c2 open", StatusComplete: "c1 reviewed c2 asserted"} {
		c.Status = status
		var got []string
		for _, p := range ProveWithoutVerdict(c, reviews) {
			got = append(got, p.ID+" "+string(p.Proof))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", status, got, want)
		}
	}
}

func TestProveByReview(t *testing.T) {
	proofs := []Proof{
		{Criterion: Criterion{ID: "met"}, Proof: ProofAsserted},
		{Criterion: Criterion{ID: "unnamed"}, Proof: ProofAsserted},
		{Criterion: Criterion{ID: "open"}, Proof: ProofOpen},
		{Criterion: Criterion{ID: "shown"}, Proof: ProofVerified, Note: "by tests"},
		{Criterion: Criterion{ID: "praised"}, Proof: ProofAsserted},
		{Criterion: Criterion{ID: "issue"}, Proof: ProofAsserted},
	}
	r := Review{
		Verdict: ReviewApprove, Reviewer: "rex", Strengths: []string{"praised: a.go:3 does it", "unnamed things are fine"},
		Criteria: []CriterionFinding{{"met", true, "a.go:7"}, {"open", true, ""}, {"shown", true, ""}},
		Issues:   []Issue{{Severity: IssueMinor, Criterion: "issue", Issue: "slow, and right"}},
	}
	var got []string
	for _, p := range ProveByReview(proofs, r) {
		got = append(got, p.ID+" "+string(p.Proof)+" "+p.Note)
	}
	want := "met reviewed by rex: a.go:7;unnamed asserted ;open open ;shown verified by tests;praised asserted ;issue reviewed by rex: slow, and right"
	if strings.Join(got, ";") != want {
		t.Errorf("%s", strings.Join(got, ";"))
	}
	r.Verdict = ReviewChanges
	if p := ProveByReview(proofs, r); p[0].Proof != ProofAsserted {
		t.Error("a review that is no approval proves")
	}
}

// A contract goes around the loop of its review without counting an attempt.
func TestAdvanceAroundTheLoop(t *testing.T) {
	c := Contract{ID: "main", RetryBudget: 2, Status: StatusPending}
	for i, f := range []Fact{
		Started{}, ClaimMade{}, Verified{Review: true}, Reworked{Reason: "no test"}, ClaimMade{}, Verified{Review: true}, Reviewed{}, LandingBegun{}, HasLanded{},
	} {
		var err error
		if c, err = Advance(c, f); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if c.Attempts != 1 || c.Iterations != 2 || c.Status != StatusComplete || c.Error != "" {
		t.Errorf("%+v", c)
	}
	if _, err := Advance(Contract{Status: StatusInReview, Stage: StageVerifying}, Reworked{}); KindOf(err) != KindConflict {
		t.Errorf("red work went around the critic: %v", err)
	}
}

// TestNeedNotPass has checks that need not pass stand in the way of nothing: neither of
// an approval nor of taking what is left for a matter of taste.
func TestNeedNotPass(t *testing.T) {
	r := Review{Said: ReviewChanges, Verdict: ReviewChanges, Issues: []Issue{{Severity: IssueMinor, Issue: "a name"}}}
	for rules, want := range map[ReviewRules]Disagreement{{}: Subjective, {RequireTests: true}: Unresolved, {RequireLint: true}: Unresolved} {
		if got := Disagree([]Review{r}, rules, true); got != want {
			t.Errorf("%+v: %q, want %q", rules, got, want)
		}
	}
}
