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

// purse sums whole units, so that the parts make the total.
type purse struct {
	api.Spend
	money agency.Money
}

func (p *purse) add(l budget.Line) {
	p.In += l.Usage.In
	p.Cached += l.Usage.Cached
	p.Out += l.Usage.Out
	p.Requests += l.Requests
	p.Lost += l.Lost
	p.Unpriced = p.Unpriced || l.Unpriced
	p.Estimated = p.Estimated || l.Usage.Estimated
	p.money += l.Money
	p.CostUSD = p.money.Float()
}

type purses map[string]*purse

func (p purses) add(key string, l budget.Line) {
	if key == "" {
		return
	}
	if p[key] == nil {
		p[key] = &purse{}
	}
	p[key].add(l)
}

func (p purses) spends() map[string]api.Spend {
	out := make(map[string]api.Spend, len(p))
	for k, v := range p {
		out[k] = v.Spend
	}
	return out
}

func sum(lines []budget.Line) api.CostDoc {
	var total purse
	role, tier, model, contract, agent := purses{}, purses{}, purses{}, purses{}, purses{}
	for _, l := range lines {
		total.add(l)
		role.add(string(l.Role), l)
		tier.add(l.Tier, l)
		model.add(l.Model, l)
		contract.add(string(l.Contract), l)
		agent.add(string(l.Agent), l)
	}
	return api.CostDoc{
		Total: total.Spend, ByRole: role.spends(), ByTier: tier.spends(), ByModel: model.spends(),
		ByContract: contract.spends(), ByAgent: agent.spends(),
	}
}
