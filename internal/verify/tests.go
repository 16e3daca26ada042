package verify

import (
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
)

// suite is what a test command said on one tree.
type suite struct {
	receipt agency.Receipt
	ran     bool // there is a test command and it was run
	tests   map[string]agency.TestStatus
	broken  map[string]string // packages that failed as a whole, with what failed
}

// readSuite parts the results of tests from those of whole packages.
func readSuite(r agency.Receipt) suite {
	s := suite{receipt: r, ran: true, broken: map[string]string{}}
	if !r.Parsed {
		return s
	}
	s.tests = map[string]agency.TestStatus{}
	for _, t := range r.Tests {
		if pkg, ok := check.IsPackage(t.Name); ok {
			s.broken[pkg] = t.Name
			continue
		}
		s.tests[t.Name] = t.Status
	}
	return s
}

// whole tells whether every test had its chance: the command was not stopped.
func (s suite) whole() bool { return s.receipt.Cause == "" }

// standing leaves out the tests of packages that failed as a whole.
func (s suite) standing(tests []string) []string {
	return slices.DeleteFunc(tests, s.down)
}

// down tells whether a test belongs to a package, file or module that failed as
// a whole.
func (s suite) down(name string) bool {
	return len(s.broken) > 0 && check.InGroup(name, func(group string) bool {
		_, ok := s.broken[group]
		return ok
	})
}

// crashed are the packages in which a failed test took its process with it: the
// tests after it were not reached, and say nothing by being absent.
func (s suite) crashed() map[string]bool {
	out := map[string]bool{}
	for _, t := range s.receipt.Tests {
		pkg, _, ok := check.SplitGo(t.Name)
		if ok && t.Status == agency.TestFailed && slices.ContainsFunc(crashMarks, func(m string) bool { return strings.Contains(t.Output, m) }) {
			out[pkg] = true
		}
	}
	return out
}

var crashMarks = []string{"panic: ", "fatal error: ", "signal: ", "exit status "}

// fillBroken gives the tests that the base has in a package that is broken on
// the claim the status of failures: they did not run, they are not deleted.
func (s suite) fillBroken(base suite) {
	for name := range base.tests {
		if _, ok := s.tests[name]; ok {
			continue
		}
		if s.down(name) {
			s.tests[name] = agency.TestFailed
		}
	}
}

// comparison is what tests did on the base and do on the claim.
type comparison struct {
	regressed []string // passed there, fail here
	newRed    []string // not there, fail here
	stillRed  []string // fail on both
	broken    []string // packages that fail as a whole here and did not there
	weakened  []agency.Weakening
}

// compare is pure but for the end of ctx, its only error. Tests that fail only
// because a subtest does, or because their package is broken, are not named
// beside it. It costs no more for a test however many there are.
func compare(ctx context.Context, base, claim suite) (comparison, error) {
	claim.fillBroken(base)
	var c comparison
	for pkg, name := range claim.broken {
		if _, ok := base.broken[pkg]; !ok {
			c.broken = append(c.broken, name)
		}
	}
	slices.Sort(c.broken)
	var newRed, stillRed []string
	for name, s := range claim.tests {
		if s != agency.TestFailed {
			continue
		}
		switch was, there := base.tests[name]; {
		case !there:
			newRed = append(newRed, name)
		case was == agency.TestPassed:
			c.regressed = append(c.regressed, name)
		default:
			stillRed = append(stillRed, name)
		}
	}
	for _, names := range []*[]string{&c.regressed, &newRed, &stillRed} {
		slices.Sort(*names)
		*names = leaves(*names)
		if ctx.Err() != nil {
			return c, context.Cause(ctx)
		}
	}
	c.newRed, c.stillRed = newRed, stillRed
	if claim.whole() && base.whole() && (claim.receipt.Parsed || claim.receipt.OK()) {
		c.weakened = reached(weakened(base.tests, claim.tests), claim)
	}
	return c, context.Cause(ctx)
}

// reached leaves out deleted tests of packages whose process ended early.
func reached(all []agency.Weakening, claim suite) []agency.Weakening {
	crashed := claim.crashed()
	return slices.DeleteFunc(all, func(w agency.Weakening) bool {
		pkg, _, ok := check.SplitGo(w.Name)
		return ok && w.Kind == agency.WeakDeleted && crashed[pkg]
	})
}

// leaves leaves out the tests of which a subtest is in the list.
func leaves(names []string) []string {
	parents := map[string]bool{}
	for _, n := range names {
		for p := range check.Parents(n) {
			parents[p] = true
		}
	}
	var out []string
	for _, n := range names {
		if !parents[n] {
			out = append(out, n)
		}
	}
	return out
}

// weakened is agency.WeakenedTests without what only looks like it: cases of a
// table that were renamed, and cases that were not reached because their test
// failed first.
func weakened(base, claim map[string]agency.TestStatus) []agency.Weakening {
	all := agency.WeakenedTests(base, claim)
	gone := map[string]bool{}
	for _, w := range all {
		if w.Kind == agency.WeakDeleted {
			gone[w.Name] = true
		}
	}
	before, after := countCases(base), countCases(claim)
	var out []agency.Weakening
	for _, w := range all {
		top := topOf(w.Name)
		isCase := top != w.Name
		switch {
		case isCase && w.Kind == agency.WeakDeleted && gone[top]:
		case isCase && w.Kind == agency.WeakDeleted && (claim[top] == agency.TestFailed || after[top] >= before[top]):
		case isCase && claim[top] == agency.TestSkipped:
		default:
			out = append(out, w)
		}
	}
	return out
}

// topOf is the test that a case belongs to.
func topOf(name string) string {
	if pkg, test, ok := check.SplitGo(name); ok {
		top, _, _ := strings.Cut(test, "/")
		return pkg + "." + top
	}
	return name
}

// functionOf is the function or title of a test's name, without package, file,
// classes and cases.
func functionOf(name string) string {
	if _, test, ok := check.SplitGo(name); ok {
		top, _, _ := strings.Cut(test, "/")
		return top
	}
	name, _, _ = strings.Cut(name, "[")
	for _, sep := range []string{" > ", "::"} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			return name[i+len(sep):]
		}
	}
	if i := strings.IndexByte(name, '('); i > 0 {
		name = name[:i]
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

func countCases(tests map[string]agency.TestStatus) map[string]int {
	out := map[string]int{}
	for name, s := range tests {
		if top := topOf(name); top != name && s != agency.TestSkipped {
			out[top]++
		}
	}
	return out
}
