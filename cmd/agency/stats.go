package main

import (
	"context"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

const longStats = `Success rates, cost and time of the contracts of this repository that have ended,
by mode, role, model, kind and complexity. SUCCESS is the share that is complete,
1ST TRY the share that was complete at the first attempt, TRIES the attempts at a
contract; COST and TIME, which is time at work, are the median of a contract. An attempt is made
by the model that gave most of its answers, be it a fallback or one that was chosen meanwhile; a contract
is complete for the one that made the last. What a model cost counts wherever it answered (cost_usd).

Of the latest 10000 contracts. What was cancelled with attempts left, or ended with
its run, is in none; a plan that used them up has failed. They stay when a run is
removed. From 20 contracts on, estimates and the routing of models use them.

--json is one object {total, by_mode, by_role, by_model, by_kind, by_complexity},
each of {contracts, complete, success_rate, first_attempts, first_successes,
first_success_rate, attempts, tokens, median_tokens, cost_usd, median_cost_usd,
unpriced, seconds, median_seconds}; rates are shares of 1. No model has seconds.`

func statsCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "stats", Short: "Show success rates, cost and time by mode, role, model, kind and complexity", Long: longStats, Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := a.look()
			if err != nil {
				return err
			}
			all, err := a.outcomes(cmd.Context(), h)
			if err != nil {
				return err
			}
			s := agency.StatsOf(all)
			return a.show(asJSON, s, func() string { return tui.Stats(a.style, s) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// outcomes are what the latest contracts of the repository came to; it starts nothing.
func (r *repository) outcomes(ctx context.Context, h daemon.Place) (all []agency.Outcome, err error) {
	if !h.Exists() {
		return nil, nil
	}
	err = r.see(ctx, h, func(v api.View) (err error) { all, err = v.Outcomes(ctx); return err })
	return all, err
}

// past is outcomes for an estimate, which is made from a table where they cannot be
// read.
func (r *repository) past(ctx context.Context, h daemon.Place) []agency.Outcome {
	all, err := r.outcomes(ctx, h)
	if err != nil {
		r.note("what earlier runs took cannot be read, so that estimates are from a table: %v", err)
	}
	return all
}
