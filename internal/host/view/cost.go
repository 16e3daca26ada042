package view

import (
	"context"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/effects"
	"agency/internal/host"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/store"
)

// Cost is what a run spent.
func (r *Reader) Cost(ctx context.Context, id agency.RunID) (doc api.CostDoc, err error) {
	err = r.read(ctx, func(q *store.Snapshot) error {
		known := report.Records{}
		if known.Run, err = registry.Run(q, id); err != nil {
			return err
		}
		if known.Contracts, err = registry.Contracts(q, id); err != nil {
			return err
		}
		lines, err := budget.HourLines(q, id)
		if err != nil {
			return err
		}
		doc, known.Lines = sum(lines), lines
		if doc.Savings, err = r.savings(q, id, lines); err != nil {
			return err
		}
		if doc.Progress, err = r.shares.share(q, known.Run, known.Contracts); err != nil {
			return err
		}
		if doc.Forecast, err = r.forecast(q, id); err != nil {
			return err
		}
		if doc.Pattern, err = pattern(q, known); err != nil {
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
		if root.Reserved > 0 || root.ReservedTokens > 0 {
			doc.Reserved = &api.ReservedDoc{Tokens: root.ReservedTokens, CostUSD: root.Reserved.Float()}
		}
		return nil
	})
	return doc, err
}

// forecast is what a run is likely to come to.
func (r *Reader) forecast(q store.Querier, id agency.RunID) (f agency.RunForecast, err error) {
	kept, err := host.ReadRunConfig(q, id)
	if err != nil || r.o.Staff == nil {
		return f, err
	}
	return effects.ReadForecast(q, id, kept.Config.RoutingRules(), func(role agency.RoleID, level agency.Level) (agency.Staffing, error) {
		return r.o.Staff(kept.Config, role, level)
	})
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

// costLines are lines of the budget as they are shown.
func costLines(lines []budget.Line) []api.CostLine {
	out := make([]api.CostLine, len(lines))
	for i, l := range lines {
		var t budget.Total
		t.Add(l)
		out[i] = api.CostLine{Hour: l.Hour.UTC(), Agent: l.Agent, Role: l.Role, Tier: l.Tier, Model: l.Model, Contract: l.Contract, Spend: spend(t)}
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
		ByHour:     spends(lines, func(l budget.Line) string { return l.Hour.UTC().Format(time.RFC3339) }),
		Lines:      costLines(lines),
	}
}
