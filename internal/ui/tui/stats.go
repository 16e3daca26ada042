package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
)

// Stats is the tables of stats: all contracts, then each way of looking at them.
func Stats(st Style, s agency.Stats) string {
	if s.Total.Contracts == 0 {
		return "no contract has ended yet; start a run with: agency run \"GOAL\"\n"
	}
	var b strings.Builder
	t := rateTable("")
	addRate(&t, "all contracts", s.Total)
	b.WriteString(t.render(st, ""))
	b.WriteString(ratesBy(st, "mode", s.ByMode) + ratesBy(st, "role", s.ByRole) + ratesBy(st, "model", s.ByModel) +
		ratesBy(st, "kind", s.ByKind) + ratesBy(st, "complexity", s.ByComplexity))
	if s.Total.Unpriced {
		b.WriteString("\nunpriced: no price is known for a model, and what it took is not in the cost\n")
	}
	return b.String()
}

func ratesBy[K cmp.Ordered](st Style, name string, by map[K]agency.Rate) string {
	if len(by) == 0 {
		return ""
	}
	t := rateTable("by " + name)
	timed := false
	for _, k := range slices.Sorted(maps.Keys(by)) {
		addRate(&t, fmt.Sprint(k), by[k])
		timed = timed || by[k].Seconds > 0
	}
	if !timed { // no model has a time of its own, and their names are long
		t.dropLast()
	}
	return "\n" + t.render(st, "")
}

func rateTable(name string) table {
	return table{
		head:  []string{pad(name, 18), "ENDED", "SUCCESS", "1ST TRY", "TRIES", "COST", "TIME"},
		right: []bool{false, true, true, true, true, true, true},
	}
}

func addRate(t *table, name string, r agency.Rate) {
	if r.Contracts == 0 { // a model that only stood in for others, or was paid for without an answer
		t.add(Line(name), "0", "-", "-", "-", "-", "-")
		return
	}
	first, cost, took := "-", agency.USD(r.MedianCostUSD).String(), "-"
	if r.FirstAttempts > 0 {
		first = percent(r.FirstRate)
	}
	switch {
	case r.Unpriced && r.CostUSD == 0:
		cost = "unpriced"
	case r.Unpriced:
		cost += "+"
	}
	if r.Seconds > 0 {
		took = Elapsed(time.Duration(r.MedianSeconds * float64(time.Second)))
	}
	t.add(Line(name), fmt.Sprint(r.Contracts), percent(r.SuccessRate), first, fmt.Sprintf("%.1f", float64(r.Attempts)/float64(r.Contracts)), cost, took)
}
