package main

import (
	"context"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

func decisionsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "decisions", Short: "What agents decided together: list, keep for later runs, drop",
		Long: `Agents of a team settle between them what has to be the same in the work of several:
a key, what holds, and why. It is forgotten with their run, unless you keep it: a
decision that is kept stands in the briefs of all later runs of this repository,
until you drop it. A later run may decide otherwise for itself.`,
		Args: none, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(decisionsList(a), decisionsKeep(a), decisionsDrop(a))
	return cmd
}

func decisionsList(a *app) *cobra.Command {
	var kept, asJSON bool
	cmd := &cobra.Command{
		Use: "list [RUN]", Short: "Show the decisions of a run, and those that are kept", Args: atMostOne,
		Long:    "Shows what the agents of a run decided together, and what is kept for the repository, with the person who\nkept it. Without RUN it shows the newest run's.",
		Example: "  agency decisions list k3f9d2ab\n  agency decisions list --kept --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if kept && len(args) > 0 {
				return usage("decisions list: a run or --kept, not both: what is kept is of all runs")
			}
			return listDecisions(cmd.Context(), &a.repository, args, kept, asJSON)
		},
	}
	cmd.Flags().BoolVar(&kept, "kept", false, "only those that are kept, of all runs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listDecisions(ctx context.Context, r *repository, args []string, kept, asJSON bool) error {
	h, err := r.look()
	if err != nil {
		return err
	}
	var all []agency.SharedDecision
	err = r.see(ctx, h, func(v api.View) error {
		var run agency.RunID // of none: what is kept
		if !kept {
			runs, err := v.Runs(ctx)
			if err != nil {
				return err
			}
			if len(runs) > 0 || len(args) > 0 { // what is kept outlives its run
				doc, err := pick(ctx, v, append(args, "")[0])
				if err != nil {
					return err
				}
				run = doc.ID
			}
		}
		all, err = v.Decisions(ctx, run)
		return err
	})
	if err != nil {
		return err
	}
	return r.show(asJSON, all, func() string { return tui.Decisions(r.style, all) })
}

func decisionsKeep(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "keep RUN KEY... | keep RUN --all", Short: "Have decisions of a run stand in the briefs of later runs", Args: cobra.MinimumNArgs(1),
		Long: `Keeps decisions of a run for the repository, outside of your checkout: agents of later
runs are told of them as they begin, and removing the run leaves them. What was kept under the
same key before is replaced, and named. One in which a key or password stands, or stood before it
was taken out, is refused.`,
		Example: "  agency decisions keep k3f9d2ab api/errors db/user-id\n  agency decisions keep k3f9d2ab --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := named(args); err != nil {
				return err
			}
			if run, keys := args[0], args[1:]; all == (len(keys) > 0) {
				return usage("decisions keep: name the keys, or --all").WithMend("agency decisions list %s", run)
			}
			return a.withRun(cmd.Context(), args[0], daemon.Want{}, func(_ daemon.Place, c *daemon.Connected, run api.RunDoc) error {
				kept, err := c.Keep(cmd.Context(), api.KeepRequest{Run: run.ID, Keys: args[1:], By: who()})
				if err != nil {
					return err
				}
				for _, k := range kept {
					a.printf(a.out, "%s\n", keptLine(k))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all decisions of the run")
	return cmd
}

// keptLine says what came of keeping a decision.
func keptLine(k agency.KeptDecision) string {
	line := tui.Line(k.Key) + ": " + tui.Line(k.Value)
	switch {
	case k.Same:
		return "is kept already: " + line
	case k.Before == nil:
		return "kept: " + line
	case k.Before.Value == k.Value:
		return "kept: " + line + " (with another reason than before, of run " + tui.Line(string(k.Before.Run)) + ")"
	}
	return "kept: " + line + " (in the place of " + tui.Line(k.Before.Value) + ", of run " + tui.Line(string(k.Before.Run)) + ")"
}

func decisionsDrop(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "drop KEY...", Short: "Keep decisions no more", Args: cobra.MinimumNArgs(1),
		Long:    "Has decisions that are kept stand in no later brief. The run in which each was decided keeps its record of it.",
		Example: "  agency decisions drop api/errors",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := named(args); err != nil {
				return err
			}
			h, err := a.look()
			if err != nil {
				return err
			}
			if !h.Exists() {
				return agency.Errorf(agency.KindNotFound, "no run of yours was ever started in %s: nothing is kept", h.Repo.WorkTree).WithMend("agency decisions list --kept")
			}
			c, err := a.connect(cmd.Context(), h, daemon.Want{})
			if err != nil {
				return err
			}
			defer c.Close()
			gone, err := c.Keep(cmd.Context(), api.KeepRequest{Drop: true, Keys: args, By: who()})
			for _, d := range gone {
				a.printf(a.out, "kept no more: %s: %s\n", tui.Line(d.Key), tui.Line(d.Value))
			}
			return err
		},
	}
}

func releaseCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "release RUN NAME", Short: "Take a reserved name from the contract that has it", Args: exactly(2),
		Long: `Agents of a team reserve what only one of them may take: the number of a migration, a port, a
route, a file. This takes such a name from the contract that has it, so that another may reserve it.
The contract that had it may take it only if it reserves it again: until then a change of it that
takes the name is refused when it is to land. Whoever works on it is told. The names of a run are shown by:
agency inspect RUN --decisions.`,
		Example: "  agency release k3f9d2ab 0042\n  agency release k3f9d2ab db/schema.sql#users",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], daemon.Want{}, func(_ daemon.Place, c *daemon.Connected, run api.RunDoc) error {
				r, err := c.Free(cmd.Context(), run.ID, api.FreeRequest{Name: args[1], By: who()})
				if err != nil {
					return err
				}
				return a.show(asJSON, r, func() string { return freedText(r) })
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func freedText(r agency.Reservation) string {
	s := tui.Line(r.Name) + " is free: contract " + tui.Line(string(r.Contract)) + " had it"
	if r.Landed {
		return s + ", and what it brought stays\n"
	}
	return s + ", and lands no change that takes it before it reserves it again\n"
}
