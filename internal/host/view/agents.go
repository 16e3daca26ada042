package view

import (
	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/report"
	"agency/internal/store"
)

// agents are those that ever joined a run, as the board knows them, with what
// they spent by the budget.
func agents(q store.Querier, known report.Records) ([]api.AgentDoc, error) {
	all, err := board.Agents(q, known.Run.ID)
	spent := budget.By(known.Lines, func(l budget.Line) agency.AgentID { return l.Agent })
	docs := make([]api.AgentDoc, 0, len(all))
	for _, a := range all {
		docs = append(docs, api.AgentDoc{
			ID: a.ID, Role: a.Role, Name: a.Name, Contract: a.Contract, Status: string(a.Status), Activity: a.Activity,
			Turns: a.Turns, Tokens: spent[a.ID].Tokens, Files: a.Files, ToolCalls: a.ToolCalls, Errors: a.Errors,
			LastTool: a.LastTool, LastFile: a.LastFile, StartedAt: a.StartedAt, LastActivityAt: a.LastActivityAt,
			LastHeartbeatAt: a.LastHeartbeatAt, CompletedAt: a.CompletedAt, HeartbeatMillis: a.HeartbeatInterval.Milliseconds(), Missed: a.Missed,
		})
	}
	return docs, err
}

// conflicts are those of a run, with how each was resolved.
func conflicts(q store.Querier, id agency.RunID) ([]api.ConflictDoc, error) {
	all, err := board.Conflicts(q, id)
	docs := make([]api.ConflictDoc, 0, len(all))
	for _, c := range all {
		d := api.ConflictDoc{
			ID: c.ID, Type: string(c.Kind), Resource: c.Resource, Agents: c.Agents, Evidence: []string{}, Status: string(c.Status),
			EscalatedTo: c.EscalatedTo, By: c.By, How: c.How, ProofKind: string(c.Proof.Kind), Proof: c.Proof.Ref,
			CreatedAt: c.CreatedAt, DecidedAt: c.DecidedAt,
		}
		for _, e := range c.Evidence {
			d.Evidence = append(d.Evidence, string(e))
		}
		docs = append(docs, d)
	}
	return docs, err
}
