// Package suite reads what test commands said on two trees, and compares it: tests by
// their names, packages that failed as a whole, and names that differ from run to
// run. It is pure.
package suite

import (
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
