package agency

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CoverageThreshold is the key of a contract's quality thresholds for the
// percentage of the changed lines that tests have to reach: the one that is measured.
const CoverageThreshold = "coverage"

// testName is what a test's name looks like, in any language: one word.
var testName = regexp.MustCompile(`^\S*\w\S*$`)

// Promised gives a contract with a criterion for each thing that its other fields say
// shall be true: what nobody looks at is not promised. The criteria are named by their
// field and place in it; those that stand there are made anew.
func Promised(c Contract) Contract {
	all := slices.DeleteFunc(slices.Clone(c.AcceptanceCriteria), func(cr Criterion) bool { return cr.From != "" })
	asked := map[Check]bool{}
	for _, cr := range all {
		if cr.Check != nil {
			asked[*cr.Check] = true
		}
	}
	promise := func(field string, n int, text string, check *Check) {
		if check != nil && asked[*check] {
			return
		}
		if check != nil {
			asked[*check] = true
		}
		all = append(all, Criterion{ID: fmt.Sprintf("%s.%d", field, n+1), Text: text, Check: check, From: field})
	}
	for i, t := range c.ExpectedOutputs.TestsPassing {
		promise("tests_passing", i, "the test "+t+" passes", &Check{Test: t})
	}
	for i, t := range c.TestRequirements {
		if t = strings.TrimSpace(t); testName.MatchString(t) {
			promise("test_requirements", i, "the test "+t+" passes", &Check{Test: t})
		} else {
			promise("test_requirements", i, t, nil)
		}
	}
	for i, f := range c.ExpectedOutputs.FilesCreated {
		promise("files_created", i, f+" is made", &Check{Created: f})
	}
	for i, f := range c.ExpectedOutputs.FilesModified {
		promise("files_modified", i, f+" is changed", &Check{Modified: f})
	}
	c.AcceptanceCriteria = all
	return c
}

// written counts the criteria that were written as such.
func written(criteria []Criterion) (n int) {
	for _, cr := range criteria {
		if cr.From == "" {
			n++
		}
	}
	return n
}
