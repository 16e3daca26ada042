package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

const longCost = `Tokens and money of a run by model, contract, agent, role, tier and hour (UTC), with
what it is likely to come to while contracts are open, and what is reserved for
requests under way. TOKENS IN is the whole
prompt, CACHED what of it the provider read from its cache, COUNTED what counts
against the token limit: output and uncached input.

--csv is one record for each agent, model and contract in each hour, so that every
sum can be made of it, in the columns
  hour, agent, role, tier, model, contract, requests, lost, tokens_in,
  tokens_cached, tokens_out, tokens, cost_usd, unpriced, estimated
by RFC 4180, with one header record. Hours are as 2026-01-02T15:00:00Z, tokens are
those counted. lost are requests whose answer stalled, was cut off, given up, or taken
by a crash: charged, by estimate, at the most that was to come or at what came where
that was more.`

func costCommand(a *app) *cobra.Command {
	var asJSON, asCSV bool
	cmd := &cobra.Command{
		Use: "cost [RUN]", SuggestFor: []string{"usage", "spent"}, Short: "Show tokens and money by model, contract, agent, role, tier and hour", Long: longCost, Args: atMostOne,
		Example: "  agency cost k3f9d2ab\n  agency cost k3f9d2ab --csv > cost.csv",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withView(cmd.Context(), args, func(_ daemon.Place, v api.View, run api.RunDoc) error {
				c, err := v.Cost(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				if asCSV {
					return a.out.CSV(costRecords(c))
				}
				return a.show(asJSON, c, func() string { return tui.Costs(a.style, c) })
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV, one record for each agent, model and contract in each hour")
	oneOf(cmd, "csv", "json")
	return cmd
}

// costRecords are the lines of a run's cost as CSV; the columns are stable.
func costRecords(c api.CostDoc) [][]string {
	out := [][]string{{
		"hour", "agent", "role", "tier", "model", "contract", "requests", "lost", "tokens_in", "tokens_cached", "tokens_out", "tokens",
		"cost_usd", "unpriced", "estimated",
	}}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, l := range c.Lines {
		out = append(out, []string{
			l.Hour.Format(time.RFC3339), string(l.Agent), string(l.Role), l.Tier, l.Model, string(l.Contract),
			strconv.Itoa(l.Requests), strconv.Itoa(l.Lost), number(l.In), number(l.Cached), number(l.Out), number(l.Tokens),
			strconv.FormatFloat(l.CostUSD, 'f', -1, 64), strconv.FormatBool(l.Unpriced), strconv.FormatBool(l.Estimated),
		})
	}
	return out
}
