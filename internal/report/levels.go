package report

import (
	"slices"

	"agency/internal/agency"
	"agency/internal/git"
)

// dropped tells whether what a contract landed is on no branch, and will not be: its line
// never landed on the level above, and whoever planned it has come to its end.
func (g *gatherer) dropped(c agency.Contract) bool {
	commits := g.commits[c.ID]
	if c.Status != agency.StatusComplete || len(commits) == 0 || g.in.Landed == nil || slices.ContainsFunc(commits, g.onBranch) {
		return false
	}
	below := slices.ContainsFunc(g.landings, func(l agency.Merged) bool {
		return l.Contract == c.ID && l.Level != "" && l.Level != agency.OnRun
	})
	return below && slices.ContainsFunc(g.contracts, func(p agency.Contract) bool { return p.ID == c.ParentID && p.Status.Final() })
}

func (g *gatherer) onBranch(commit agency.OID) bool {
	return slices.ContainsFunc(g.in.Landed, func(l git.CommitChanges) bool { return l.Commit == commit })
}

// on are the receipts of a tree, without those of trials, which say nothing of the work.
func (g *gatherer) on(tree agency.OID) []agency.Receipt {
	return slices.DeleteFunc(slices.Clone(g.receipts), func(r agency.Receipt) bool { return r.Tree != tree || rank(r) == 0 })
}

// levels are what landed where, in a run that has lines below its branch, with the checks
// that let the last of it land there.
func (g *gatherer) levels() {
	if !slices.ContainsFunc(g.landings, func(l agency.Merged) bool { return l.Level == agency.OnWorkstream }) {
		return
	}
	for _, level := range []agency.LandingLevel{agency.OnWorkstream, agency.OnIntegration, agency.OnRun} {
		for _, l := range g.landings {
			if l.Level != level {
				continue
			}
			i := slices.IndexFunc(g.r.Rollup.Levels, func(o agency.ReportLevel) bool { return o.Level == level && o.Name == l.Branch })
			if i < 0 {
				i = len(g.r.Rollup.Levels)
				g.r.Rollup.Levels = append(g.r.Rollup.Levels, agency.ReportLevel{Level: level, Name: l.Branch})
			}
			o := &g.r.Rollup.Levels[i]
			if !slices.Contains(o.Contracts, l.Contract) {
				o.Contracts = append(o.Contracts, l.Contract)
			}
			o.Commit, o.Tree, o.Checks = l.Commit, l.Checked, agency.Green(g.on(l.Checked))
			o.Apart = g.in.Landed != nil && !g.onBranch(l.Commit)
		}
	}
}
