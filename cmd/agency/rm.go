package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"agency/internal/api"
	"agency/internal/daemon"
)

func rmCommand(a *app) *cobra.Command {
	var older string
	cmd := &cobra.Command{
		Use: "rm RUN | rm --older 30d", SuggestFor: []string{"delete", "remove"}, Short: "Remove finished runs: record, workspaces and branch", Args: atMostOne,
		Long:    "Removes the record, the workspaces and the branch of runs that have ended. What they merged stays.",
		Example: "  agency rm k3f9d2ab\n  agency rm --older 30d",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && older == "":
				return usage("rm: name a run, or an age with --older 30d")
			case len(args) == 1 && older != "":
				return usage("rm: a run or --older, not both")
			case older != "":
				return a.removeOlder(cmd.Context(), older)
			}
			return a.withRun(cmd.Context(), args[0], daemon.Want{}, func(_ daemon.Place, c *daemon.Connected, run api.RunDoc) error {
				return a.remove(cmd.Context(), c, run)
			})
		},
	}
	cmd.Flags().StringVar(&older, "older", "", "all that ended longer ago than `AGE`, such as 30d or 12h")
	return cmd
}

func (a *app) remove(ctx context.Context, c *daemon.Connected, run api.RunDoc) error {
	if err := c.Remove(ctx, run.ID, api.ByRequest{By: who()}); err != nil {
		return err
	}
	a.printf(a.out, "removed %s\n", run.ID)
	return nil
}

func (a *app) removeOlder(ctx context.Context, older string) error {
	age, err := parseAge(older)
	if err != nil {
		return err
	}
	h, err := a.look()
	if err != nil || !h.Exists() {
		return err
	}
	c, err := a.connect(ctx, h, daemon.Want{})
	if err != nil {
		return err
	}
	defer c.Close()
	runs, err := c.Runs(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, run := range runs {
		if !run.State.Final() || a.now().Sub(run.FinishedAt) < age {
			continue
		}
		if err := a.remove(ctx, c, run); err != nil { // the others are no worse for it
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// parseAge reads 30d, 2w or anything that a Go duration is.
func parseAge(s string) (time.Duration, error) {
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if s != "" {
		if unit, ok := units[s[len(s)-1]]; ok {
			var n int
			var rest string
			if k, _ := fmt.Sscanf(s[:len(s)-1]+" ", "%d%s", &n, &rest); k == 1 && n >= 0 && n < 100_000 {
				return time.Duration(n) * unit, nil
			}
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, usage("--older %q: want an age such as 30d, 2w or 12h", s)
	}
	return d, nil
}
