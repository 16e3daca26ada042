// Package suite reads what test commands said on two trees, and compares it: tests by
// their names, packages that failed as a whole, and names that differ from run to
// run. It is pure.
package suite

import (
	"context"
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/testreport"
)

// Results are what a test command said on one tree.
type Results struct {
	Receipt agency.Receipt
	Ran     bool                         // there is a test command and it was run
	Tests   map[string]agency.TestStatus // nil where none can be read
	Broken  map[string]string            // packages that failed as a whole, with what failed
}

// Read parts the results of tests from those of whole packages.
func Read(r agency.Receipt) Results {
	s := Results{Receipt: r, Ran: true, Broken: map[string]string{}}
	if !r.Parsed {
		return s
	}
	s.Tests = map[string]agency.TestStatus{}
	for _, t := range r.Tests {
		if pkg, ok := testreport.IsPackage(t.Name); ok {
			s.Broken[pkg] = t.Name
			continue
		}
		s.Tests[t.Name] = t.Status
	}
	return s
}

// Output is what a test of a receipt printed; empty where it has none of the name.
func Output(r agency.Receipt, test string) string {
	if i := slices.IndexFunc(r.Tests, func(t agency.TestResult) bool { return t.Name == test }); i >= 0 {
		return r.Tests[i].Output
	}
	return ""
}

// Whole tells whether every test had its chance: the command was not stopped.
func (s Results) Whole() bool { return s.Receipt.Cause == "" }

// Down tells whether a test belongs to a package, file or module that failed as
// a whole.
func (s Results) Down(name string) bool {
	return len(s.Broken) > 0 && testreport.InGroup(name, func(group string) bool {
		_, ok := s.Broken[group]
		return ok
	})
}

// Crashed are the packages in which a failed test took its process with it: the
// tests after it were not reached, and say nothing by being absent.
func (s Results) Crashed() map[string]bool {
	out := map[string]bool{}
	for _, t := range s.Receipt.Tests {
		pkg, _, ok := testreport.SplitGo(t.Name)
		if ok && t.Status == agency.TestFailed && slices.ContainsFunc(crashMarks, func(m string) bool { return strings.Contains(t.Output, m) }) {
			out[pkg] = true
		}
	}
	return out
}

var crashMarks = []string{"panic: ", "fatal error: ", "signal: ", "exit status "}

// fillBroken gives the tests that the base has in a package that is broken on
// the claim the status of failures: they did not run, they are not deleted.
func (s Results) fillBroken(base Results) {
	for name := range base.Tests {
		if _, ok := s.Tests[name]; ok {
			continue
		}
		if s.Down(name) {
			s.Tests[name] = agency.TestFailed
		}
	}
}

// Renamed are the results of a suite under the names that tests have now, with
// those of their subtests.
func (s Results) Renamed(moved map[string]string) Results {
	if len(moved) == 0 || s.Tests == nil {
		return s
	}
	out := make(map[string]agency.TestStatus, len(s.Tests))
	for name, status := range s.Tests {
		top := TopOf(name)
		if to, ok := moved[top]; ok {
			name = to + name[len(top):]
		}
		out[name] = status
	}
	s.Tests = out
	return s
}

// Tested tells whether a test ran.
func (s Results) Tested() bool {
	for _, status := range s.Tests {
		if status != agency.TestSkipped {
			return true
		}
	}
	return len(s.Broken) > 0
}

// With adds what another part of the same suite said.
func (s Results) With(o Results) Results {
	if !s.Ran || s.Tests == nil {
		return o
	}
	s.Receipt.Tests = append(slices.Clone(s.Receipt.Tests), o.Receipt.Tests...)
	maps.Copy(s.Tests, o.Tests)
	maps.Copy(s.Broken, o.Broken)
	return s
}

// TopOf is the test that a case belongs to.
func TopOf(name string) string {
	if pkg, test, ok := testreport.SplitGo(name); ok {
		top, _, _ := strings.Cut(test, "/")
		return pkg + "." + top
	}
	return name
}

// FunctionOf is the function or title of a test's name, without package, file,
// classes and cases.
func FunctionOf(name string) string {
	if _, test, ok := testreport.SplitGo(name); ok {
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

// Comparison is what tests did on the base and do on the claim.
type Comparison struct {
	Regressed []string // passed there, fail here
	NewRed    []string // not there, fail here
	StillRed  []string // fail on both
	Broken    []string // packages that fail as a whole here and did not there
	Weakened  []agency.Weakening
}

// Compare is pure but for the end of ctx, its only error. Tests that fail only
// because a subtest does, or because their package is broken, are not named
// beside it. It costs no more for a test however many there are.
func Compare(ctx context.Context, base, claim Results) (Comparison, error) {
	claim.fillBroken(base)
	var c Comparison
	for pkg, name := range claim.Broken {
		if _, ok := base.Broken[pkg]; !ok {
			c.Broken = append(c.Broken, name)
		}
	}
	slices.Sort(c.Broken)
	for name, s := range claim.Tests {
		if s != agency.TestFailed {
			continue
		}
		switch was, there := base.Tests[name]; {
		case !there:
			c.NewRed = append(c.NewRed, name)
		case was == agency.TestPassed:
			c.Regressed = append(c.Regressed, name)
		default:
			c.StillRed = append(c.StillRed, name)
		}
	}
	for _, names := range []*[]string{&c.Regressed, &c.NewRed, &c.StillRed} {
		slices.Sort(*names)
		*names = leaves(*names)
		if ctx.Err() != nil {
			return c, context.Cause(ctx)
		}
	}
	if claim.Whole() && base.Whole() && (claim.Receipt.Parsed || claim.Receipt.OK()) {
		c.Weakened = reached(weakened(base.Tests, claim.Tests), claim)
	}
	return c, context.Cause(ctx)
}

// reached leaves out deleted tests of packages whose process ended early.
func reached(all []agency.Weakening, claim Results) []agency.Weakening {
	crashed := claim.Crashed()
	return slices.DeleteFunc(all, func(w agency.Weakening) bool {
		pkg, _, ok := testreport.SplitGo(w.Name)
		return ok && w.Kind == agency.WeakDeleted && crashed[pkg]
	})
}

// leaves leaves out the tests of which a subtest is in the list.
func leaves(names []string) []string {
	parents := map[string]bool{}
	for _, n := range names {
		for p := range testreport.Parents(n) {
			parents[p] = true
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return parents[n] })
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
		top := TopOf(w.Name)
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

func countCases(tests map[string]agency.TestStatus) map[string]int {
	out := map[string]int{}
	for name, s := range tests {
		if top := TopOf(name); top != name && s != agency.TestSkipped {
			out[top]++
		}
	}
	return out
}

// Seen is what a test did in several runs.
type Seen struct{ Red, Green bool }

// And is that with one more run.
func (s Seen) And(status agency.TestStatus) Seen {
	return Seen{s.Red || status == agency.TestFailed, s.Green || status == agency.TestPassed}
}

// Merge makes one suite of several runs on one tree. A test is red where it was
// in each of them. One that was seen both ways, mixed, counts as passed: that it
// did not pass on this tree cannot be said.
func Merge(runs []Results) (Results, map[string]bool) {
	out := runs[0]
	if len(runs) < 2 {
		return out, nil
	}
	did := map[string]Seen{}
	broken := maps.Clone(out.Broken)
	for _, r := range runs {
		for name, status := range r.Tests {
			did[name] = did[name].And(status)
		}
		for name := range out.Broken {
			if _, still := r.Broken[name]; !still {
				delete(broken, name)
			}
		}
	}
	tests, mixed := make(map[string]agency.TestStatus, len(did)), map[string]bool{}
	for name, s := range did {
		for _, r := range runs { // what could not run with its package was red
			_, ran := r.Tests[name]
			s.Red = s.Red || !ran && r.Down(name)
		}
		switch {
		case s.Red && s.Green:
			tests[name], mixed[name] = agency.TestPassed, true
		case s.Red:
			tests[name] = agency.TestFailed
		case s.Green:
			tests[name] = agency.TestPassed
		default:
			tests[name] = agency.TestSkipped
		}
	}
	out.Tests, out.Broken = tests, broken
	return out, mixed
}
