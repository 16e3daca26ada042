package view

import (
	"slices"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/host"
	"agency/internal/store"
)

// savings compares a run whose models were picked with the same tokens on the
// highest level; nil where nothing was picked. Both sides are counted alike, at
// the price of a short prompt and without answers that a crash lost, so that
// their difference is that of the prices.
func (r *Reader) savings(q store.Querier, id agency.RunID, lines []budget.Line) (*api.SavingsDoc, error) {
	picked, err := event.Since(q, 0, event.Filter{Run: id, Types: []agency.EventType{agency.ModelRoutedType}}, 1)
	if err != nil || len(picked) == 0 {
		return nil, err
	}
	kept, err := host.ReadRunConfig(q, id)
	if err != nil {
		return nil, err
	}
	top, err := kept.Config.Resolve(config.LevelReasoningHeavy)
	if err != nil {
		return nil, err
	}
	return compare(lines, top[0].String(), func(model string) *agency.Price {
		ref, err := config.ParseModel(model)
		if err != nil || r.o.Price == nil {
			return nil
		}
		return r.o.Price(kept.Config, ref)
	}), nil
}

// compare prices what was spent twice: as it was, and on one model.
func compare(lines []budget.Line, top string, price func(model string) *agency.Price) *api.SavingsDoc {
	doc := &api.SavingsDoc{Model: top}
	unpriced := func(model string) {
		if !slices.Contains(doc.Unpriced, model) {
			doc.Unpriced = append(doc.Unpriced, model)
		}
	}
	highest := price(top)
	if highest == nil {
		unpriced(top)
		return doc
	}
	var spent, most agency.Money
	for _, l := range lines {
		own := price(l.Model)
		if own == nil {
			unpriced(l.Model)
			continue
		}
		spent += short(*own).Cost(l.Usage)
		most += short(*highest).Cost(l.Usage)
	}
	doc.CostUSD, doc.HighestUSD, doc.SavedUSD = spent.Float(), most.Float(), (most - spent).Float()
	return doc
}

// short is a price without the surcharge of long prompts: sums of many
// requests do not say how long each was.
func short(p agency.Price) agency.Price {
	p.Long = nil
	return p
}
