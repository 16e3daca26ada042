package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/artifact"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/decision"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/reservation"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
)

// Inspect is a run with everything that it did, or as a tree. A run that was looked at before
// costs what has changed since.
func (r *Reader) Inspect(ctx context.Context, id agency.RunID, of ...api.Extent) (doc api.InspectDoc, err error) {
	k, err := r.looks.there(ctx, r.o.DB, id)
	if err != nil {
		return doc, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	in := r.landed(ctx, id, &k.git)
	err = r.read(ctx, func(q *store.Snapshot) error {
		if err := k.refresh(q, id); err != nil {
			return err
		}
		known := k.records
		stand := standingsOf(known.Contracts)
		if doc.RunDoc, err = r.docWith(q, known.Run, stand, budget.Sum(known.Lines, nil), shareOf(known.Run, stand, &k.told.progress)); err != nil {
			return err
		}
		runs, err := registry.Runs(q)
		if err != nil {
			return err
		}
		doc.FollowedBy = followersOf(runs)[id]
		doc.Reviews = orEmpty(slices.Clip(known.Reviews))
		doc.Contracts, doc.Receipts = contracts(known, report.TakeBack(known, in)), receipts(known.Receipts)
		if doc.Sessions, doc.Planned, err = sessions(q, known); err != nil {
			return err
		}
		if doc.Agents, err = agents(q, known); err != nil {
			return err
		}
		if doc.Conflicts, err = conflicts(q, id); err != nil {
			return err
		}
		if doc.Pattern, err = pattern(q, known); err != nil {
			return err
		}
		k.told.show(&doc)
		landed(&doc)
		if err := healthy(q, k.told.trail, &doc); err != nil {
			return err
		}
		switch api.OneOf(of) {
		case api.Checks:
			for i := range doc.Receipts {
				doc.Receipts[i].Output = known.Receipts[i].Output
			}
			fallthrough
		case api.Tree:
			doc.Report.Acts, doc.Report.Words = agency.ActsOf(known.Gates), agency.WordsOf(known.Gates)
			return nil
		}
		return beyond(q, known, in, &doc)
	})
	return doc, err
}

// beyond adds to a run what its tree has not.
func beyond(q *store.Snapshot, known report.Records, in report.Input, doc *api.InspectDoc) (err error) {
	doc.Verdicts = orEmpty(slices.Clip(known.Verdicts))
	if doc.Decisions, err = decision.List(q, doc.ID, ""); err != nil {
		return err
	}
	if doc.Names, err = reservation.List(q, doc.ID); err != nil {
		return err
	}
	freed, err := reservation.Freed(q, doc.ID)
	if err != nil {
		return err
	}
	doc.Names = append(doc.Names, freed...)
	if doc.Artifacts, err = artifact.List(q, doc.ID, agency.ArtifactKinds()...); err != nil {
		return err
	}
	if doc.Threads, err = threads(q, known.Run); err != nil {
		return err
	}
	if doc.Report, err = report.Fold(q, known, in); err != nil {
		return err
	}
	doc.Report.Shorten()
	doc.Report.State, doc.Report.Reason, doc.Report.Failure, doc.Report.Next = doc.State, doc.Reason, doc.Failure, doc.Next
	return nil
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
func contracts(known report.Records, takeBack func(*agency.Contract, []agency.Proof) []agency.Proof) []api.ContractDoc {
	docs := make([]api.ContractDoc, len(known.Contracts))
	red, spent := check.LastReds(known.Receipts), budget.By(known.Lines, func(l budget.Line) agency.ContractID { return l.Contract })
	judged := make(map[agency.ContractID]*agency.Verdict, len(known.Verdicts))
	for i := range known.Verdicts {
		judged[known.Verdicts[i].ContractID] = &known.Verdicts[i]
	}
	reviewed := agency.ByContract(known.Reviews, func(r agency.Review) agency.ContractID { return r.ContractID })
	for i := range docs {
		d := &docs[i]
		d.Contract, d.Leads = known.Contracts[i], known.Contracts[i].Steers() || !isWork(known.Contracts[i])
		last, reviews := cmp.Or(judged[d.ID], &agency.Verdict{}), reviewed[d.ID]
		d.TokensUsed, d.CostUSD, d.Red = spent[d.ID].Tokens, spent[d.ID].Money.Float(), red[d.ID]
		d.Unproved, d.Expectations, d.Unchecked = last.Unproved, last.Expectations, last.Unchecked
		if holds := last.Pass && len(last.Proofs) > 0; holds && (d.Status == agency.StatusComplete || !d.Status.Final()) {
			d.Criteria = last.Proofs
			for _, r := range reviews {
				if r.Tree == last.Tree {
					d.Criteria = agency.ProveByReview(d.Criteria, r)
				}
			}
		} else {
			d.Criteria = agency.Measured(agency.ProveWithoutVerdict(d.Contract, reviews), *last)
		}
		d.Criteria = takeBack(&d.Contract, d.Criteria)
	}
	return docs
}

func receipts(rs []agency.Receipt) []api.ReceiptDoc {
	docs, base := make([]api.ReceiptDoc, 0, len(rs)), check.OnBase(rs)
	for _, x := range rs {
		var red *agency.Red
		if one, ok := check.RedOf(x, base); ok {
			red = &one
		}
		docs = append(docs, api.ReceiptDoc{
			Stage: x.Stage, Trial: check.Stage(x.Stage).Words(), Red: red,
			ID: x.ID, Contract: x.ContractID, Kind: x.Kind, Command: x.Command, ExitCode: x.ExitCode, Cause: x.Why(),
			Passed: x.Passed, Failed: x.Failed, Skipped: x.Skipped, Seconds: x.Duration, CPU: x.CPU, Tree: x.Tree,
		})
	}
	return docs
}

// sessions are those of a run. One that was at work, or waited, when its run ended was
// stopped by that; nothing of it says so.
func sessions(q store.Querier, known report.Records) ([]api.SessionDoc, []api.PlannedDoc, error) {
	run := known.Run
	infos, err := record.Sessions(q, run.ID)
	if err != nil {
		return nil, nil, err
	}
	spent := budget.By(known.Lines, func(l budget.Line) string { return l.Node })
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

// healthy says how those are that are at work.
func healthy(q store.Querier, trail *overseer.Trail, doc *api.InspectDoc) error {
	asked, err := budget.UnderWay(q, doc.ID)
	for i := range doc.Sessions {
		s := &doc.Sessions[i]
		if s.Health == "ended" {
			continue
		}
		if h, at := trail.Health(s.ID); at {
			h = waitsFor(h, budget.SessionNode(s.ID), asked)
			s.Health, s.HealthSince, s.HealthReason = string(h.Condition), &h.Since, h.Why
		}
	}
	return err
}

// longAnswer is how long an answer takes that is waited for.
const longAnswer = 4 * time.Second

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
	by    agency.AgentID // none: the contract's verification
	what  string
	until time.Time // of what ends by itself
}

// add takes an event in. Whatever else whoever waits does shows that it waits no more.
func (w waits) add(ev agency.Event, d agency.Detail) {
	switch d := d.(type) {
	case *agency.ResourceWaited:
		w[ev.ContractID] = waiting{by: ev.AgentID, what: d.String()}
	case *agency.Retried:
		if d.Session == "" { // an attempt
			delete(w, ev.ContractID)
			return
		}
		again := ev.Time.Add(time.Duration(d.WaitSeconds * float64(time.Second)))
		w[ev.ContractID] = waiting{ev.AgentID, fmt.Sprintf("its model: %s, try %d at %s", strings.ReplaceAll(d.Cause, "_", " "), d.Attempt+1, again.Local().Format(time.TimeOnly)), again}
	case *agency.ResumedAfterCrash, *agency.RunResumed:
		clear(w)
	default:
		if now, ok := w[ev.ContractID]; ok && now.by == ev.AgentID {
			delete(w, ev.ContractID)
		}
	}
}

// show shows them in a run as it is at a time, with the contracts that others wait for.
func (w waits) show(doc *api.InspectDoc, at time.Time) {
	if doc.State != agency.StateRunning {
		return
	}
	complete := map[agency.ContractID]bool{}
	for _, c := range doc.Contracts {
		complete[c.ID] = c.Status == agency.StatusComplete
	}
	of := func(id agency.ContractID) waiting {
		if now := w[id]; now.until.IsZero() || at.Before(now.until) {
			return now
		}
		return waiting{}
	}
	for i, c := range doc.Contracts {
		doc.Contracts[i].WaitsFor = of(c.ID).what
		if c.Status == agency.StatusPending || c.Status == agency.StatusBlocked {
			ahead := slices.DeleteFunc(slices.Clone(c.DependsOn), func(d agency.ContractID) bool { return complete[d] })
			doc.Contracts[i].WaitsFor = cmp.Or(doc.Contracts[i].WaitsFor, agency.JoinIDs(ahead, ", "))
		}
	}
	for i, a := range doc.Agents {
		if now := of(a.Contract); now.by == a.ID && now.what != "" {
			doc.Agents[i].Activity = "waits for " + now.what
		}
	}
}

// awaited is the answer that a run waits for longest.
func awaited(asked []budget.Asked, at time.Time) string {
	if len(asked) == 0 || at.Sub(asked[0].Since) < longAnswer {
		return ""
	}
	return fmt.Sprintf("an answer of %s, asked at %s", asked[0].Model, asked[0].Since.Local().Format(time.TimeOnly))
}
