package view

import (
	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/report"
	"agency/internal/session/record"
	"agency/internal/store"
)

// pattern is who worked for whom in a run of an agent; empty in any other.
func pattern(q store.Querier, known report.Records) ([]api.PatternDoc, error) {
	id, all := known.Run.ID, known.Contracts
	if known.Run.Mode != agency.ModeAgent {
		return nil, nil
	}
	infos, err := record.Sessions(q, id)
	if err != nil {
		return nil, err
	}
	reports, err := reportsOf(q, id)
	if err != nil {
		return nil, err
	}
	spent := budget.By(known.Lines, func(l budget.Line) agency.ContractID { return l.Contract })
	turns := map[agency.ContractID]int{}
	for _, i := range infos {
		turns[i.Contract] += i.Turns
	}
	below := map[agency.ContractID][]agency.Contract{} // by whom they worked for
	for _, c := range all {
		of := worksFor(all, c)
		below[of] = append(below[of], c)
	}
	var tree func(of agency.ContractID) (docs []api.PatternDoc, total budget.Total, turned int)
	tree = func(of agency.ContractID) (docs []api.PatternDoc, total budget.Total, turned int) {
		for _, c := range below[of] {
			own := spent[c.ID]
			docsBelow, with, n := tree(c.ID)
			with.Merge(own)
			n += turns[c.ID]
			docs = append(docs, api.PatternDoc{
				Agent: c.Post.Agent, Contract: c.ID, Reached: c.Post.Reached, Team: c.Post.Team, Supervises: c.Post.Supervises, Status: c.Status, Error: c.Error,
				Turns: turns[c.ID], Clarifications: max(0, reports[c.ID]-1), Own: spend(own), Total: spend(with), TotalTurns: n, Below: docsBelow,
			})
			total.Merge(with)
			turned += n
		}
		return docs, total, turned
	}
	docs, _, _ := tree("")
	return docs, nil
}

// worksFor is for whom an agent worked: for whoever it handed over to, else for whoever had
// its chain begin; empty: for nobody who was there.
func worksFor(all []agency.Contract, c agency.Contract) agency.ContractID {
	known := map[agency.ContractID]agency.Contract{}
	for _, o := range all {
		if known[o.ID] = o; o.Post.Reached.Onward() && o.Post.From == c.ID {
			return o.ID
		}
	}
	for range all { // no chain is longer
		if !c.Post.Reached.Onward() {
			break
		}
		c = known[c.Post.From]
	}
	return known[c.Post.From].ID
}

// reportsOf is how often each agent has reported.
func reportsOf(q store.Querier, id agency.RunID) (map[agency.ContractID]int, error) {
	kind := agency.NewEvent(id, agency.SeverityInfo, "", agency.Completed{}).Type
	all, err := event.Of[agency.Completed](q, event.Filter{Run: id, Types: []agency.EventType{kind}})
	out := map[agency.ContractID]int{}
	for _, told := range all {
		if told.Detail.Session != "" {
			out[told.ContractID]++
		}
	}
	return out, err
}
