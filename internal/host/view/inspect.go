package view

import (
	"cmp"
	"context"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/artifact"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/decision"
	"agency/internal/effects/tierlog"
	"agency/internal/event"
	"agency/internal/host"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/verdicts"
)

// Inspect is a run with everything that it did.
func (r *Reader) Inspect(ctx context.Context, id agency.RunID) (doc api.InspectDoc, err error) {
	err = r.read(ctx, func(q *store.Snapshot) error {
		run, err := registry.Run(q, id)
		if err != nil {
			return err
		}
		all, err := registry.Contracts(q, id)
		if err != nil {
			return err
		}
		if doc.RunDoc, err = r.docWith(q, run, all); err != nil {
			return err
		}
		if doc.Reviews, err = registry.Reviews(q, id); err != nil {
			return err
		}
		doc.Reviews = orEmpty(doc.Reviews)
		if doc.Contracts, doc.Verdicts, err = contracts(q, id, all, doc.Reviews); err != nil {
			return err
		}
		if doc.Receipts, err = receipts(q, id); err != nil {
			return err
		}
		if doc.Sessions, doc.Planned, err = sessions(q, run); err != nil {
			return err
		}
		if doc.Agents, err = agents(q, id); err != nil {
			return err
		}
		if doc.Conflicts, err = conflicts(q, id); err != nil {
			return err
		}
		if doc.Decisions, err = decision.List(q, run.ID, ""); err != nil {
			return err
		}
		if doc.Names, err = reservation.List(q, run.ID); err != nil {
			return err
		}
		freed, err := reservation.Freed(q, run.ID)
		if err != nil {
			return err
		}
		doc.Names = append(doc.Names, freed...)
		if err := tiers(q, id, &doc); err != nil {
			return err
		}
		if doc.Threads, err = threads(q, run); err != nil {
			return err
		}
		if doc.Pattern, err = pattern(q, id); err != nil {
			return err
		}
		return fold(q, id, &doc)
	})
	if err == nil {
		doc.Report, err = r.report(ctx, id)
		doc.Report.State, doc.Report.Reason = doc.State, doc.Reason
	}
	takeBack(doc.Contracts, doc.Report)
	return doc, err
}

// tiers adds what the tiers of a run published, found and decided.
func tiers(q store.Querier, id agency.RunID, doc *api.InspectDoc) (err error) {
	if doc.Artifacts, err = artifact.List(q, id, agency.ArtifactKinds()...); err != nil {
		return err
	}
	if doc.Amendments, err = registry.PathAmendments(q, id, ""); err != nil {
		return err
	}
	if doc.Acceptances, err = tierlog.Acceptances(q, id); err != nil {
		return err
	}
	all, err := tierlog.Joints(q, id)
	for _, j := range all {
		doc.Joints = append(doc.Joints, api.JointDoc{Workstream: j.Workstream, By: j.By, JointVerdict: j.Verdict})
	}
	return err
}

// takeBack marks the criteria of contracts that a later landing took back, as measured by
// the report.
func takeBack(docs []api.ContractDoc, r agency.Report) {
	at := placesOf(docs)
	for _, c := range r.Contracts {
		i, known := at[c.ID]
		for _, lost := range c.Criteria {
			if !known || !lost.Undone {
				continue
			}
			for j := range docs[i].Criteria {
				if p := &docs[i].Criteria[j]; p.ID == lost.ID {
					*p = lost
				}
			}
		}
	}
}

// placesOf is where each contract stands.
func placesOf(docs []api.ContractDoc) map[agency.ContractID]int {
	at := make(map[agency.ContractID]int, len(docs))
	for i := range docs {
		at[docs[i].ID] = i
	}
	return at
}

// contracts are the run's contracts, each with the proofs of its last verdict, also of
// one that refused a claim; before that with its criteria as open.
func contracts(q *store.Snapshot, id agency.RunID, cs []agency.Contract, reviews []agency.Review) ([]api.ContractDoc, []agency.Verdict, error) {
	verdicts, err := verdicts.All(q, id)
	if err != nil {
		return nil, nil, err
	}
	lines, err := budget.Lines(q, id)
	if err != nil {
		return nil, nil, err
	}
	receipts, err := check.Receipts(q, id)
	if err != nil {
		return nil, nil, err
	}
	docs := make([]api.ContractDoc, 0, len(cs))
	red, spent := check.LastReds(receipts), budget.By(lines, func(l budget.Line) agency.ContractID { return l.Contract })
	judged := map[agency.ContractID]agency.Verdict{}
	for _, v := range verdicts {
		judged[v.ContractID] = v
	}
	reviewed := agency.ByContract(reviews, func(r agency.Review) agency.ContractID { return r.ContractID })
	for _, c := range cs {
		last, reviews := judged[c.ID], reviewed[c.ID]
		c.TokensUsed, c.CostUSD = spent[c.ID].Tokens, spent[c.ID].Money.Float()
		d := api.ContractDoc{
			Contract: c, Criteria: agency.ProveWithoutVerdict(c, reviews), Red: red[c.ID],
			Unproved: last.Unproved, Expectations: last.Expectations, Unchecked: last.Unchecked,
		}
		if holds := last.Pass && len(last.Proofs) > 0; holds && (c.Status == agency.StatusComplete || !c.Status.Final()) {
			d.Criteria = last.Proofs
			for _, r := range reviews {
				if r.Tree == last.Tree {
					d.Criteria = agency.ProveByReview(d.Criteria, r)
				}
			}
		} else {
			d.Criteria = agency.Measured(d.Criteria, last)
		}
		docs = append(docs, d)
	}
	return docs, orEmpty(verdicts), nil
}

func receipts(q *store.Snapshot, id agency.RunID) ([]api.ReceiptDoc, error) {
	rs, err := check.Receipts(q, id)
	docs := make([]api.ReceiptDoc, 0, len(rs))
	for _, x := range rs {
		var red *agency.Red
		if one, ok := check.RedOf(x, rs); ok {
			red = &one
		}
		docs = append(docs, api.ReceiptDoc{
			Stage: x.Stage, Trial: check.Stage(x.Stage).Words(), Red: red,
			ID: x.ID, Contract: x.ContractID, Kind: x.Kind, Command: x.Command, ExitCode: x.ExitCode, Cause: x.Why(),
			Passed: x.Passed, Failed: x.Failed, Skipped: x.Skipped, Tree: x.Tree,
		})
	}
	return docs, err
}

// sessions are those of a run. One that was at work, or waited, when its run ended was
// stopped by that; nothing of it says so.
func sessions(q store.Querier, run agency.Run) ([]api.SessionDoc, []api.PlannedDoc, error) {
	infos, err := record.Sessions(q, run.ID)
	if err != nil {
		return nil, nil, err
	}
	spent, err := budget.OfNodes(q, run.ID)
	docs := make([]api.SessionDoc, 0, len(infos))
	for _, i := range infos {
		if run.State.Final() && health(i.Outcome) != "ended" {
			i.Outcome, i.Reason = string(session.Stopped), "the run "+run.State.Has()
		}
		own := spent[budget.SessionNode(i.ID)]
		docs = append(docs, api.SessionDoc{
			ID: i.ID, Role: i.Role, Agent: i.Agent, Contract: i.Contract, Attempt: i.Attempt, Turns: i.Turns, Epochs: i.Epochs,
			Tokens: own.Tokens, CostUSD: own.Money.Float(), Unpriced: own.Unpriced, Outcome: i.Outcome, Reason: i.Reason, Health: health(i.Outcome),
		})
	}
	return docs, planned(infos), err
}

// planned are the plans with which sessions ended, the last of each contract.
func planned(infos []record.Info) (docs []api.PlannedDoc) {
	for _, i := range infos {
		if len(i.Plan) == 0 {
			continue
		}
		docs = slices.DeleteFunc(docs, func(d api.PlannedDoc) bool { return d.Contract == i.Contract })
		docs = append(docs, api.PlannedDoc{Contract: i.Contract, Role: i.Role, RetryBudgetMultiplier: max(1, i.Multiplier), Contracts: i.Plan, Tiers: i.Tiers})
	}
	return docs
}

// health is how a session is by its outcome alone.
func health(outcome string) string {
	switch outcome {
	case "running":
		return string(overseer.Working)
	case string(session.Parked):
		return string(overseer.Waiting)
	default:
		return "ended"
	}
}

// fold takes landings, interventions and how agents are from the run's events.
func fold(q store.Querier, id agency.RunID, doc *api.InspectDoc) error {
	doc.Landings = []api.LandingDoc{}
	kept, err := host.ReadRunConfig(q, id)
	if err != nil {
		return err
	}
	if g := kept.Plan; g != nil { // no session ended with it
		given := api.PlannedDoc{Contract: agency.PlanContract, RetryBudgetMultiplier: max(1, g.RetryBudgetMultiplier), Contracts: g.Contracts}
		doc.Planned = append([]api.PlannedDoc{given}, doc.Planned...)
	}
	trail, p, scarce := overseer.NewTrail(kept.Config.Overseer), agency.Progress{}, waits{}
	for after, more := int64(0), true; more; {
		evs, err := event.Since(q, after, event.Filter{Run: id}, page)
		if err != nil {
			return err
		}
		for _, ev := range evs {
			add(doc, &p, scarce, ev)
			trail.Observe(ev)
			after = ev.ID
		}
		more = len(evs) == page
	}
	doc.Interventions = orEmpty(trail.Interventions())
	progressed(doc, &p)
	scarce.show(doc)
	landed(doc)
	asked, err := budget.UnderWay(q, id)
	for i := range doc.Sessions {
		s := &doc.Sessions[i]
		if h, at := trail.Health(s.ID); at && s.Health != "ended" {
			h = waitsFor(h, budget.SessionNode(s.ID), asked)
			s.Health, s.HealthSince, s.HealthReason = string(h.Condition), &h.Since, h.Why
		}
	}
	return err
}

// longAnswer is how long an answer takes that is waited for.
const longAnswer = 10 * time.Second

// waitsFor is how an agent is whose request has no answer for a while.
func waitsFor(h overseer.Health, node string, asked []budget.Asked) overseer.Health {
	for _, a := range asked {
		if a.Node == node && h.Condition == overseer.Working && time.Since(a.Since) > longAnswer {
			return overseer.Health{Condition: overseer.Waiting, Since: a.Since, Why: "for an answer of " + a.Model}
		}
	}
	return h
}

// landed notes of each contract that landed where its criteria were looked for again.
func landed(doc *api.InspectDoc) {
	green := map[agency.OID]agency.ReceiptID{} // the last test command that passed, by tree
	on := map[agency.OID][]agency.Receipt{}
	for _, r := range doc.Receipts {
		if r.Trial == "" {
			on[r.Tree] = append(on[r.Tree], agency.Receipt{Kind: r.Kind, ExitCode: r.ExitCode, Cause: r.Cause, Failed: r.Failed})
		}
		if r.Kind == agency.CheckTest && r.ExitCode == 0 && r.Cause == "" && r.Failed == 0 {
			green[r.Tree] = r.ID
		}
	}
	at := placesOf(doc.Contracts)
	for i := range doc.Landings {
		l := &doc.Landings[i]
		if l.Contract != "" {
			l.Level = cmp.Or(l.Level, agency.OnRun) // a landing of an earlier version
		}
		if l.Checked == "" {
			continue
		}
		l.Checks = agency.Green(on[l.Checked])
		if i, known := at[l.Contract]; known {
			c := &doc.Contracts[i]
			c.Criteria = agency.ProveByLanding(c.Criteria, agency.LandedProof{Tree: l.Checked, Receipt: green[l.Checked]})
		}
	}
}

// progressed says how far contracts have come, and those that work on them.
func progressed(doc *api.InspectDoc, p *agency.Progress) {
	for i := range doc.Contracts {
		c := &doc.Contracts[i]
		if c.Progress = p.Of(c.ID); c.Status == agency.StatusComplete {
			c.Progress = 1 // also where its events are gone
		}
	}
	places := placesOf(doc.Contracts)
	for i := range doc.Agents {
		a := &doc.Agents[i]
		if at, known := places[a.Contract]; known {
			a.Progress = doc.Contracts[at].Progress
		}
	}
}

// waits are the commands that wait for what is scarce on the machine, by contract.
type waits map[agency.ContractID]waiting

type waiting struct {
	by   agency.AgentID // none: the contract's verification
	what string
}

// add takes an event in. Whatever else whoever waits does shows that it waits no more.
func (w waits) add(ev agency.Event, d agency.Detail) {
	switch d := d.(type) {
	case *agency.ResourceWaited:
		w[ev.ContractID] = waiting{ev.AgentID, d.String()}
	case *agency.ResumedAfterCrash, *agency.RunResumed:
		clear(w)
	default:
		if now, ok := w[ev.ContractID]; ok && now.by == ev.AgentID {
			delete(w, ev.ContractID)
		}
	}
}

func (w waits) show(doc *api.InspectDoc) {
	if doc.State != agency.StateRunning {
		return
	}
	for i, c := range doc.Contracts {
		doc.Contracts[i].WaitsFor = w[c.ID].what
	}
	for i, a := range doc.Agents {
		if now := w[a.Contract]; now.by == a.ID && now.what != "" {
			doc.Agents[i].Activity = "waits for " + now.what
		}
	}
}

func add(doc *api.InspectDoc, p *agency.Progress, scarce waits, ev agency.Event) {
	d, err := agency.DecodeDetail(ev)
	if err != nil { // of a newer version
		return
	}
	p.Add(ev, d)
	scarce.add(ev, d)
	switch d := d.(type) {
	case *agency.Merged:
		doc.Landings = append(doc.Landings, api.LandingDoc{Contract: d.Contract, Level: d.Level, Branch: d.Branch, Commit: d.Commit, Step: d.Step, MergeDetails: d.MergeDetails})
	case *agency.ModelRouted:
		doc.Routing = append(doc.Routing, api.RoutingDoc{Contract: ev.ContractID, Role: ev.Role, ModelRouted: *d})
	case *agency.PlanSubmitted:
		doc.Plans = append(doc.Plans, api.SubmittedDoc{Contract: ev.ContractID, Contracts: d.Contracts, RetryBudgetMultiplier: max(1, d.RetryBudgetMultiplier)})
	case *agency.PlanEstimated:
		if last := len(doc.Plans) - 1; last >= 0 {
			doc.Plans[last].Estimate = d
		}
	}
}
