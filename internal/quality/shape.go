package quality

import (
	"fmt"

	"agency/internal/agency"
)

// How much of a function a reader keeps in mind, measured so that a long table or a flat
// switch is no offence: a switch counts once whatever its cases.
const (
	maxBranches = 20  // decisions of a function
	maxNesting  = 6   // blocks in blocks
	maxLines    = 120 // of a function
)

// shape is how large a function is.
type shape struct {
	name              string
	from, to          int // lines
	branches, nesting int
}

var (
	tooComplex = rule{"complex-function", agency.IssueMinor, agency.Maintainability, ""}
	tooLong    = rule{"long-function", agency.IssueMinor, agency.Maintainability, ""}
	tooDeep    = rule{"deep-nesting", agency.IssueMinor, agency.Readability, ""}
)

// judgeShapes tells of functions that the change made too large, or larger where they
// were before.
func (f *findings) judgeShapes(now, before []shape) {
	was := map[string]shape{}
	for _, s := range before {
		was[s.name] = s
	}
	for _, s := range now {
		if !f.file.touched(s.from, s.to) {
			continue
		}
		old := was[s.name]
		grew := func(n, o, most int) bool { return n > most && n > o }
		what := "the function"
		if s.name != "" {
			what = s.name
		}
		if grew(s.branches, old.branches, maxBranches) {
			f.add(s.from, tooComplex, fmt.Sprintf("%s takes %d decisions, more than %d", what, s.branches, maxBranches))
		}
		if lines := s.to - s.from + 1; grew(lines, lineCount(old), maxLines) {
			f.add(s.from, tooLong, fmt.Sprintf("%s has %d lines, more than %d", what, lines, maxLines))
		}
		if grew(s.nesting, old.nesting, maxNesting-1) {
			f.add(s.from, tooDeep, fmt.Sprintf("%s nests %d blocks in each other", what, s.nesting))
		}
	}
}

func lineCount(s shape) int {
	if s.from == 0 {
		return 0
	}
	return s.to - s.from + 1
}
