package tui

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
)

// pattern is who worked for whom, a line an agent below whoever had its work.
func pattern(st Style, docs []api.PatternDoc) string {
	if len(docs) == 0 {
		return ""
	}
	t := table{head: []string{"AGENT", "REACHED BY", "TURNS", "TOKENS", "COST", "WITH ALL BELOW", ""}, right: []bool{false, false, true, true, true, true, false}}
	patternRows(&t, docs, "", "")
	return t.render(st, "")
}

func patternRows(t *table, docs []api.PatternDoc, indent, trunk string) {
	for i, d := range docs {
		branch, below := "", ""
		if trunk != "" || indent != "" {
			branch, below = "├─ ", "│  "
			if i == len(docs)-1 {
				branch, below = "└─ ", "   "
			}
		}
		with := ""
		if len(d.Below) > 0 {
			with = Cost(agency.USD(d.Total.CostUSD), d.Total.Tokens, d.Total.Unpriced)
		}
		t.rows = append(t.rows, []string{
			indent + branch + Line(d.Agent), reachedBy(d), fmt.Sprint(d.Turns), agency.Count(d.Own.Tokens),
			Cost(agency.USD(d.Own.CostUSD), d.Own.Tokens, d.Own.Unpriced), with, stands(d),
		})
		patternRows(t, d.Below, indent+below, "·")
	}
}

// reachedBy is how work came to an agent.
func reachedBy(d api.PatternDoc) string {
	words := []string{string(d.Reached)}
	switch {
	case d.Supervises:
		words = append(words, "leads "+Line(d.Team))
	case d.Team != "" && d.Reached != agency.ReachedMember:
		words = append(words, "speaks in "+Line(d.Team))
	}
	if d.Clarifications > 0 {
		words = append(words, agency.Things(d.Clarifications, "clarification", "clarifications"))
	}
	return strings.Join(words, ", ")
}

// stands is how an agent stands that has not simply answered.
func stands(d api.PatternDoc) string {
	switch {
	case d.Status == agency.StatusComplete:
		return ""
	case d.Error != "":
		return string(d.Status) + ": " + Line(d.Error)
	}
	return string(d.Status)
}
