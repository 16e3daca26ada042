package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/text"
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

// withoutRun is what a command does that names no run.
const withoutRun = "Without RUN it asks on a terminal about the one run that it may be about; where there are several, and\nwithout a terminal, it lists them, each with its command, and ends with code 3."

func pauseCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "pause [RUN]", Short: "Stop a run at its next turn boundary", Args: atMostOne, Long: "Stops a run as its agents end their turns.\n\n" + withoutRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := meant(cmd.Context(), a, args, pausable, false)
			if err != nil || name == "" {
				return err
			}
			return pauseRun(cmd.Context(), a, name)
		},
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
		Use: "cancel [RUN]", Short: "End a run; its branch and record stay", Args: atMostOne, SuggestFor: []string{"stop", "kill", "abort"},
		Long: "Ends a run; its branch and record stay.\n\n" + withoutRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := meant(cmd.Context(), a, args, cancellable, false)
			if err != nil || name == "" {
				return err
			}
			return cancelRun(cmd.Context(), a, name)
		},
	}
}

func cancelRun(ctx context.Context, a *app, name string) error {
	return a.change(ctx, name, (*api.Client).Cancel, func(d api.RunDoc) string {
		return fmt.Sprintf("%s: %s", d.ID, d.State)
	})
}

func mergeCommand(a *app) *cobra.Command {
	var f runFlags
	var at string
	cmd := &cobra.Command{
		Use: "merge [RUN]", Short: "Merge a run that ended on its branch, or what it had verified before", Args: atMostOne,
		Long: "Merges a run that ended on its branch. With --at CONTRACT it merges what any run had verified up to that\ncontract, also where what came after it failed: a run of its own verifies that as a whole, and asks at its\nmerge gate.\n\n" + withoutRun,
		Example: `  agency merge k3f9d2ab
  agency merge k3f9d2ab --at main-2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at != "" && len(args) == 0 {
				return usage("merge: --at CONTRACT wants the RUN that it is of")
			}
			if at != "" {
				return goOn(cmd.Context(), a, args[0], agency.Follows{What: agency.FollowLand, Contract: agency.ContractID(at)}, "", f)
			}
			for _, name := range []string{"yes", "no-wait", "detach", "quiet", "verbose", "plain", "json"} {
				if cmd.Flags().Changed(name) && (name != "json" || len(args) > 0) { // which runs there are has a form for programs
					return usage("merge: --%s goes with --at: without it there is no gate", name)
				}
			}
			name, err := meant(cmd.Context(), a, args, mergeable, f.json)
			if err != nil || name == "" {
				return err
			}
			return a.change(cmd.Context(), name, (*api.Client).Merge, func(d api.RunDoc) string {
				return fmt.Sprintf("%s merged into %s as %.10s", d.ID, d.Target, d.Merged)
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "merge what was verified up to this `CONTRACT` (agency inspect lists them)")
	followFlags(cmd, &f)
	return cmd
}

func sayCommand(a *app) *cobra.Command {
	var to, reply string
	cmd := &cobra.Command{
		Use: "say RUN TEXT", Short: "Send a message into a run", Args: exactly(2),
		Long: "Sends a message to the agent that leads a run, or to another of its agents; it is read before the next\nturn. In a tiered run, whose visionary has no turn while others build or the run waits at a gate, it goes to\neveryone who is at work then, and whoever begins later reads it first; --to names one. To one that waits for an answer it is the answer. How far it has come, and the ids of messages, are shown by:\nagency inspect RUN --messages.",
		Example: `  agency say k3f9d2ab "the parser must also accept 1d"
  agency say k3f9d2ab --reply-to scaffolder-parser/parser/1/3/1 "yes, hours too"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return sayTo(cmd.Context(), a, args[0], api.SayRequest{To: to, InReplyTo: agency.MessageID(reply), Text: args[1]})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `AGENT` that is meant, or a role: the first of it to look (default: whoever leads; in a tiered run, while it builds or waits at a gate, everyone)")
	cmd.Flags().StringVar(&reply, "reply-to", "", "the `ID` of the message that this one answers; it goes to its sender where --to names nobody")
	return cmd
}

// sayTo sends a message into a run.
func sayTo(ctx context.Context, a *app, name string, r api.SayRequest) error {
	return a.withRun(ctx, name, daemon.Want{}, func(_ daemon.Place, c *daemon.Connected, run api.RunDoc) error {
		id, err := newID()
		if err != nil {
			return err
		}
		reply := r.InReplyTo
		r.ID, r.By = agency.MessageID(id), who()
		m, err := c.Say(ctx, run.ID, r)
		if err != nil {
			return err
		}
		a.printf(a.out, "message %s to %s: %s\n", m.ID, readers(m), agency.StandOf(m.Message))
		switch {
		case m.To == agency.Everyone && len(m.Readers) == 0:
			a.printf(a.out, "nobody is at work now: whoever begins next reads it first (agency inspect %s --messages says who has)\n", run.ID)
		case m.To == agency.Everyone:
			a.printf(a.out, "whoever begins later reads it first, the others before their next turn, and who builds is not done before that\n(agency inspect %[1]s --messages says who has; for one of them: agency say %[1]s --to AGENT TEXT)\n", run.ID)
		case reply != "":
			a.printf(a.out, "it answers message %s\n", m.InReplyTo)
		case m.InReplyTo != "":
			a.printf(a.out, "it answers the question %s\n", m.InReplyTo)
		case r.To == "" && cmp.Or(run.MovedTo, run.Mode) == agency.ModeTiered:
			a.printf(a.out, "nobody builds now: it is read when %s plans or accepts\n", m.To)
		}
		return nil
	})
}

// readers is to whom a message went.
func readers(m api.SaidDoc) string {
	switch {
	case m.To != agency.Everyone:
		return cmp.Or(m.To, string(m.ToRole))
	case len(m.Readers) == 0:
		return "everyone"
	}
	return "everyone at work (" + agency.JoinIDs(m.Readers, ", ") + ")"
}

// candidates are the runs that a command may be about where it names none.
type candidates struct {
	verb string // the command's name
	does string // what it does to a run, for the question about the one
	none string // what is said where there is none
	fits func(r api.RunDoc, of []api.RunDoc) bool
}

// meant is the run that a command names, else the one that it may be about, where the person
// at the terminal says so. Where several are, or nobody can be asked, they are listed, each with
// its command. Without a name and an error there is nothing to do.
func meant(ctx context.Context, a *app, args []string, of candidates, asJSON bool) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	runs, err := a.runs(ctx)
	if err != nil {
		return "", err
	}
	all := slices.Clone(runs)
	runs = slices.DeleteFunc(runs, func(r api.RunDoc) bool { return !of.fits(r, all) })
	if len(runs) == 1 && !asJSON && a.asksPeople() {
		r := runs[0]
		if a.confirm(fmt.Sprintf("%s %s: %s?", of.does, r.ID.Beside(r.Number), tui.Line(text.FirstLine(r.Goal, 100)))) {
			return string(r.ID), nil
		}
		a.note("nothing was done")
		return "", exit(exitWaiting)
	}
	err = a.show(asJSON, runs, func() string { return tui.Candidates(a.style, runs, of.verb, of.none, a.now()) })
	if err == nil && len(runs) > 0 {
		err = exit(exitWaiting) // nothing was done
	}
	return "", err
}

// Which runs go on, are paused, ended, rebased, merged and taken back.
var (
	pausable = candidates{"pause", "pause run", "no run is at work", func(r api.RunDoc, _ []api.RunDoc) bool {
		return !r.State.Final() && r.State != agency.StatePaused && r.State != agency.StateInterrupted
	}}
	cancellable = candidates{"cancel", "end run", "no run is open", func(r api.RunDoc, _ []api.RunDoc) bool { return !r.State.Final() }}
	resumable   = candidates{"resume", "let go on run", "no run is paused or interrupted", func(r api.RunDoc, _ []api.RunDoc) bool {
		return r.State == agency.StatePaused || r.State == agency.StateInterrupted
	}}
	rebasable = candidates{"resume --rebase", "rebase run", "no run waits at its merge gate or ended on its branch", func(r api.RunDoc, all []api.RunDoc) bool {
		return mergeable.fits(r, all) || slices.ContainsFunc(r.Gates, func(g api.GateDoc) bool { return g.Kind == agency.GateMerge })
	}}
	mergeable = candidates{"merge", "merge run", "no run that ended on its branch waits to be merged", func(r api.RunDoc, _ []api.RunDoc) bool {
		return r.State == agency.StateSucceeded && r.Merged == "" && r.Agent == "" && !r.Dry && !followed(r, agency.FollowOn, agency.FollowLand)
	}}
	undoable = candidates{"undo", "take back run", "no run has merged anything that was not taken back", func(r api.RunDoc, all []api.RunDoc) bool {
		var of []agency.Run
		for _, d := range all {
			of = append(of, agency.Run{ID: d.ID, Merged: d.Merged, Follows: d.Follows})
		}
		return r.Merged != "" && (r.Follows == nil || r.Follows.What != agency.FollowUndo) && agency.UndoneBy(of, r.ID) == nil
	}}
)

// followed tells whether a run that goes on from another one, in one of these ways, has succeeded.
func followed(r api.RunDoc, how ...agency.Following) bool {
	return slices.ContainsFunc(r.FollowedBy, func(f api.Follower) bool {
		return f.State == agency.StateSucceeded && slices.Contains(how, f.What)
	})
}
