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

// Cost is what a run spent; of a tree its limits and its forecast alone.
func (r *Reader) Cost(ctx context.Context, id agency.RunID, of ...api.Extent) (doc api.CostDoc, err error) {
	k, err := r.looks.there(ctx, r.o.DB, id)
	if err != nil {
		return doc, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	err = r.read(ctx, func(q *store.Snapshot) (err error) {
		known := report.Records{}
		if known.Run, err = registry.Run(q, id); err != nil {
			return err
		}
		if known.Contracts, err = k.contracts(q, known.Run); err != nil {
			return err
		}
		if api.OneOf(of) != api.Tree {
			if doc, err = r.spent(q, known); err != nil {
				return err
			}
		}
		stand := r.shares.stand
		if k.told != nil {
			stand = k.stand
		}
		if _, doc.Progress, err = stand(q, known.Run); err != nil {
			return err
		}
		if doc.Forecast, err = r.forecast(q, known.Run, known.Contracts); err != nil {
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
	if err != nil {
		k.forget()
	}
	return doc, err
}

// spent is what a run spent, by each way of looking at it.
func (r *Reader) spent(q store.Querier, known report.Records) (doc api.CostDoc, err error) {
	if known.Lines, err = budget.HourLines(q, known.Run.ID); err != nil {
		return doc, err
	}
	doc = sum(known.Lines)
	if doc.Savings, err = r.savings(q, known.Run.ID, known.Lines); err != nil {
		return doc, err
	}
	doc.Pattern, err = pattern(q, known)
	return doc, err
}

// contracts are those of a run as far as its cost depends on them. Of one that nobody has
// looked at they alone are read.
func (k *known) contracts(q *store.Snapshot, run agency.Run) ([]agency.Contract, error) {
	k.of(run)
	switch {
	case run.State.Final() && run.Mode != agency.ModeAgent:
		return nil, nil
	case k.told == nil:
		return registry.Contracts(q, run.ID)
	}
	err := k.follow(q, run.ID)
	return k.records.Contracts, err
}

// forecast is what a run is likely to come to.
func (r *Reader) forecast(q store.Querier, run agency.Run, contracts []agency.Contract) (f agency.RunForecast, err error) {
	kept, err := host.ReadRunConfig(q, run.ID)
	if err != nil || r.o.Staff == nil {
		return f, err
	}
	return effects.ForecastOf(q, run, contracts, kept.Config.RoutingRules(), func(role agency.RoleID, level agency.Level) (agency.Staffing, error) {
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
