package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

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
	for name, by := range map[string]map[string]api.Spend{"models": cost.ByModel, "cost by contract": cost.ByContract, "cost by agent": cost.ByAgent, "cost by role": cost.ByRole, "cost by hour": cost.ByHour} {
		for _, s := range by {
			add(name, s.CostUSD, s.Tokens)
		}
	}
	for _, l := range cost.Lines {
		add("lines", l.CostUSD, l.Tokens)
	}
	usd, tokens := csvSums(ts, args[0])
	add("csv", usd, tokens)
	add("forecast", cost.Forecast.Spent.USD, cost.Forecast.Spent.Tokens)
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

// csvSums adds up what cost --csv says of a run, whose first record names the columns.
func csvSums(ts *testscript.TestScript, run string) (usd float64, tokens int64) {
	if err := ts.Exec("agency", "cost", run, "--csv"); err != nil {
		ts.Fatalf("agency cost --csv: %v", err)
	}
	text := ts.ReadFile("stdout")
	if n := strings.Count(text, "\r\n"); n == 0 || n != strings.Count(text, "\n") {
		ts.Fatalf("lines of CSV end in CRLF (RFC 4180): %q", text)
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	ts.Check(err)
	want := "hour,agent,role,tier,model,contract,requests,lost,tokens_in,tokens_cached,tokens_out,tokens,cost_usd,unpriced,estimated"
	if got := strings.Join(records[0], ","); got != want {
		ts.Fatalf("the columns are %s, want %s", got, want)
	}
	for _, r := range records[1:] {
		n, err := strconv.ParseInt(r[11], 10, 64)
		ts.Check(err)
		v, err := strconv.ParseFloat(r[12], 64)
		ts.Check(err)
		usd, tokens = usd+v, tokens+n
	}
	return usd, tokens
}
