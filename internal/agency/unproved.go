package agency

import (
	"cmp"
	"fmt"
	"strings"

	"agency/internal/text"
)

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
