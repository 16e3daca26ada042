package agency

import (
	"slices"
	"strings"
	"testing"
)

// Findings are weighed by severity, dimensions by weight; one that nobody measured is left
// out and named, and the others carry its weight.
func TestScoreQuality(t *testing.T) {
	f := func(d Dimension, s IssueSeverity, line int) QualityFinding {
		return QualityFinding{Analyzer: "a", Rule: "r", Severity: s, Dimension: d, File: "f", Line: line}
	}
	all := []QualityFinding{
		f(Security, IssueMajor, 2), f(Security, IssueCritical, 1), f(Correctness, IssueMinor, 3), f(Readability, IssueNitpick, 4),
		f(Security, IssueMajor, 2), f(Performance, IssueCritical, 9),
	}
	q := ScoreQuality(all, []Dimension{Security, Correctness, Readability})
	if got, want := q.Line(), "79.1 of 100: correctness 95, security 45, readability 99; not measured: maintainability, performance"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	whole := ScoreQuality(nil, []Dimension{Security})
	if got, want := whole.Line(), "security 100 of 100; not measured: correctness, readability, maintainability, performance"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(q.Findings) != 4 || q.Findings[0].Line != 1 {
		t.Errorf("findings %v", q.Findings)
	}
	low := q.Below(map[Dimension]float64{Overall: 79.1, Security: 60, Performance: 100})
	if !slices.Equal(low, []string{"security 45 is below 60"}) {
		t.Errorf("low %v", low)
	}
	if got := q.Shown(1); len(got) != 2 || !strings.HasPrefix(got[0], "f:1: critical security") || got[1] != "3 more findings" {
		t.Errorf("shown %q", got)
	}
	many := make([]QualityFinding, MaxQualityFindings+5)
	for i := range many {
		many[i] = f(Security, IssueMinor, i+1)
	}
	if q := ScoreQuality(many, []Dimension{Security}); q.More != 5 || q.Overall != 0 || len(q.Findings) != MaxQualityFindings {
		t.Errorf("of many: %d more, %g", q.More, q.Overall)
	}
	if q := ScoreQuality(nil, nil); q.Line() != "" || len(q.Below(map[Dimension]float64{Overall: 70})) != 0 {
		t.Errorf("of nothing: %q", q.Line())
	}
}
