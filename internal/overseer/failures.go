package overseer

import (
	"cmp"
	"fmt"
	"slices"

	"agency/internal/config"
)

// findFailures looks for a check that stays red in the same way while files are
// changed, for errors that grow, for claims that are refused for the same, and for
// calls that fail one after another.
func findFailures(h *history, s config.Overseer) finding {
	for _, f := range []finding{
		sameRed(h.results, s), flips(h.results, s), alwaysRed(h.results, s), growing(h, s.FailureIncreaseThreshold), h.who.claims.find(s.LoopDetectionWindow),
	} {
		if f.severity != "" {
			return f
		}
	}
	failed := 0
	for _, c := range slices.Backward(h.calls) {
		if c.kind == reads && c.tool == shell {
			continue // a search that finds nothing ends so, too
		}
		if !c.failed {
			break
		}
		failed++
	}
	if failed > s.LoopDetectionWindow {
		return finding{Medium, 0.8, []string{fmt.Sprintf("the last %d calls all failed", failed)}, h.seq}
	}
	return finding{}
}

// sameRed counts runs of one check at the end that failed in the same way, or of one
// command that failed in whatever way.
func sameRed(rs []result, s config.Overseer) finding {
	if len(rs) == 0 || rs[len(rs)-1].red == "" {
		return finding{}
	}
	last, words, names, all, known, again := rs[len(rs)-1], 0, 0, 0, 0, false
	for _, r := range slices.Backward(rs) {
		if r.command != last.command {
			continue
		}
		if r.red == "" || r.passed != last.passed {
			break
		}
		if r.again {
			known++
		}
		if r.names == last.names && names == all {
			names++
			again = again || r.again
		}
		if r.red == last.red && words == all {
			words++
		}
		all++
	}
	least := few(s)
	if last.kin == shell { // a network comes back
		least++
	}
	in := func(severity Severity, confidence float64, form string, args ...any) finding {
		return finding{severity, confidence, []string{fmt.Sprintf(form, args...)}, last.seq}
	}
	switch {
	case words >= many(s):
		return in(High, 0.9, "`%s` failed %d times in a row in the same way", last.name(), words)
	case words >= least:
		return in(Medium, 0.8, "`%s` failed %d times in a row in the same way", last.name(), words)
	case names >= s.LoopDetectionWindow+2 && (again || names >= 2*many(s)): // else they may be mended in steps
		return in(Medium, 0.7, "`%s` failed %d times in a row by the same tests or findings", last.name(), names)
	case all >= many(s) && last.shown != "": // each in another way may be errors that are mended one by one
		severity := Low
		if known > 0 || all >= 2*many(s) {
			severity = Medium
		}
		return finding{severity, 0.6, []string{fmt.Sprintf("`%s` failed %d times in a row", last.name(), all)}, 0}
	}
	return finding{}
}

// flips counts the failures at the end each of which was seen before, such as two
// that alternate, or one of a command that is put in other words.
func flips(rs []result, s config.Overseer) finding {
	if len(rs) == 0 {
		return finding{}
	}
	last, words, names, all, others := rs[len(rs)-1], 0, 0, true, false
	for _, r := range slices.Backward(rs) {
		if r.kin != last.kin {
			continue
		}
		if !r.anew {
			break
		}
		names++
		others = others || r.names != last.names
		if all = all && r.again; all {
			words++
		}
	}
	least := few(s)
	if last.kin == shell {
		least++
	}
	switch {
	case words >= least:
		return finding{Medium, 0.8, []string{fmt.Sprintf("the last %d failures of `%s` had all been seen before", words, last.name())}, last.seq}
	case names >= s.LoopDetectionWindow+1 && others: // after the first one
		return finding{Medium, 0.7, []string{fmt.Sprintf("in its last %d runs `%s` failed where it had failed before", names, last.name())}, last.seq}
	}
	return finding{}
}

// alwaysRed looks for a test that failed in all of the last runs of a check, whose other
// failures come and go: where they are always the same, sameRed tells.
func alwaysRed(rs []result, s config.Overseer) finding {
	if len(rs) == 0 || len(rs[len(rs)-1].tests) == 0 {
		return finding{}
	}
	last, n, gone := rs[len(rs)-1], 0, 0
	common, next := slices.Clone(last.tests), last
	for _, r := range slices.Backward(rs) {
		if r.command != last.command {
			continue
		}
		still := slices.DeleteFunc(slices.Clone(common), func(t string) bool { return !slices.Contains(r.tests, t) })
		if len(still) == 0 {
			break
		}
		if slices.ContainsFunc(r.tests, func(t string) bool { return !slices.Contains(next.tests, t) }) {
			gone++
		}
		common, next = still, r
		n++
	}
	if n < s.LoopDetectionWindow+2 || gone < 2 { // who writes tests first has ever more of them
		return finding{}
	}
	return finding{Medium, 0.7, []string{fmt.Sprintf("%s failed in each of the last %d runs of `%s`, beside others that come and go", common[0], n, last.name())}, last.seq}
}

// name is the command for people.
func (r result) name() string { return cmp.Or(r.shown, r.command) }
