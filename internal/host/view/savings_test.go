package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
)

func TestSavings(t *testing.T) {
	prices := map[string]*agency.Price{
		"p/big":   {In: 10, CachedIn: 1, Out: 50, Long: &agency.LongPrice{Above: 1, In: 100, Out: 500}},
		"p/small": {In: 1, CachedIn: 0.1, Out: 5},
		"p/dear":  {In: 20, CachedIn: 2, Out: 100},
	}
	price := func(model string) *agency.Price { return prices[model] }
	million := agency.Usage{In: 1e6}
	for _, tt := range []struct {
		name  string
		lines []budget.Line
		top   string
		want  api.SavingsDoc
	}{
		{
			"cheaper models save",
			[]budget.Line{{Model: "p/small", Usage: million}, {Model: "p/big", Usage: million}},
			"p/big",
			api.SavingsDoc{CostUSD: 11, HighestUSD: 20, SavedUSD: 9},
		},
		{
			"cached tokens count as such",
			[]budget.Line{{Model: "p/small", Usage: agency.Usage{In: 1e6, Cached: 1e6}}},
			"p/big",
			api.SavingsDoc{CostUSD: 0.1, HighestUSD: 1, SavedUSD: 0.9},
		},
		{
			"a dearer one costs",
			[]budget.Line{{Model: "p/dear", Usage: million}},
			"p/big",
			api.SavingsDoc{CostUSD: 20, HighestUSD: 10, SavedUSD: -10},
		},
		{
			"what has no price is named once",
			[]budget.Line{{Model: "p/small", Usage: million}, {Model: "x/y"}, {Model: "x/y", Agent: "b"}},
			"p/big",
			api.SavingsDoc{CostUSD: 1, HighestUSD: 10, SavedUSD: 9, Unpriced: []string{"x/y"}},
		},
		{
			"a highest level without a price compares nothing",
			[]budget.Line{{Model: "p/small", Usage: million}},
			"x/top",
			api.SavingsDoc{Unpriced: []string{"x/top"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Model = tt.top
			if diff := cmp.Diff(&tt.want, compare(tt.lines, tt.top, price)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
