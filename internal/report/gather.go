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
	"agency/internal/regexp"
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
	return Fold(q, r, in)
}

// Fold is Gather of records that were read.
func Fold(q *store.Snapshot, r Records, in Input) (_ agency.Report, err error) {
	if len(in.Landed) > 0 {
		if r.covered, err = check.Covered(q, r.Run.ID, in.Landed[0].Tree); err != nil {
			return agency.Report{}, err
		}
	}
	if r.said, err = registry.Said(q, r.Run.ID, ""); err != nil {
		return agency.Report{}, err
	}
	g := gatherer{Records: r, in: in, tests: func(r agency.Receipt) ([]agency.TestResult, error) {
		whole, err := check.Receipt(q, r.ID)
		return whole.Tests, err
	}}
	return g.fold()
}

// TakeBack gives the proofs of a run's contracts as their lines in its report have them:
// without what a later landing took back.
func TakeBack(r Records, in Input) func(c *agency.Contract, proofs []agency.Proof) []agency.Proof {
	g := gatherer{Records: r, in: in}
	if len(in.Landed) > 0 {
		g.locate()
	}
	return func(c *agency.Contract, proofs []agency.Proof) []agency.Proof {
		if len(g.net) == 0 || c.Status != agency.StatusComplete || roster.Leads(c.AssignedRole) || g.dropped(*c) {
			return proofs
		}
		return g.undone(c.ID, proofs)
	}
}

// Records are what a report is measured by.
type Records struct {
	Run       agency.Run
	Contracts []agency.Contract
	Verdicts  []agency.Verdict // in their order
	Reviews   []agency.Review  // in their order
	Gates     []agency.Gate
	Receipts  []agency.Receipt // in their order, as check.Outcomes has them
	Lines     []budget.Line
	Wall      time.Duration
	Landings  []agency.Merged // of contracts, on the run's branch and the lines below it, oldest first
	Words     *agency.ManagerWords

	said    map[agency.ContractID]string // by agents of what they claimed
	covered []check.FileCoverage         // of what landed last
	ledger  budget.Ledger                // whose lines they are
}

func read(q *store.Snapshot, id agency.RunID) (r Records, err error) {
	for _, one := range []func() error{
		func() error { r.Run, err = registry.Run(q, id); return err },
		func() error { r.Contracts, err = registry.Contracts(q, id); return err },
		func() error { r.Verdicts, err = verdicts.All(q, id); return err },
		func() error { r.Reviews, err = registry.Reviews(q, id); return err },
		func() error { r.Receipts, err = check.Outcomes(q, id, 0); return err },
		func() error { r.Landings, err = landings(q, id); return err },
		func() error { return r.Refresh(q, id) },
	} {
		if err := one(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Refresh reads the records of a run that change, which are few: all but itself, its contracts
// and what is only ever added.
func (r *Records) Refresh(q *store.Snapshot, id agency.RunID) (err error) {
	for _, one := range []func() error{
		func() error { r.Gates, err = registry.Gates(q, id); return err },
		func() error { err = r.ledger.Refresh(q, id); r.Lines = r.ledger.Lines; return err },
		func() error { r.Words, err = registry.Words(q, id); return err },
	} {
		if err := one(); err != nil {
			return err
		}
	}
	root, err := budget.Read(q, id, budget.Root)
	r.Wall = root.Wall
	return err
}

// gatherer folds records into a report.
type gatherer struct {
	Records
	onto
	in       Input
	tests    func(agency.Receipt) ([]agency.TestResult, error) // of a receipt, which may be here without them
	r        agency.Report
	passed   map[agency.ContractID]agency.Verdict // the last that passed
	judged   map[agency.ContractID]agency.Verdict // the last
	reviewed map[agency.ContractID][]agency.Review
	red      map[agency.ContractID][]agency.Red
	spent    map[agency.ContractID]budget.Total
	complete map[agency.ContractID]bool      // whose landings count: complete, and work
	ended    map[agency.ContractID]bool      // as whatever it came to
	on       map[agency.OID][]agency.Receipt // by tree, without those of trials, which say nothing of the work
	net      map[string]over                 // what became of files by all landings
	accepted []agency.Weakening
}

// onto is which contract landed what, and where.
type onto struct {
	commit  map[agency.OID]agency.ContractID          // whose landing each is
	commits map[agency.ContractID][]agency.OID        // of each contract, oldest first
	brought map[agency.ContractID][]git.CommitChanges // by the landings of each contract, newest first
	branch  map[agency.OID]bool                       // commits on the run's branch
	below   map[agency.ContractID]bool                // who landed on a line below it
}

// locate finds who landed what, and where.
func (g *gatherer) locate() {
	g.complete, g.ended, g.below = map[agency.ContractID]bool{}, map[agency.ContractID]bool{}, map[agency.ContractID]bool{}
	g.commit, g.branch, g.commits = map[agency.OID]agency.ContractID{}, map[agency.OID]bool{}, map[agency.ContractID][]agency.OID{}
	g.net, g.brought = byLandings(g.in.Landed, everyOne), map[agency.ContractID][]git.CommitChanges{}
	for i := range g.Contracts {
		c := &g.Contracts[i]
		g.complete[c.ID], g.ended[c.ID] = c.Status == agency.StatusComplete, c.Status.Final()
	}
	for _, l := range g.Landings {
		g.commit[l.Commit], g.commits[l.Contract] = l.Contract, append(g.commits[l.Contract], l.Commit)
		g.below[l.Contract] = g.below[l.Contract] || l.Level != "" && l.Level != agency.OnRun
	}
	for _, l := range g.in.Landed {
		g.brought[g.commit[l.Commit]] = append(g.brought[g.commit[l.Commit]], l)
		g.branch[l.Commit] = true
	}
}

func (g *gatherer) fold() (agency.Report, error) {
	g.passed, g.judged = map[agency.ContractID]agency.Verdict{}, map[agency.ContractID]agency.Verdict{}
	g.reviewed = agency.ByContract(g.Reviews, func(r agency.Review) agency.ContractID { return r.ContractID })
	g.red, g.spent = check.LastReds(g.Receipts), budget.By(g.Lines, func(l budget.Line) agency.ContractID { return l.Contract })
	g.on = map[agency.OID][]agency.Receipt{}
	g.locate()
	g.r = agency.Report{
		RunID: g.Run.ID, Number: g.Run.Number, Goal: g.Run.Goal, Mode: g.Run.Mode, Standing: agency.Standing{State: g.Run.State, Reason: g.Run.Reason, Failure: g.Run.Failure, Next: g.Run.Next()}, Branch: g.Run.Branch, Target: g.Run.Target,
		Merged: g.Run.Merged, Local: g.in.Local, Rollup: agency.Rollup{Errors: []string{}}, Contracts: []agency.ReportContract{}, CostByRole: []agency.RoleCost{}, Manager: g.Words,
		LeftOpen: agency.LeftOpen{
			Contracts: []agency.OpenContract{}, Asserted: []agency.OpenCriterion{}, Weakened: []agency.OpenWeakening{},
			Leftovers: []agency.OpenFile{}, Writes: []agency.UndeclaredWrite{}, Flaky: []string{}, Unchecked: []string{},
		},
	}
	if g.Run.MovedTo != "" {
		g.r.Mode = g.Run.MovedTo
	}
	for _, v := range g.Verdicts {
		if v.Pass && v.ContractID != "" {
			g.passed[v.ContractID] = v
		}
		g.judged[v.ContractID] = v
	}
	for _, one := range g.Gates {
		if one.Decision.Verb == agency.Approve && !one.Decision.Rebases() {
			g.accepted = append(g.accepted, one.Weakened...)
		}
	}
	for _, r := range g.Receipts {
		if rank(r) > 0 {
			g.on[r.Tree] = append(g.on[r.Tree], r)
		}
	}
	g.levels()
	g.work()
	if err := g.checks(); err != nil {
		return agency.Report{}, err
	}
	g.coverage()
	g.cost()
	g.r.Acts, g.r.Words = agency.ActsOf(g.Gates), agency.WordsOf(g.Gates)
	return g.r, nil
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
	for _, c := range g.Contracts {
		if !roster.Leads(c.AssignedRole) {
			g.contract(c)
		}
	}
	sum := &g.r.Rollup
	if g.Run.Feature != nil {
		sum.FeatureID = g.Run.Feature.ID
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
		c.Status, c.Error = agency.StatusCancelled, "it was integrated into its workstream, which never reached the run's branch"
	}
	v := g.passed[c.ID]
	line := agency.ReportContract{
		ID: c.ID, Title: c.Title, Role: c.AssignedRole, Status: c.Status, Error: c.Error, Attempts: c.Attempts, Iterations: c.Iterations,
		Commits: g.commits[c.ID], Criteria: v.Proofs, Said: g.said[c.ID],
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

var againID = regexp.MustCompile(`^(main|rework|undo|before|more|rebase)-\d+$`)

// doesAgain tells by their ids whether a contract does once more what another one did, or
// brings it together with its target: what both promise counts once, as the last one holds it.
func doesAgain(id, of agency.ContractID) bool {
	m, was := againID.FindStringSubmatch(string(id)), againID.FindStringSubmatch(string(of))
	return m != nil && (m[1] == "rebase" || m[1] == string(of) || was != nil && (was[1] == m[1] || was[1] == "rebase"))
}

// landed adds what a contract brought onto the run's branch, and what of it
// rests on somebody's word.
func (g *gatherer) landed(c agency.Contract, v agency.Verdict, line *agency.ReportContract) {
	o := &g.r.LeftOpen
	line.Criteria = g.undone(c.ID, line.Criteria)
	for _, p := range line.Criteria {
		o.Asserted = slices.DeleteFunc(o.Asserted, func(was agency.OpenCriterion) bool {
			return was.Proof.ID == p.ID && was.Proof.Text == p.Text && doesAgain(c.ID, was.Contract)
		})
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
