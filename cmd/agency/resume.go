package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

func resumeCommand(a *app) *cobra.Command {
	var o followOptions
	var detach bool
	cmd := &cobra.Command{
		Use: "resume RUN", Short: "Let a paused or interrupted run go on, and follow it", Args: oneRun,
		Long: "Lets a run go on that was paused, or whose host or provider failed. Nothing that was finished is done\nagain. A run that has ended is only reported, with its exit code.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], daemon.Want{Work: true}, func(h daemon.Place, c *daemon.Connected, run api.RunDoc) error {
				return a.resume(cmd.Context(), h, c, run, o, detach)
			})
		},
	}
	cmd.Flags().BoolVar(&o.yes, "yes", false, "approve the merge gate from now on")
	cmd.Flags().BoolVar(&o.noWait, "no-wait", false, "exit with code 3 at the first gate that waits")
	cmd.Flags().BoolVar(&detach, "detach", false, "print the run's id and leave")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON document a line")
	cmd.Flags().BoolVar(&o.verbose, "verbose", false, "show every event")
	return cmd
}

func (a *app) resume(ctx context.Context, h daemon.Place, c *daemon.Connected, run api.RunDoc, o followOptions, detach bool) error {
	if run.State.Final() && run.Dry && !detach {
		return a.endDry(ctx, h, c, run.ID, exit(run.State.ExitCode()), o.json)
	}
	if run.Agent != "" && !detach && !o.json {
		o.answer = a.out
		a = aside(a)
	}
	if run.State.Final() {
		a.printf(a.out, "run %s %s already%s\n", run.ID, run.State.Has(), because(run.Reason))
		if code := run.State.ExitCode(); code != 0 {
			return exit(code)
		}
		return (&follower{a: a, o: o}).answered(run)
	}
	secrets, err := a.secretsOf(ctx, h, c, run.ID)
	if err != nil && len(run.Gates) == 0 { // at a gate no key may be needed any more
		return err
	}
	if !detach {
		a.catch()
	}
	doc, err := c.Resume(ctx, run.ID, api.ResumeRequest{Secrets: secrets, Yes: o.yes, By: who()})
	if err != nil {
		return err
	}
	if !run.Dry || !o.json || detach {
		if err := a.announce(run.ID, o.json, detach); err != nil || detach {
			return err
		}
	}
	o.yes, o.pauses = o.yes || run.Yes, true
	o.after, o.known = run.LastEvent, run.LastEvent
	log := *a
	if run.Dry && o.json { // one document is the answer
		log.out = tui.NewScreen(io.Discard, tui.Style{})
	}
	err = log.follow(ctx, c, doc, o)
	var ended exit
	if !run.Dry || err != nil && !errors.As(err, &ended) {
		return err
	}
	return a.endDry(ctx, h, c, run.ID, ended, o.json)
}
