package preview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/contractrun/planning"
	"agency/internal/text"
)

// Tiered tells whether a run's plan is of workstreams.
func Tiered(run api.InspectDoc) bool { return cmp.Or(run.MovedTo, run.Mode) == agency.ModeTiered }

// TierPlanOf is the plan of a tiered run: what its visionary submitted, also before a person
// has accepted it, and what came of that by now.
func TierPlanOf(run api.InspectDoc) (doc api.TierPlanDoc, err error) {
	doc = api.TierPlanDoc{GoalAnchor: run.Goal, Plans: []api.WorkstreamsDoc{}, Work: []api.PlannedContract{}, Steering: []api.PlannedContract{}}
	for _, p := range run.Planned {
		if p.Tiers != nil && len(p.Contracts) > 0 {
			doc.Plans = append(doc.Plans, workstreams(p, run.Contracts))
		}
	}
	for _, c := range run.Contracts {
		one := api.PlannedContract{ID: c.ID, Of: c.ParentID, Title: c.Title, Role: c.AssignedRole, Status: c.Status}
		if c.Steers() {
			doc.Steering = append(doc.Steering, one)
		} else {
			doc.Work = append(doc.Work, one)
		}
	}
	if len(doc.Plans)+len(doc.Work) == 0 {
		return doc, noPlan(run)
	}
	return doc, nil
}

// workstreams is a plan of the visionary with how far its workstreams are.
func workstreams(p api.PlannedDoc, all []api.ContractDoc) api.WorkstreamsDoc {
	d := api.WorkstreamsDoc{
		Contract: p.Contract, TierFacts: *p.Tiers, RetryBudgetMultiplier: p.RetryBudgetMultiplier,
		Groups: map[string][]agency.ContractID{}, Workstreams: make([]api.WorkstreamDoc, len(p.Contracts)),
	}
	for i, c := range p.Contracts {
		d.Groups[c.Phase] = append(d.Groups[c.Phase], c.ID)
		d.Workstreams[i] = api.WorkstreamDoc{
			ID: c.ID, Name: c.Title, Domain: c.Domain, TierPath: c.TierPath, ParallelGroup: c.Phase, DependsOn: c.DependsOn,
			Specialist: c.Specialist(), Talent: c.Talent, Resources: c.Resources, Notes: c.Description, AcceptanceCriteria: c.AcceptanceCriteria,
			Writes: c.Writes, RelevantFiles: c.RelevantFiles, Constraints: c.Constraints,
		}
		if at := slices.IndexFunc(all, func(o api.ContractDoc) bool { return o.ID == c.ID }); at >= 0 {
			d.Workstreams[i].Status = all[at].Status
		}
	}
	return d
}

// VisionText is what the visionary of a run planned, for people; empty where it has planned
// nothing yet.
func VisionText(run api.InspectDoc) string {
	var b strings.Builder
	for _, p := range run.Planned {
		if p.Tiers == nil || len(p.Contracts) == 0 { // of another contract than the one that is asked for
			continue
		}
		if b.Len() > 0 {
			fmt.Fprintf(&b, "\nPlanned anew (%s): ", p.Contract)
		}
		b.WriteString(planning.TiersText(*p.Tiers, p.Contracts))
	}
	return b.String()
}

// TierPlanText is the plan of a tiered run for people: what the visionary planned, what is
// worked on by it, and apart from that by which contracts the run plans and judges.
func TierPlanText(run api.InspectDoc, d api.TierPlanDoc) string {
	var b strings.Builder
	b.WriteString(VisionText(run))
	list := func(title string, all []api.PlannedContract) {
		if len(all) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n\n", title)
		for _, c := range all {
			of := ""
			if c.Of != "" {
				of = " of " + string(c.Of)
			}
			fmt.Fprintf(&b, "- %s%s, %s, %s: %s\n", c.ID, of, c.Role, c.Status, text.OneLine(c.Title, 100))
		}
	}
	list("Work: workstreams, and the tasks into which they were split", d.Work)
	list("Beside it, by which the run plans, designs and judges", d.Steering)
	return b.String()
}
