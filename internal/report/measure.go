package report

import (
	"cmp"
	"slices"

	"agency/internal/agency"
	"agency/internal/check"
)

// checks counts the tests before and after, by receipts of the whole tree that
// the run began from and of the newest that landed and was tested.
func (g *gatherer) checks() {
	byTree := map[agency.OID][]agency.Receipt{}
	for _, r := range g.receipts {
		if rank(r) > 0 {
			byTree[r.Tree] = append(byTree[r.Tree], r)
		}
	}
	before, _ := whole(byTree[g.in.BaseTree])
	var after agency.Receipt
	for _, l := range g.in.Landed {
		found := false
		if after, found = whole(byTree[l.Tree]); found {
			g.r.Rollup.LintPassed = lint(byTree[l.Tree])
			break
		}
	}
	g.r.Rollup.Before, g.r.Rollup.After = count(before), count(after)
	if before.Parsed && after.Parsed {
		known := map[string]bool{}
		for _, t := range before.Tests {
			known[t.Name] = true
		}
		added := 0
		for _, t := range after.Tests {
			if t.Status == agency.TestPassed && !known[t.Name] {
				added++
			}
		}
		g.r.Rollup.TestsAdded = &added
	}
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

// cost sums what was spent, in total and by role, dearest first.
func (g *gatherer) cost() {
	sum := &g.r.Rollup
	sum.WallSeconds = g.wall.Seconds()
	var total agency.Money
	money := map[agency.RoleID]agency.Money{}
	for _, l := range g.lines {
		i := slices.IndexFunc(g.r.CostByRole, func(c agency.RoleCost) bool { return c.Role == l.Role })
		if i < 0 {
			i = len(g.r.CostByRole)
			g.r.CostByRole = append(g.r.CostByRole, agency.RoleCost{Role: l.Role})
		}
		c := &g.r.CostByRole[i]
		money[l.Role] += l.Money
		total += l.Money
		c.Requests, c.Tokens, c.CostUSD, c.Unpriced = c.Requests+l.Requests, c.Tokens+l.Billed, money[l.Role].Float(), c.Unpriced || l.Unpriced
		sum.Requests, sum.Tokens, sum.Unpriced = sum.Requests+l.Requests, sum.Tokens+l.Billed, sum.Unpriced || l.Unpriced
	}
	sum.CostUSD = total.Float()
	slices.SortStableFunc(g.r.CostByRole, func(a, b agency.RoleCost) int {
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Role, b.Role))
	})
}
