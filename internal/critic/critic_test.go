package critic

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
)

func says(v agency.ReviewVerdict, issues ...string) agency.Review {
	r := agency.Review{Said: v}
	for _, i := range issues {
		severity, text, _ := strings.Cut(i, " ")
		criterion, rest, ok := strings.Cut(text, ": ")
		if !ok {
			criterion, rest = "", text
		}
		r.Issues = append(r.Issues, agency.Issue{Severity: agency.IssueSeverity(severity), File: "a.go", Criterion: criterion, Issue: rest})
	}
	return r
}

// A critic of each kind is led to its end (docs/design.md, Reviews).
func TestLoop(t *testing.T) {
	const ok, no, talk = agency.ReviewApprove, agency.ReviewChanges, agency.ReviewDiscussion
	for name, tt := range map[string]struct {
		says  []agency.Review
		rules agency.ReviewRules
		red   bool
		late  int // the review from which on the time is up
		want  string
	}{
		"approves":             {says: []agency.Review{says(ok)}, want: "land"},
		"approves at last":     {says: []agency.Review{says(no, "major no test"), says(ok, "nitpick taste")}, want: "rework land"},
		"contradicts itself":   {says: []agency.Review{says(ok, "critical wraps around"), says(ok)}, want: "rework land"},
		"approves red work":    {says: []agency.Review{says(ok), says(ok), says(ok), says(ok), says(ok)}, red: true, want: "rework rework rework rework dispute"},
		"wants to talk":        {says: []agency.Review{says(no, "major no test"), says(talk)}, want: "rework discuss"},
		"rejects for ever":     {says: []agency.Review{says(no, "major no test"), says(no, "major no test"), says(no, "major no test"), says(no, "major no test")}, want: "rework rework afresh dispute"},
		"rejects differently":  {says: []agency.Review{says(no, "major alpha"), says(no, "major beta"), says(no, "major gamma"), says(no, "major delta"), says(no, "major epsilon")}, want: "rework rework rework rework dispute"},
		"convinced afresh":     {says: []agency.Review{says(no, "major held"), says(no, "major stale"), says(no, "major held"), says(ok)}, want: "rework rework afresh land"},
		"new things afresh":    {says: []agency.Review{says(no, "major held"), says(no, "major stale"), says(no, "major held"), says(no, "major other")}, want: "rework rework afresh dispute"},
		"two small rounds":     {says: []agency.Review{says(no, "minor name"), says(no, "minor comment")}, want: "rework land"},
		"ever more":            {says: []agency.Review{says(no, "major alpha"), says(no, "major beta", "major gamma"), says(no, "major delta", "major epsilon", "major zeta")}, want: "rework rework land"},
		"more of the contract": {says: []agency.Review{says(no, "major alpha"), says(no, "major beta", "major gamma"), says(no, "major c1: delta", "major epsilon", "major zeta"), says(ok)}, want: "rework rework rework land"},
		"ever more critical":   {says: []agency.Review{says(no, "critical alpha"), says(no, "critical beta", "critical gamma"), says(no, "critical delta", "critical epsilon", "critical zeta"), says(no, "critical eta", "critical theta", "critical iota", "critical kappa"), says(no, "critical lambda")}, want: "rework rework rework rework dispute"},
		"one round only":       {says: []agency.Review{says(no, "major no test")}, rules: agency.ReviewRules{MaxIterations: 1}, want: "dispute"},
		"one round, taste":     {says: []agency.Review{says(no, "nitpick taste")}, rules: agency.ReviewRules{MaxIterations: 1}, want: "land"},
		"the time is up":       {says: []agency.Review{says(no, "major alpha"), says(no, "major beta")}, late: 2, want: "rework dispute"},
		"late, a circle":       {says: []agency.Review{says(no, "major held"), says(no, "major stale"), says(no, "major held")}, late: 3, want: "rework rework dispute"},
		"late, but approved":   {says: []agency.Review{says(ok)}, late: 1, want: "land"},
		"not perfect":          {says: []agency.Review{says(ok, "minor name"), says(no, "minor name"), says(no, "minor word"), says(no, "minor space"), says(no, "minor dot")}, rules: agency.ReviewRules{MaxIterations: 5, Perfect: true}, want: "rework rework rework rework dispute"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.rules.MaxIterations == 0 {
				tt.rules.MaxIterations = 5
			}
			tt.rules.RequireTests, tt.rules.RequireLint = true, true
			l := &Loop{Rules: tt.rules}
			var got []string
			for i, r := range tt.says {
				judged, next := l.Take(r, agency.ReviewFacts{TestsPassed: !tt.red, LintPassed: true}, tt.late > 0 && i+1 >= tt.late)
				got = append(got, string(next))
				if (judged.Verdict == agency.ReviewApprove) != (next == Land) {
					t.Errorf("review %d is %s, and what follows is %s", i+1, judged.Verdict, next)
				}
				if n := len(l.History()); n != i+1 || fmt.Sprint(l.History()[n-1]) != fmt.Sprint(judged) {
					t.Errorf("the history does not hold what counts")
				}
				if next == Land && tt.red {
					t.Error("red work lands")
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%s, want %s (%s)", s, tt.want, l.Why())
			}
		})
	}
}

func TestLeft(t *testing.T) {
	l := &Loop{Rules: agency.ReviewRules{MaxIterations: 3}}
	facts := agency.ReviewFacts{TestsPassed: true, LintPassed: true}
	for _, want := range []int{1, 0} {
		l.Take(says(agency.ReviewChanges, fmt.Sprintf("major thing%d", want)), facts, false)
		if got := l.Left(); got != want {
			t.Errorf("%d rounds left, want %d", got, want)
		}
	}
}
