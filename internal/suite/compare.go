package suite

import (
	"context"
	"maps"
	"slices"

	"agency/internal/agency"
	"agency/internal/testreport"
)

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
