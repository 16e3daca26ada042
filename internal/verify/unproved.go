package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/code"
)

// Bounds of the search for lines that nothing holds.
const (
	maxCuts      = 24              // functions that are taken out one by one
	linesBudget  = 0.4             // of what the suite takes
	linesAtLeast = 3 * time.Second // whatever that is
)

// unproved finds the changed lines that no failing test holds, function by
// function: first by the tests that the run brought, then, as far as time
// allows, by all. What no test reaches needs no run.
func (k *cutting) unproved(ctx context.Context) (err error) {
	own := slices.DeleteFunc(slices.Clone(k.f.fresh), func(t string) bool { return slices.Contains(k.f.retried.flaky, t) })
	took := seconds(k.f.claimSuite.receipt.Duration)
	budget := max(time.Duration(linesBudget*float64(took)), linesAtLeast)
	all := took <= budget
	t := linesTold{files: map[string]*agency.UnprovedFile{}}
	for i, fn := range k.fns {
		unrun := missedOf(k.f.coverage, fn)
		switch {
		case len(fn.lines) == 0:
		case len(unrun) == len(fn.lines):
			t.tell(fn, unrun)
		case i >= maxCuts || t.spent > budget.Seconds() || len(own) == 0 && !all:
			t.notTried += len(fn.lines)
		case !k.stands(ctx, own, &err):
			t.notTried += len(fn.lines)
		default:
			var held bool
			var took float64
			if held, took, err = k.holds(ctx, fn, own, all); err != nil {
				return err
			}
			if t.spent += took; !held {
				unrun = fn.lines
			}
			t.tell(fn, unrun)
		}
	}
	k.f.unproved = t.all(k.fns)
	return err
}

// stands tells whether the claim does what it did with the switches in it and
// all of them off. It is tried once.
func (k *cutting) stands(ctx context.Context, own []string, err *error) bool {
	if !k.tried && *err == nil {
		var s suite
		if len(own) == 0 {
			own = nil // then all
		}
		s, *err = k.suiteWith(ctx, "", own)
		k.tried, k.unfit = true, *err != nil || k.turnsRed(s)
	}
	return !k.unfit
}

// linesTold gathers which changed lines are held.
type linesTold struct {
	files    map[string]*agency.UnprovedFile
	notTried int
	spent    float64 // seconds
}

func (t *linesTold) tell(fn cutFunction, loose []int) {
	file := t.files[fn.path]
	if file == nil {
		file = &agency.UnprovedFile{Path: fn.path}
		t.files[fn.path] = file
	}
	file.Changed += len(fn.lines)
	file.Lines += len(loose)
	file.Where = append(file.Where, ranges(fn.path, slices.Clone(loose))...)
}

// all is what was told, in the order of the change; nil where nothing was.
func (t *linesTold) all(fns []cutFunction) *agency.Unproved {
	u := agency.Unproved{NotTried: t.notTried}
	for _, fn := range fns {
		if file := t.files[fn.path]; file != nil {
			u.Files, u.Lines, u.Changed = append(u.Files, *file), u.Lines+file.Lines, u.Changed+file.Changed
			delete(t.files, fn.path)
		}
	}
	if u.Changed+u.NotTried == 0 {
		return nil
	}
	return &u
}

// missedOf are the changed lines of a function that no test runs, where that was
// measured.
func missedOf(c *agency.Coverage, fn cutFunction) (out []int) {
	if c == nil {
		return nil
	}
	for _, l := range fn.lines {
		if slices.ContainsFunc(c.Missed, func(m string) bool { return holds(m, fn.path, l) }) {
			out = append(out, l)
		}
	}
	return out
}

// holds tells whether a range as a verdict writes it has a line of a file.
func holds(where, file string, line int) bool {
	rest, ok := strings.CutPrefix(where, file+":")
	var from, to int
	if n, _ := fmt.Sscanf(rest, "%d-%d", &from, &to); n == 1 {
		to = from
	}
	return ok && from <= line && line <= to
}

// holds tells whether a test fails when one function is taken out.
func (k *cutting) holds(ctx context.Context, fn cutFunction, own []string, all bool) (held bool, took float64, err error) {
	for _, names := range [][]string{own, nil} {
		if names != nil && len(names) == 0 || names == nil && !all {
			continue
		}
		for _, cut := range []code.Cut{code.CutZero, code.CutOther} {
			s, err := k.suiteWith(ctx, string(cut)+":"+fn.id, names)
			if err != nil {
				return false, took, err
			}
			if took += s.receipt.Duration; k.turnsRed(s) {
				return true, took, nil
			}
		}
	}
	return false, took, nil
}

// turnsRed tells whether something fails with a cut that passes without.
func (k *cutting) turnsRed(s suite) bool {
	for t, status := range s.tests {
		if status == agency.TestFailed && k.f.claimSuite.tests[t] == agency.TestPassed && !slices.Contains(k.f.retried.flaky, t) {
			return true
		}
	}
	return len(s.broken) > len(k.f.claimSuite.broken)
}
