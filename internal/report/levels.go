package report

import (
	"slices"

	"agency/internal/agency"
)

// dropped tells whether what a contract landed is on no branch, and will not be: its line
// never landed on the level above, and whoever planned it has come to its end.
func (g *gatherer) dropped(c agency.Contract) bool {
	commits := g.commits[c.ID]
	if c.Status != agency.StatusComplete || len(commits) == 0 || g.in.Landed == nil || slices.ContainsFunc(commits, g.onBranch) {
		return false
	}
	return g.below[c.ID] && g.ended[c.ParentID]
}

func (g *gatherer) onBranch(commit agency.OID) bool { return g.branch[commit] }

// levels are what landed where, in a run that has lines below its branch, with the checks
// that let the last of it land there.
func (g *gatherer) levels() {
	if !slices.ContainsFunc(g.Landings, func(l agency.Merged) bool { return l.Level == agency.OnWorkstream }) {
		return
	}
	type line struct{ name, contract string }
	for _, level := range []agency.LandingLevel{agency.OnWorkstream, agency.OnIntegration, agency.OnRun} {
		at, told := map[string]int{}, map[line]bool{}
		for _, l := range g.Landings {
			if l.Level != level {
				continue
			}
			i, known := at[l.Branch]
			if !known {
				i = len(g.r.Rollup.Levels)
				at[l.Branch] = i
				g.r.Rollup.Levels = append(g.r.Rollup.Levels, agency.ReportLevel{Level: level, Name: l.Branch})
			}
			o := &g.r.Rollup.Levels[i]
			if one := (line{l.Branch, string(l.Contract)}); !told[one] {
				told[one] = true
				o.Contracts = append(o.Contracts, l.Contract)
			}
			o.Commit, o.Tree, o.Checks = l.Commit, l.Checked, agency.Green(g.on[l.Checked])
			o.Apart = g.in.Landed != nil && !g.onBranch(l.Commit)
		}
	}
}
