package agency

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Dimension is a side of the quality of a change.
type Dimension string

// The dimensions, by weight.
const (
	Correctness     Dimension = "correctness"
	Security        Dimension = "security"
	Readability     Dimension = "readability"
	Maintainability Dimension = "maintainability"
	Performance     Dimension = "performance"
	// Overall is the key of a threshold of the whole score; no finding is of it.
	Overall Dimension = "overall"
)

// dimensionWeights are what the dimensions count in the whole (docs/design.md, Verification).
var dimensionWeights = []struct {
	of     Dimension
	weight float64
}{{Correctness, .35}, {Security, .25}, {Readability, .15}, {Maintainability, .15}, {Performance, .10}}

// Dimensions are all, in the order in which they are shown.
func Dimensions() (out []Dimension) {
	for _, d := range dimensionWeights {
		out = append(out, d.of)
	}
	return out
}

// QualityThresholds are the keys that a contract's quality thresholds may have.
func QualityThresholds() []string {
	out := []string{CoverageThreshold, string(Overall)}
	for _, d := range Dimensions() {
		out = append(out, string(d))
	}
	return out
}

// QualityFinding is what an analyzer says of a line that a change brought.
type QualityFinding struct {
	Analyzer  string        `json:"analyzer"` // who says it
	Rule      string        `json:"rule"`
	Severity  IssueSeverity `json:"severity"`
	Dimension Dimension     `json:"dimension"`
	File      string        `json:"file"`
	Line      int           `json:"line,omitempty"` // from 1; 0: the whole file
	Message   string        `json:"message"`
}

// Where is the finding's place.
func (f QualityFinding) Where() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// String is the line that people and agents read.
func (f QualityFinding) String() string {
	return fmt.Sprintf("%s: %s %s: %s (%s/%s)", f.Where(), f.Severity, f.Dimension, f.Message, f.Analyzer, f.Rule)
}

// CompareFindings orders findings by place, then by what they say.
func CompareFindings(a, b QualityFinding) int {
	if c := strings.Compare(a.File, b.File); c != 0 || a.Line != b.Line {
		if c == 0 {
			c = a.Line - b.Line
		}
		return c
	}
	return strings.Compare(a.String(), b.String())
}

// DimensionScore is the score of a dimension, 0 to 100.
type DimensionScore struct {
	Dimension Dimension `json:"dimension"`
	Score     float64   `json:"score"`
}

// Quality is the quality score of a change: what analyzers find of the lines that it
// brought. It says nothing of what was there before, and outvotes no test.
type Quality struct {
	Overall float64          `json:"overall"`
	Scores  []DimensionScore `json:"scores"`
	// Unmeasured are the dimensions of which no analyzer looked at any changed file;
	// the others carry their weight.
	Unmeasured []Dimension      `json:"unmeasured,omitempty"`
	Findings   []QualityFinding `json:"findings,omitempty"`
	// More are the findings beyond those that are kept; they count in the score.
	More int `json:"more,omitempty"`
	// Low says what lies below which threshold.
	Low []string `json:"low,omitempty"`
	// Failed are analyzers that gave nothing, and why: they count as absent.
	Failed []string `json:"failed,omitempty"`
}

// MaxQualityFindings is how many findings of a change are kept.
const MaxQualityFindings = 200

// ScoreQuality weighs findings. Dimensions that are measured count, and no others: what
// nobody looked at is neither good nor bad.
func ScoreQuality(findings []QualityFinding, measured []Dimension) Quality {
	q := Quality{Findings: slices.Clone(findings)}
	slices.SortFunc(q.Findings, CompareFindings)
	q.Findings = slices.Compact(q.Findings)
	var sum, weights float64
	for _, d := range dimensionWeights {
		if !slices.Contains(measured, d.of) {
			q.Unmeasured = append(q.Unmeasured, d.of)
			continue
		}
		var of []Issue
		for _, f := range q.Findings {
			if f.Dimension == d.of {
				of = append(of, Issue{Severity: f.Severity})
			}
		}
		s := score(of)
		q.Scores = append(q.Scores, DimensionScore{d.of, s})
		sum, weights = sum+s*d.weight, weights+d.weight
	}
	q.Findings = slices.DeleteFunc(q.Findings, func(f QualityFinding) bool { return !slices.Contains(measured, f.Dimension) })
	if n := len(q.Findings); n > MaxQualityFindings {
		q.Findings, q.More = worst(q.Findings), n-MaxQualityFindings
	}
	if weights > 0 {
		q.Overall = math.Round(sum/weights*10) / 10
	}
	return q
}

// worst keeps as many findings as are kept, the worst of them, in their order.
func worst(all []QualityFinding) (out []QualityFinding) {
	for _, s := range IssueSeverities() {
		for _, f := range all {
			if f.Severity == s && len(out) < MaxQualityFindings {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, CompareFindings)
	return out
}

// Of is the score of a dimension, or of the whole; false where it is not measured.
func (q *Quality) Of(d Dimension) (float64, bool) {
	if d == Overall {
		return q.Overall, len(q.Scores) > 0
	}
	for _, s := range q.Scores {
		if s.Dimension == d {
			return s.Score, true
		}
	}
	return 0, false
}

// Below says which of the thresholds the score does not reach. What is not measured is
// below none.
func (q *Quality) Below(least map[Dimension]float64) (out []string) {
	for _, d := range append([]Dimension{Overall}, Dimensions()...) {
		if got, ok := q.Of(d); ok && got < least[d] {
			out = append(out, fmt.Sprintf("%s %g is below %g", d, got, least[d]))
		}
	}
	return out
}

// Line is the score in one line; empty where nothing is measured.
func (q *Quality) Line() string {
	if q == nil || len(q.Scores) == 0 {
		return ""
	}
	parts := make([]string, len(q.Scores))
	for i, s := range q.Scores {
		parts[i] = fmt.Sprintf("%s %g", s.Dimension, s.Score)
	}
	line := fmt.Sprintf("%g of 100", q.Overall)
	switch {
	case len(q.Unmeasured) > len(q.Scores): // the mean of a few says nothing of the whole
		line = strings.Join(parts, ", ") + " of 100"
	case q.Overall < 100:
		line += ": " + strings.Join(parts, ", ")
	}
	if len(q.Unmeasured) > 0 {
		none := make([]string, len(q.Unmeasured))
		for i, d := range q.Unmeasured {
			none[i] = string(d)
		}
		line += "; not measured: " + strings.Join(none, ", ")
	}
	return line
}

// Shown are the lines of so many findings, the worst first, and one for the others.
func (q *Quality) Shown(most int) (out []string) {
	if q == nil {
		return nil
	}
	for _, s := range IssueSeverities() {
		for _, f := range q.Findings {
			if f.Severity == s && len(out) < most {
				out = append(out, f.String())
			}
		}
	}
	if more := len(q.Findings) - len(out) + q.More; more > 0 {
		out = append(out, Things(more, "more finding", "more findings"))
	}
	return out
}

// QualityRules say what is scored, and how low a score may be.
type QualityRules struct {
	// Least are the lowest scores before findings go back once.
	Least map[Dimension]float64 `json:"least,omitempty"`
	// Off are the dimensions whose findings nobody wants.
	Off []Dimension `json:"off,omitempty"`
	// Block has a person decide where a score stays low.
	Block bool `json:"block,omitempty"`
}

// Bound are the scores that a contract's own thresholds ask for; they bind.
func Bound(thresholds map[string]float64) (out map[Dimension]float64) {
	for _, d := range append(Dimensions(), Overall) {
		if want := thresholds[string(d)]; want > 0 {
			if out == nil {
				out = map[Dimension]float64{}
			}
			out[d] = want
		}
	}
	return out
}
