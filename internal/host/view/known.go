package view

import (
	"context"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/host"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/store"
	"agency/internal/verdicts"
)

// mostKnown is of how many runs a reader keeps what it read, those looked at last: of a
// run of ten thousand contracts that is some tens of megabytes.
const mostKnown = 4

// known is what was read of a run when it was last looked at. Records are only ever added,
// and each change of a contract is told in the log, so that the next look reads what came
// since and no more. Whoever holds mu reads of a newer state than whoever held it before;
// what it hands out is never written again.
type known struct {
	mu      sync.Mutex
	records report.Records
	listed  listed[agency.Contract]
	verdict int64 // the number of the last one
	after   int64 // the last event that was read
	told    *told // nil: nothing was read
	git     landings
}

// landings are what git says of the run's branch as it stood.
type landings struct {
	base, head agency.OID
	in         report.Input
}

// looks are the runs of which something is known, the one that was looked at last the last.
type looks struct {
	mu  sync.Mutex
	all []look
}

// there is of for a run that is there: one that is not, or not any more, takes no place from
// others.
func (l *looks) there(ctx context.Context, db *store.DB, id agency.RunID) (*known, error) {
	_, err := store.Get(ctx, db, registry.Run, id)
	if agency.KindOf(err) == agency.KindNotFound {
		l.drop(id)
	}
	if err != nil {
		return nil, err
	}
	return l.of(id), nil
}

// of is what is known of a run; it drops the one that nobody has looked at for longest.
func (l *looks) of(run agency.RunID) *known {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.at(run)
	if at < 0 {
		l.all, at = append(l.all, look{run, &known{}}), len(l.all)
	}
	one := l.all[at]
	l.all = append(slices.Delete(l.all, at, at+1), one)
	l.all = slices.Delete(l.all, 0, max(0, len(l.all)-mostKnown))
	return one.known
}

// room is what is known of a run that a list tells of; nil where another would be dropped
// for it, and where nothing of it has to be followed.
func (l *looks) room(run agency.Run) *known {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.at(run.ID)
	if run.State.Final() || at < 0 && len(l.all) >= mostKnown {
		return nil
	}
	if at < 0 {
		l.all, at = slices.Insert(l.all, 0, look{run.ID, &known{}}), 0
	}
	return l.all[at].known
}

func (l *looks) at(run agency.RunID) int {
	return slices.IndexFunc(l.all, func(one look) bool { return one.run == run })
}

// drop forgets a run.
func (l *looks) drop(run agency.RunID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(one look) bool { return one.run == run })
}

// only forgets all runs but these.
func (l *looks) only(runs []agency.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(one look) bool {
		return !slices.ContainsFunc(runs, func(r agency.Run) bool { return r.ID == one.run })
	})
}

// look is a run that was looked at.
type look struct {
	run   agency.RunID
	known *known
}

// of has nothing be known of another run that had the name.
func (k *known) of(run agency.Run) {
	if !run.CreatedAt.Equal(k.records.Run.CreatedAt) {
		k.forget()
	}
	k.records.Run = run
}

// stand gives how the contracts of a run stand, and how far it is.
func (k *known) stand(q store.Querier, run agency.Run) ([]standing, float64, error) {
	k.of(run)
	if err := k.follow(q, run.ID); err != nil {
		k.forget()
		return nil, 0, err
	}
	stand := standingsOf(k.records.Contracts)
	return stand, shareOf(run, stand, &k.told.progress), nil
}

// forget drops what was read of a run: it cannot be read, and may be there in part.
func (k *known) forget() {
	k.records, k.listed, k.verdict, k.after, k.told = report.Records{}, listed[agency.Contract]{}, 0, 0, nil
}

// refresh reads what came since the last look.
func (k *known) refresh(q *store.Snapshot, id agency.RunID) (err error) {
	defer func() {
		if err != nil {
			k.forget()
		}
	}()
	run, err := registry.Run(q, id)
	if err != nil {
		return err
	}
	k.of(run)
	if err := k.records.Refresh(q, id); err != nil {
		return err
	}
	if err := k.follow(q, id); err != nil {
		return err
	}
	given, last, err := verdicts.After(q, id, k.verdict)
	if err != nil {
		return err
	}
	k.records.Verdicts, k.verdict = append(k.records.Verdicts, given...), last
	reviews, err := registry.ReviewsAfter(q, id, len(k.records.Reviews))
	if err != nil {
		return err
	}
	k.records.Reviews = append(k.records.Reviews, reviews...)
	receipts, err := check.Outcomes(q, id, len(k.records.Receipts))
	k.records.Receipts = append(k.records.Receipts, receipts...)
	return err
}

// follow takes in the events that came, and reads again the contracts that they tell of.
func (k *known) follow(q store.Querier, id agency.RunID) error {
	changed, err := k.events(q, id)
	if err != nil {
		return err
	}
	k.listed.as = func(c agency.Contract) agency.Contract { return c }
	err = k.listed.refresh(q, id, changed)
	k.records.Contracts = k.listed.all
	return err
}

// events takes in those that came, and gives the contracts that they tell of.
func (k *known) events(q store.Querier, id agency.RunID) (changed map[agency.ContractID]bool, err error) {
	if k.told == nil {
		kept, err := host.ReadRunConfig(q, id)
		if err != nil {
			return nil, err
		}
		k.told = &told{trail: overseer.NewTrail(kept.Config.Overseer), scarce: waits{}, landings: []api.LandingDoc{}}
		if g := kept.Plan; g != nil { // no session ended with it
			k.told.given = []api.PlannedDoc{{Contract: agency.PlanContract, RetryBudgetMultiplier: max(1, g.RetryBudgetMultiplier), Contracts: g.Contracts}}
		}
	}
	changed = map[agency.ContractID]bool{}
	for more := true; more; {
		evs, err := event.Since(q, k.after, event.Filter{Run: id}, page)
		if err != nil {
			return nil, err
		}
		for _, ev := range evs {
			changed[ev.ContractID], k.after = true, ev.ID
			if m, landed := k.told.add(ev).(*agency.Merged); landed && m.Contract != "" {
				k.records.Landings = append(k.records.Landings, *m)
			}
		}
		more = len(evs) == page
	}
	return changed, nil
}

// told is what the events of a run tell, and the plan that it was given by a person.
type told struct {
	given       []api.PlannedDoc
	trail       *overseer.Trail
	progress    agency.Progress
	scarce      waits
	landings    []api.LandingDoc
	routing     []api.RoutingDoc
	plans       []api.SubmittedDoc
	joints      []api.JointDoc
	acceptances []agency.Acceptance
	amendments  []agency.PathAmendment
}

// add takes an event in and gives its details; nil of one of a newer version.
func (t *told) add(ev agency.Event) agency.Detail {
	d, err := agency.DecodeDetail(ev)
	if err != nil {
		return nil
	}
	t.trail.Take(ev, d)
	t.progress.Add(ev, d)
	t.scarce.add(ev, d)
	switch d := d.(type) {
	case *agency.Merged:
		t.landings = append(t.landings, api.LandingDoc{Contract: d.Contract, Level: d.Level, Branch: d.Branch, Commit: d.Commit, Step: d.Step, MergeDetails: d.MergeDetails})
	case *agency.ModelRouted:
		t.routing = append(t.routing, api.RoutingDoc{Contract: ev.ContractID, Role: ev.Role, ModelRouted: *d})
	case *agency.PlanSubmitted:
		t.plans = append(t.plans, api.SubmittedDoc{Contract: ev.ContractID, Contracts: d.Contracts, RetryBudgetMultiplier: max(1, d.RetryBudgetMultiplier)})
	case *agency.PlanEstimated:
		if last := len(t.plans) - 1; last >= 0 {
			t.plans[last].Estimate = d
		}
	case *agency.JointVerdictSubmitted:
		t.joints = append(t.joints, api.JointDoc{Workstream: ev.ContractID, By: ev.AgentID, JointVerdict: d.JointVerdict})
	case *agency.AcceptanceSubmitted:
		t.acceptances = append(t.acceptances, d.Acceptance)
	case *agency.PathAmendment:
		t.amendments = append(t.amendments, *d)
	}
	return d
}

// show adds to a document what the events tell.
func (t *told) show(doc *api.InspectDoc) {
	doc.Landings, doc.Plans = slices.Clone(t.landings), slices.Clone(t.plans) // which are written to
	doc.Planned = slices.Concat(t.given, doc.Planned)
	doc.Routing, doc.Joints = slices.Clip(t.routing), slices.Clip(t.joints)
	doc.Acceptances, doc.Amendments = slices.Clip(t.acceptances), slices.Clip(t.amendments)
	doc.Interventions = orEmpty(slices.Clone(t.trail.Interventions()))
	progressed(doc, &t.progress)
	t.scarce.show(doc, time.Now())
}
