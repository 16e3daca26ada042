package report

import (
	"cmp"
	"maps"
	"slices"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/check"
)

// checks counts the tests before and after, by receipts of the whole tree that
// the run began from and of the newest that landed and was tested.
func (g *gatherer) checks() error {
	before, _ := whole(g.on[g.in.BaseTree])
	var after agency.Receipt
	for _, l := range g.in.Landed {
		found := false
		if after, found = whole(g.on[l.Tree]); found {
			g.r.Rollup.LintPassed = lint(g.on[l.Tree])
			break
		}
	}
	g.r.Rollup.Before, g.r.Rollup.After = count(before), count(after)
	if before.Parsed && after.Parsed {
		was, err := g.tests(before)
		if err != nil {
			return err
		}
		is, err := g.tests(after)
		if err != nil {
			return err
		}
		known := map[string]bool{}
		for _, t := range was {
			known[t.Name] = true
		}
		added := 0
		for _, t := range is {
			if t.Status == agency.TestPassed && !known[t.Name] {
				added++
			}
		}
		g.r.Rollup.TestsAdded = &added
	}
	return nil
}

// rank says how much of a tree a receipt's check looked at: nothing counts of
// an agent's own workspace, and a claim may have been tested in part.
func rank(r agency.Receipt) int {
	switch check.Stage(r.Stage) {
	case check.StageLanding, check.StageTarget:
		return 3
	case check.StageBase:
		return 2
	case check.StageClaim:
		return 1
	default:
		return 0
	}
}

// whole is the receipt of the test command on a whole tree: one that was run
// for fewer tests, such as those that are run again alone, has fewer results.
func whole(rs []agency.Receipt) (best agency.Receipt, found bool) {
	for _, r := range rs {
		if r.Kind != agency.CheckTest {
			continue
		}
		if !found || cmp.Or(cmp.Compare(rank(r), rank(best)), cmp.Compare(results(r), results(best))) >= 0 {
			best, found = r, true
		}
	}
	return best, found
}

func results(r agency.Receipt) int { return r.Passed + r.Failed + r.Skipped }

func count(r agency.Receipt) *agency.TestCount {
	if !r.Parsed {
		return nil
	}
	return &agency.TestCount{Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped}
}

// lint is how the last linting of a tree ended; nil: there was none.
func lint(rs []agency.Receipt) (ok *bool) {
	for _, r := range rs {
		if r.Kind == agency.CheckLint {
			passed := r.OK()
			ok = &passed
		}
	}
	return ok
}

// coverage is of the whole change on the tree that landed last, whoever wrote
// which part of it: sums over contracts would count a line twice that two of them
// changed, and miss the tests of one that run the lines of another.
func (g *gatherer) coverage() {
	if g.in.Added == nil || g.covered == nil {
		return
	}
	c := check.OfChange(g.covered, g.in.Added)
	g.r.Rollup.Coverage = &c
}

// cost sums what was spent, in total and by role, dearest first.
func (g *gatherer) cost() {
	sum := &g.r.Rollup
	sum.WallSeconds = g.Wall.Seconds()
	total := budget.Sum(g.Lines, nil)
	sum.Requests, sum.Lost, sum.Tokens, sum.CostUSD, sum.Unpriced = total.Requests, total.Lost, total.Tokens, total.Money.Float(), total.Unpriced
	by := budget.By(g.Lines, func(l budget.Line) agency.RoleID { return l.Role })
	for _, role := range slices.Sorted(maps.Keys(by)) {
		t := by[role]
		g.r.CostByRole = append(g.r.CostByRole, agency.RoleCost{Role: role, Requests: t.Requests, Tokens: t.Tokens, CostUSD: t.Money.Float(), Unpriced: t.Unpriced})
	}
	slices.SortStableFunc(g.r.CostByRole, func(a, b agency.RoleCost) int {
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Role, b.Role))
	})
}
