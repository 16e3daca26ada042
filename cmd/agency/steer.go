package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

// withRun connects to the host and finds the run that is meant.
func (a *app) withRun(ctx context.Context, name string, want daemon.Want, fn func(daemon.Place, *daemon.Connected, api.RunDoc) error) error {
	if err := a.agentsRun(); err != nil {
		return err
	}
	h, err := a.look()
	if err != nil {
		return err
	}
	if !h.Exists() {
		return agency.Errorf(agency.KindNotFound, "no run of yours was ever started in %s", h.Repo.WorkTree).WithMend(`agency run "GOAL"`)
	}
	if h, err = a.claim(); err != nil {
		return err
	}
	c, err := a.connect(ctx, h, want)
	if err != nil {
		return err
	}
	defer c.Close()
	a.resumeDrained(ctx, h, c)
	run, err := pick(ctx, c, name)
	if err != nil {
		return err
	}
	return fn(h, c, run)
}

func newID() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

type change func(*api.Client, context.Context, agency.RunID, api.ByRequest) (api.RunDoc, error)

func (a *app) change(ctx context.Context, name string, fn change, say func(api.RunDoc) string) error {
	return a.withRun(ctx, name, daemon.Want{}, func(_ daemon.Place, c *daemon.Connected, run api.RunDoc) error {
		doc, err := fn(c.Client, ctx, run.ID, api.ByRequest{By: who()})
		if err == nil {
			a.printf(a.out, "%s\n", say(doc))
		}
		return err
	})
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + tui.Line(reason)
}

func oneRun(cmd *cobra.Command, args []string) error { return exactly(1)(cmd, args) }

func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return named(args)
		}
		return agency.Errorf(agency.KindInvalid, "want %s, got %d", agency.Things(n, "argument", "arguments"), len(args)).WithMend("agency %s", cmd.Use)
	}
}

// atMostOne accepts a run's name or none.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("want one argument or none, got %d", len(args))
	}
	return named(args)
}

// named refuses an empty argument: an unset variable of a script must not mean
// whichever run there is.
func named(args []string) error {
	for _, arg := range args {
		if strings.TrimSpace(arg) == "" {
			return usage("an argument is empty")
		}
	}
	return nil
}

// oneOf has a command refuse flags beside each other of which one is left out silently
// otherwise. It wraps the command's arguments, which are looked at before cobra looks at
// its groups: that one's words are for programmers, and its errors are of no kind.
func oneOf(cmd *cobra.Command, names ...string) {
	cmd.MarkFlagsMutuallyExclusive(names...) // for the completion of shells
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return err
		}
		var given []string
		for _, name := range names {
			if f := cmd.Flags().Lookup(name); f.Changed {
				given = append(given, "--"+name)
			}
		}
		if len(given) < 2 {
			return nil
		}
		return wrapUsage(fmt.Errorf("%s: %s: one of them, not %s", cmd.Name(), strings.Join(given, " and "), bothOrAll(len(given))), cmd.CommandPath()+" --help")
	}
}

func bothOrAll(n int) string {
	if n == 2 {
		return "both"
	}
	return "all"
}

func wrapUsage(err error, mend string) error {
	return agency.Errorf(agency.KindInvalid, "%w", err).WithMend("%s", mend)
}

func pauseCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "pause RUN", Short: "Stop a run at its next turn boundary", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error { return pauseRun(cmd.Context(), a, args[0]) },
	}
}

func pauseRun(ctx context.Context, a *app, name string) error {
	return a.change(ctx, name, (*api.Client).Pause, func(d api.RunDoc) string {
		switch {
		case d.State.Final():
			return fmt.Sprintf("%s %s already", d.ID, d.State.Has())
		case d.State == agency.StatePaused:
			return fmt.Sprintf("%s is paused; go on with: agency resume %s", d.ID, d.ID)
		}
		return fmt.Sprintf("%s pauses as its agents end their turns; go on with: agency resume %s", d.ID, d.ID)
	})
}

func cancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN", Short: "End a run; its branch and record stay", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error { return cancelRun(cmd.Context(), a, args[0]) },
	}
}

func cancelRun(ctx context.Context, a *app, name string) error {
	return a.change(ctx, name, (*api.Client).Cancel, func(d api.RunDoc) string {
		return fmt.Sprintf("%s: %s", d.ID, d.State)
	})
}

func mergeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "merge RUN", Short: "Land a run that ended on its branch", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), args[0], (*api.Client).Merge, func(d api.RunDoc) string {
				return fmt.Sprintf("%s merged into %s as %.10s", d.ID, d.Target, d.Merged)
			})
		},
	}
}
