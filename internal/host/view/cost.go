package view

import (
	"context"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/registry"
	"agency/internal/store"
)

// Cost is what a run spent.
func (r *Reader) Cost(ctx context.Context, id agency.RunID) (doc api.CostDoc, err error) {
	err = r.read(ctx, func(q *store.Snapshot) error {
		if _, err := registry.Run(q, id); err != nil {
			return err
		}
		lines, err := budget.Lines(q, id)
		if err != nil {
			return err
		}
		doc = sum(lines)
		if doc.Savings, err = r.savings(q, id, lines); err != nil {
			return err
		}
		root, err := budget.Read(q, id, budget.Root)
		if err != nil {
			return err
		}
		doc.Limits = api.LimitsDoc{
			USD: root.Limits.Money.Float(), Tokens: root.Limits.Tokens,
			WallMinutes: root.Limits.Wall.Minutes(), WallUsed: root.Wall.Minutes(),
		}
		return nil
	})
	return doc, err
}

// spend is a sum as it is shown.
func spend(t budget.Total) api.Spend {
	return api.Spend{
		In: t.Usage.In, Cached: t.Usage.Cached, Out: t.Usage.Out, Tokens: t.Tokens, CostUSD: t.Money.Float(), Unpriced: t.Unpriced,
		Estimated: t.Usage.Estimated, Requests: t.Requests, Lost: t.Lost,
	}
}

// spends are the sums of lines by a key.
func spends[K ~string](lines []budget.Line, key func(budget.Line) K) map[string]api.Spend {
	out := map[string]api.Spend{}
	for k, t := range budget.By(lines, key) {
		out[string(k)] = spend(t)
	}
	return out
}

func sum(lines []budget.Line) api.CostDoc {
	return api.CostDoc{
		Total:      spend(budget.Sum(lines, nil)),
		ByRole:     spends(lines, func(l budget.Line) agency.RoleID { return l.Role }),
		ByTier:     spends(lines, func(l budget.Line) string { return l.Tier }),
		ByModel:    spends(lines, func(l budget.Line) string { return l.Model }),
		ByContract: spends(lines, func(l budget.Line) agency.ContractID { return l.Contract }),
		ByAgent:    spends(lines, func(l budget.Line) agency.AgentID { return l.Agent }),
	}
}
