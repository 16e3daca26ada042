package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/rogpeppe/go-internal/testscript"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/report"
)

// oneNumber wants every view of a run to say the same of what it took, and the
// parts of each to make its sum. It leaves what inspect says in stdout.
func oneNumber(ts *testscript.TestScript, _ bool, args []string) {
	read := func(into any, command ...string) {
		if err := ts.Exec("agency", command...); err != nil {
			ts.Fatalf("agency %v: %v", command, err)
		}
		if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), into); err != nil {
			ts.Fatalf("agency %v: %v", command, err)
		}
	}
	var runs []api.RunDoc
	var cost api.CostDoc
	var rep agency.Report
	var doc api.InspectDoc
	read(&runs, "ps", "--json")
	read(&cost, "cost", args[0], "--json")
	read(&rep, "inspect", args[0], "--report", "--json")
	read(&doc, "inspect", args[0], "--json")
	sums := map[string]agency.Spent{
		"inspect": {USD: doc.CostUSD, Tokens: doc.Tokens}, "report": {USD: rep.Rollup.CostUSD, Tokens: rep.Rollup.Tokens},
		"inspect's report": {USD: doc.Report.Rollup.CostUSD, Tokens: doc.Report.Rollup.Tokens},
	}
	for _, r := range runs {
		if r.ID == agency.RunID(args[0]) {
			sums["ps"] = agency.Spent{USD: r.CostUSD, Tokens: r.Tokens}
		}
	}
	add := func(name string, usd float64, tokens int64) {
		s := sums[name]
		sums[name] = agency.Spent{USD: s.USD + usd, Tokens: s.Tokens + tokens}
	}
	for _, s := range doc.Sessions {
		add("sessions", s.CostUSD, s.Tokens)
	}
	for _, c := range doc.Contracts {
		add("contracts", c.CostUSD, c.TokensUsed)
	}
	for _, r := range rep.CostByRole {
		add("roles", r.CostUSD, r.Tokens)
	}
	for name, by := range map[string]map[string]api.Spend{"models": cost.ByModel, "cost by contract": cost.ByContract, "cost by agent": cost.ByAgent, "cost by role": cost.ByRole} {
		for _, s := range by {
			add(name, s.CostUSD, s.Tokens)
		}
	}
	for name, s := range sums {
		if math.Abs(s.USD-cost.Total.CostUSD) > 1e-9 || s.Tokens != cost.Total.Tokens {
			ts.Fatalf("%s says %v, cost says $%v and %d tokens", name, s, cost.Total.CostUSD, cost.Total.Tokens)
		}
	}
	if seconds := cost.Limits.WallUsed * 60; math.Abs(seconds-rep.Rollup.WallSeconds) > 1e-6 {
		ts.Fatalf("cost says %v s, the report %v s", seconds, rep.Rollup.WallSeconds)
	}
	// The gate and the report show them in one line.
	ts.Setenv("COST", fmt.Sprintf(`\%s for %d requests, %d tokens; %.0f s at work`, agency.USD(cost.Total.CostUSD), cost.Total.Requests, cost.Total.Tokens, rep.Rollup.WallSeconds))
	ts.Setenv("TESTS", report.TestsLine(rep.Rollup))
	ts.Setenv("LOST", fmt.Sprint(cost.Total.Lost))
}
