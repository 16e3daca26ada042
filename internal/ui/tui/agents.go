package tui

import (
	"cmp"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
)

// Agents is the table of agent files.
func Agents(st Style, all []api.AgentFileDoc) string {
	t := table{head: []string{"AGENT", "FROM", "ROLE", "COMES TO", "WHEN TO USE IT"}, right: make([]bool, 5)}
	for _, a := range all {
		t.add(a.Name, a.From, cmp.Or(string(a.Role), "-"), cmp.Or(comesTo(a), "-"), cut(Line(a.Description), 100))
	}
	t.spare(st, "ROLE", "COMES TO", "FROM")
	return t.render(st, "")
}

// comesTo says how an agent is put together.
func comesTo(a api.AgentFileDoc) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s (%d)", what, n))
		}
	}
	add(len(a.Advisors), "advisors")
	add(len(a.Agents), "sub-agents")
	add(len(a.Members), "team")
	add(len(a.Destinations), "router")
	if a.Handoff != "" {
		parts = append(parts, "handoff")
	}
	return strings.Join(parts, ", ")
}

// Agent is one of them as a session would get it.
func Agent(st Style, a api.AgentFileDoc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", st.paint(bold, a.Name), a.From, Line(a.Path))
	if a.Description != "" {
		fmt.Fprintf(&b, "%s\n", Line(a.Description))
	}
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", name, value)
		}
	}
	b.WriteString("\n")
	if a.Supervisor != "" {
		field("team", "no session of its own: its text is told to all of the team")
	} else {
		field("role", cmp.Or(string(a.Role), "none: it reads and reports"))
		field("model", cmp.Or(Line(a.Model), "as configured for the generalist"))
		field("tools", strings.Join(a.Tools, ", "))
		field("servers", Line(strings.Join(a.ServerTools, ", ")))
		answer := "answers as long as the model gives them"
		if a.MaxOutputTokens > 0 {
			answer = fmt.Sprintf("%d tokens an answer", a.MaxOutputTokens)
		}
		field("limits", fmt.Sprintf("%d turns, %d calls a turn, %s, %d tokens and %d seconds of work in all",
			a.MaxTurns, a.MaxToolCallsPerTurn, answer, a.MaxTokens, a.TimeoutSeconds))
	}
	field("takes", a.Input+", gives "+a.Output)
	if a.Chat {
		field("chat", "may be asked again after its report")
	}
	for _, n := range a.Notes {
		field("note", Line(n))
	}
	if strings.Contains(strings.TrimSpace(a.Drawing), "\n") {
		fmt.Fprintf(&b, "\n%s", Clean(a.Drawing))
	}
	fmt.Fprintf(&b, "\n%s\n", Clean(a.Prompt))
	return b.String()
}

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
