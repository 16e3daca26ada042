// Package report folds a run's records into what it came to: contracts by how
// they ended, files by what landed, tests before and after by receipts, cost
// by the budget's lines, and what is left open. It reads and never asks an
// agent; what a manager says stands beside it, marked as such.
//
// It decides nothing and stores nothing.
package report

import (
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/verdicts"
)

// Input is what the store alone does not know.
type Input struct {
	// Landed are the commits on the run's branch, newest first; nil where git
	// could not be asked. BaseTree is the tree that they begin from.
	Landed   []git.CommitChanges
	BaseTree agency.OID
	// Shared are the globs of files that any contract may change.
	Shared []string
	// Local are the user's edits below the work; nil: there are none.
	Local *agency.LocalEdits
	// Added are the lines that the run's branch adds to its base, by file; nil
	// where git could not be asked.
	Added map[string][]check.Lines
}

// Gather folds a run's records into its report.
func Gather(q *store.Snapshot, id agency.RunID, in Input) (agency.Report, error) {
	r, err := read(q, id)
	if err != nil {
		return agency.Report{}, err
	}
	if len(in.Landed) > 0 {
		if r.covered, err = check.Covered(q, id, in.Landed[0].Tree); err != nil {
			return agency.Report{}, err
		}
	}
	return fold(r, in), nil
}

// records are what a report is measured by.
type records struct {
	run       agency.Run
	contracts []agency.Contract
	verdicts  []agency.Verdict // in their order
	reviews   []agency.Review  // in their order
	gates     []agency.Gate
	receipts  []agency.Receipt
	lines     []budget.Line
	wall      time.Duration
	landings  []agency.Merged // oldest first, without the final merge
	words     *agency.ManagerWords
	covered   []check.FileCoverage // of what landed last
}

func read(q *store.Snapshot, id agency.RunID) (r records, err error) {
	for _, one := range []func() error{
		func() error { r.run, err = registry.Run(q, id); return err },
		func() error { r.contracts, err = registry.Contracts(q, id); return err },
		func() error { r.verdicts, err = verdicts.All(q, id); return err },
		func() error { r.reviews, err = registry.Reviews(q, id); return err },
		func() error { r.gates, err = registry.Gates(q, id); return err },
		func() error { r.receipts, err = check.Receipts(q, id); return err },
		func() error { r.lines, err = budget.Lines(q, id); return err },
		func() error { r.landings, err = landings(q, id); return err },
		func() error { r.words, err = registry.Words(q, id); return err },
	} {
		if err := one(); err != nil {
			return r, err
		}
	}
	root, err := budget.Read(q, id, budget.Root)
	r.wall = root.Wall
	return r, err
}

// gatherer folds records into a report.
type gatherer struct {
	records
	in       Input
	r        agency.Report
	passed   map[agency.ContractID]agency.Verdict // the last that passed
	judged   map[agency.ContractID]agency.Verdict // the last
	reviewed map[agency.ContractID][]agency.Review
	red      map[agency.ContractID][]agency.Red
	spent    map[agency.ContractID]budget.Total
	complete map[agency.ContractID]bool                // whose landings count: complete, and work
	net      map[string]over                           // what became of files by all landings
	brought  map[agency.ContractID][]git.CommitChanges // by the landings of each contract, newest first
	accepted []agency.Weakening
	commit   map[agency.OID]agency.ContractID   // whose landing each is
	commits  map[agency.ContractID][]agency.OID // of each contract, oldest first
}

func fold(from records, in Input) agency.Report {
	g := &gatherer{
		records: from, in: in, passed: map[agency.ContractID]agency.Verdict{}, judged: map[agency.ContractID]agency.Verdict{},
		reviewed: agency.ByContract(from.reviews, func(r agency.Review) agency.ContractID { return r.ContractID }),
		red:      check.LastReds(from.receipts), spent: budget.By(from.lines, func(l budget.Line) agency.ContractID { return l.Contract }),
		complete: map[agency.ContractID]bool{}, commit: map[agency.OID]agency.ContractID{},
		net: byLandings(in.Landed, everyOne), brought: map[agency.ContractID][]git.CommitChanges{},
	}
	g.r = agency.Report{
		RunID: g.run.ID, Goal: g.run.Goal, Mode: g.run.Mode, State: g.run.State, Reason: g.run.Reason, Branch: g.run.Branch, Target: g.run.Target,
		Merged: g.run.Merged, Local: in.Local, Rollup: agency.Rollup{Errors: []string{}}, Contracts: []agency.ReportContract{}, CostByRole: []agency.RoleCost{}, Manager: g.words,
		LeftOpen: agency.LeftOpen{
			Contracts: []agency.OpenContract{}, Asserted: []agency.OpenCriterion{}, Weakened: []agency.OpenWeakening{},
			Leftovers: []agency.OpenFile{}, Writes: []agency.UndeclaredWrite{}, Flaky: []string{}, Unchecked: []string{},
		},
	}
	if g.run.MovedTo != "" {
		g.r.Mode = g.run.MovedTo
	}
	for _, v := range g.verdicts {
		if v.Pass && v.ContractID != "" {
			g.passed[v.ContractID] = v
		}
		g.judged[v.ContractID] = v
	}
	for _, c := range g.contracts {
		g.complete[c.ID] = c.Status == agency.StatusComplete
	}
	for _, one := range g.gates {
		if one.Decision.Verb == agency.Approve {
			g.accepted = append(g.accepted, one.Weakened...)
		}
	}
	g.commits = map[agency.ContractID][]agency.OID{}
	for _, l := range g.landings {
		g.commit[l.Commit], g.commits[l.Contract] = l.Contract, append(g.commits[l.Contract], l.Commit)
	}
	for _, l := range in.Landed {
		g.brought[g.commit[l.Commit]] = append(g.brought[g.commit[l.Commit]], l)
	}
	g.levels()
	g.work()
	g.checks()
	g.coverage()
	g.cost()
	g.r.Acts = agency.ActsOf(g.gates)
	return g.r
}

// landings are those of a run, on its branch and on the lines below it, oldest first.
func landings(q store.Querier, id agency.RunID) (out []agency.Merged, err error) {
	const page = 1000
	for after := int64(0); ; {
		evs, err := event.Since(q, after, event.Filter{Run: id, Category: agency.CategoryGit}, page)
		if err != nil {
			return nil, err
		}
		for _, ev := range evs {
			after = ev.ID
			d, err := agency.DecodeDetail(ev)
			if m, ok := d.(*agency.Merged); ok && err == nil && m.Contract != "" {
				out = append(out, *m)
			}
		}
		if len(evs) < page {
			return out, nil
		}
	}
}

// work folds the contracts; what a leader holds is no work.
func (g *gatherer) work() {
	for _, c := range g.contracts {
		if !roster.Leads(c.AssignedRole) {
			g.contract(c)
		}
	}
	sum := &g.r.Rollup
	if g.run.Feature != nil {
		sum.FeatureID = g.run.Feature.ID
	}
	for _, c := range g.r.Contracts {
		n := len(c.Reviews)
		if c.Status != agency.StatusComplete || n == 0 {
			continue
		}
		approved := c.Reviews[n-1].Verdict == agency.ReviewApprove && (sum.ReviewApproved == nil || *sum.ReviewApproved)
		sum.ReviewApproved = &approved
	}
	if sum.Complete > 0 && g.in.Landed != nil {
		sum.Files = filesOver(byLandings(g.in.Landed, func(c agency.OID) bool { return g.complete[g.commit[c]] }))
	}
	sum.Success = sum.Complete > 0 && sum.Failed+sum.Blocked+sum.Unfinished == 0 && (sum.ReviewApproved == nil || *sum.ReviewApproved)
	slices.Sort(g.r.LeftOpen.Flaky)
	g.r.LeftOpen.Flaky = slices.Compact(g.r.LeftOpen.Flaky)
	slices.Sort(g.r.LeftOpen.Unchecked)
	g.r.LeftOpen.Unchecked = slices.Compact(g.r.LeftOpen.Unchecked)
}

func (g *gatherer) contract(c agency.Contract) {
	if g.dropped(c) {
		c.Status, c.Error = agency.StatusCancelled, "it landed on the line of its workstream, which never reached the run's branch"
	}
	v := g.passed[c.ID]
	line := agency.ReportContract{
		ID: c.ID, Title: c.Title, Role: c.AssignedRole, Status: c.Status, Error: c.Error, Attempts: c.Attempts, Iterations: c.Iterations,
		Commits: g.commits[c.ID], Criteria: v.Proofs,
	}
	if line.Commits == nil {
		line.Commits = []agency.OID{}
	}
	g.review(v, &line)
	line.Red = g.red[c.ID]
	if len(line.Criteria) == 0 || c.Status != agency.StatusComplete {
		line.Criteria = agency.Measured(agency.ProveWithoutVerdict(c, g.reviewed[c.ID]), g.judged[c.ID])
	}
	spent := g.spent[c.ID]
	line.Tokens, line.CostUSD = spent.Tokens, spent.Money.Float()
	sum := &g.r.Rollup
	sum.Total++
	sum.Attempts += c.Attempts
	sum.Iterations += c.Iterations
	*tally(sum, c.Status)++
	if c.Status == agency.StatusFailed {
		sum.Errors = append(sum.Errors, string(c.ID)+": "+c.Error)
	}
	if c.Status == agency.StatusComplete {
		g.landed(c, v, &line)
	} else {
		g.r.LeftOpen.Contracts = append(g.r.LeftOpen.Contracts, agency.OpenContract{ID: c.ID, Title: c.Title, Status: c.Status, Reason: c.Error})
	}
	g.r.Contracts = append(g.r.Contracts, line)
}

// review counts a contract's reviews and takes their word for what nothing
// else proves of the files that landed.
func (g *gatherer) review(v agency.Verdict, line *agency.ReportContract) {
	for _, r := range g.reviewed[line.ID] {
		line.Reviews = append(line.Reviews, r)
		g.r.Rollup.Reviews++
		if r.Verdict == agency.ReviewApprove {
			g.r.Rollup.Approvals++
		}
		if r.Tree == v.Tree {
			line.Criteria = agency.ProveByReview(line.Criteria, r)
		}
	}
}

// tally is the count of a status.
func tally(sum *agency.Rollup, s agency.Status) *int {
	switch s {
	case agency.StatusComplete:
		return &sum.Complete
	case agency.StatusFailed:
		return &sum.Failed
	case agency.StatusBlocked:
		return &sum.Blocked
	case agency.StatusCancelled:
		return &sum.Cancelled
	default:
		return &sum.Unfinished
	}
}

// landed adds what a contract brought onto the run's branch, and what of it
// rests on somebody's word.
func (g *gatherer) landed(c agency.Contract, v agency.Verdict, line *agency.ReportContract) {
	o := &g.r.LeftOpen
	line.Criteria = g.undone(line)
	for _, p := range line.Criteria {
		if p.Proof == agency.ProofAsserted || p.Proof == agency.ProofOpen {
			o.Asserted = append(o.Asserted, agency.OpenCriterion{Contract: c.ID, Proof: p})
		}
	}
	for _, w := range v.Weakened {
		o.Weakened = append(o.Weakened, agency.OpenWeakening{
			Contract: c.ID, Weakening: w, Accepted: slices.ContainsFunc(g.accepted, w.Same),
		})
	}
	for _, l := range v.Leftovers {
		o.Leftovers = append(o.Leftovers, agency.OpenFile{Contract: c.ID, Leftover: l})
	}
	o.Flaky, o.Unchecked = append(o.Flaky, v.Flaky...), append(o.Unchecked, v.Unchecked...)
	line.Coverage, line.Unproved, line.Expectations = v.Coverage, v.Unproved, v.Expectations
	if g.in.Landed == nil {
		return
	}
	line.Files = filesOver(byLandings(g.brought[line.ID], everyOne))
	if extra := agency.Undeclared(c, slices.Concat(line.Files.Created, line.Files.Modified, line.Files.Deleted), g.in.Shared); len(extra) > 0 {
		o.Writes = append(o.Writes, agency.UndeclaredWrite{Contract: c.ID, Files: extra})
	}
}
