package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/text"
	"agency/internal/ui/tui"
)

func resumeCommand(a *app) *cobra.Command {
	var o followOptions
	var detach, rebase bool
	cmd := &cobra.Command{
		Use: "resume [RUN]", Short: "Let a paused or interrupted run go on, and follow it", Args: atMostOne,
		Long: "Lets a run go on that was paused, or whose host or provider failed. Nothing that was finished is done\nagain. A run that has ended is only reported, with its exit code.\n\nWith --rebase a run that waits at its merge gate, or ended on its branch, is brought together with what the\nbranch that it is for has come to: by an agent where both changed the same lines, which is told what either\nside meant. It is verified as before, and the gate asks again.\n\n" + withoutRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			of := resumable
			if rebase {
				of = rebasable
			}
			name, err := meant(cmd.Context(), a, args, of, o.json)
			if err != nil || name == "" {
				return err
			}
			if rebase {
				f := runFlags{yes: o.yes, noWait: o.noWait, detach: detach, levels: o.levels}
				return goOn(cmd.Context(), a, name, agency.Follows{What: agency.FollowLand, Rebase: true}, "", f)
			}
			return a.withRun(cmd.Context(), name, daemon.Want{Work: true}, func(h daemon.Place, c *daemon.Connected, run api.RunDoc) error {
				return a.resume(cmd.Context(), h, c, run, o, detach)
			})
		},
	}
	cmd.Flags().BoolVar(&o.yes, "yes", false, "approve the merge gate from now on")
	cmd.Flags().BoolVar(&o.noWait, "no-wait", false, "exit with code 3 at the first gate that waits")
	cmd.Flags().BoolVar(&rebase, "rebase", false, "bring the work together with what its target has come to")
	cmd.Flags().BoolVar(&detach, "detach", false, "print the run's id and leave")
	o.define(cmd)
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
		a.printf(a.out, "%s", tui.Next(a.styleNow(), run.Next, ""))
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
		if err := a.announce(run, o.json, detach); err != nil || detach {
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

func undoCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "undo [RUN]", SuggestFor: []string{"revert", "rollback"}, Short: "Take back what a run merged, by a commit that reverts it", Args: atMostOne,
		Long: `Takes back what a run has merged into its branch: a run of its own reverts the merge, has what comes of
that verified, and asks at its merge gate before it is merged. What changed since in the same places is a
conflict: it is named, and nothing is touched. Checks that fail without it, the build
among them, hold nothing back: the gate names them, and --yes does not answer that. A run that took back is
taken back the same way: what it took is there again. No model is asked, unless you reject the gate with a reason.

` + withoutRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := meant(cmd.Context(), a, args, undoable, f.json)
			if err != nil || name == "" {
				return err
			}
			return goOn(cmd.Context(), a, name, agency.Follows{What: agency.FollowUndo}, "", f)
		},
	}
	followFlags(cmd, &f)
	return cmd
}

// followFlags are those of commands that start a run on another one.
func followFlags(cmd *cobra.Command, f *runFlags) {
	fl := cmd.Flags()
	fl.BoolVar(&f.yes, "yes", false, "approve the merge gate (never weakened tests, nor files that act on others' machines)")
	fl.BoolVar(&f.noWait, "no-wait", false, "exit with code 3 at the first gate that waits")
	fl.BoolVar(&f.detach, "detach", false, "print the run's id and leave")
	f.define(cmd)
}

// goOn starts a run where another one stands and follows it. One that waits at its merge gate
// goes on itself, by a reject.
func goOn(ctx context.Context, a *app, name string, of agency.Follows, wish string, f runFlags) error {
	return a.withRun(ctx, name, daemon.Want{Work: true}, func(h daemon.Place, c *daemon.Connected, run api.RunDoc) error {
		goal := strings.TrimSpace(text.FirstLine(run.Goal, 200))
		of.Run = run.ID
		if i := slices.IndexFunc(run.Gates, func(g api.GateDoc) bool { return g.Kind == agency.GateMerge }); i >= 0 && (of.What == agency.FollowOn || of.Rebase) {
			if err := f.begun(run.ID); err != nil {
				return err
			}
			if f.yes && of.What == agency.FollowOn { // it would reject, and approve whatever comes of that unseen
				return agency.Errorf(agency.KindConflict, "run %s waits at its merge gate: --yes approves that, and a new goal sends it back; nothing was answered", run.ID).
					WithMend("agency approve %s merges what is there, or agency run --continue %[1]s %s sends it back; the gate asks about what comes of it", run.ID, strconv.Quote(text.FirstLine(wish, 200)))
			}
			r := api.AnswerRequest{Gate: run.Gates[i].ID, Verb: agency.Reject, Note: wish}
			if of.Rebase {
				r.Verb, r.Note = agency.Approve, agency.RebaseNote
			}
			return answerAndFollow(ctx, a, h, c, run, r, f)
		}
		if of.Rebase && !run.State.Final() {
			return agency.Errorf(agency.KindConflict, "run %s %s, and waits at no merge gate: there is nothing to rebase yet", run.ID, run.State.Has()).WithMend("agency resume %s", run.ID)
		}
		asked := f.mode
		f.mode = string(agency.ModeSingle)
		switch of.What {
		case agency.FollowOn:
			in := cmp.Or(run.MovedTo, run.Mode)
			f.mode = cmp.Or(asked, string(in))
			if of.Planned = asked != "" && asked != string(agency.ModeSingle); asked == "" && in.Team() {
				a.tell("one agent goes on from what the team had verified; --mode %s has it planned by a team", in)
			}
			if err := keepLimit(ctx, a, c, run.ID, &f); err != nil {
				return err
			}
		case agency.FollowLand:
			upTo := ""
			if of.Contract != "" {
				upTo = fmt.Sprintf(" up to %s", of.Contract)
			}
			wish = fmt.Sprintf("Land what run %s had verified%s: %s", run.ID, upTo, goal)
		case agency.FollowUndo:
			wish = fmt.Sprintf("Take back run %s: %s", run.ID, goal)
		}
		if run.Agent != "" {
			return agency.Errorf(agency.KindConflict, "run %s has an answer and no work: nothing of it lands", run.ID).WithMend("agency resume %s prints it", run.ID)
		}
		w := a.wish(wish, f)
		w.Follows = &of
		req, err := a.preview(h).Request(ctx, w)
		if err != nil {
			return err
		}
		return a.begin(ctx, h, req, f, nil)
	})
}

// begun refuses the flags of a start where a run goes on that has begun with others.
func (f runFlags) begun(run agency.RunID) error {
	var names []string
	for _, s := range f.layer() {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	if f.strict {
		names = append(names, "--strict")
	}
	if len(f.images) > 0 {
		names = append(names, "--image")
	}
	if len(names) == 0 {
		return nil
	}
	return agency.Errorf(agency.KindInvalid, "run %s waits at its merge gate and goes on as it began: %s would change nothing", run, strings.Join(names, ", ")).
		WithMend("leave that out; agency model %s sets its models, and a gate asks before its budget is passed", run)
}

// keepLimit has what goes on from a run spend at most what that could, where nothing else is
// said.
func keepLimit(ctx context.Context, a *app, c *daemon.Connected, run agency.RunID, f *runFlags) error {
	if f.budgeted || f.profile != "" {
		return nil
	}
	spent, err := c.Cost(ctx, run)
	if limit := spent.Limits.USD; err == nil && limit > 0 {
		f.budget, f.budgeted = usd(limit), true
		a.tell("it may cost at most %s, the limit of run %s (--budget sets another)", agency.USD(limit), run)
	}
	return err
}

// answerAndFollow answers the merge gate of a run with what is wanted now, and follows it.
func answerAndFollow(ctx context.Context, a *app, h daemon.Place, c *daemon.Connected, run api.RunDoc, r api.AnswerRequest, f runFlags) error {
	if r.Verb == agency.Reject {
		a.tell("run %s waits at its merge gate: this is a reject, and goes back with your words as its reason", run.ID)
	}
	if !f.detach {
		a.catch()
	}
	r.By, r.Yes = who(), f.yes
	r.Secrets, _ = a.secretsOf(ctx, h, c, run.ID) // the run names a key that is missing
	got, err := c.Answer(ctx, run.ID, r)
	if err != nil {
		return err
	}
	if got.Note != "" {
		a.note("%s", got.Note)
		return exit(exitEnvironment)
	}
	if err := a.announce(run, f.json, f.detach); err != nil || f.detach {
		return err
	}
	return a.follow(ctx, c, got.Run, followOptions{
		yes: f.yes || run.Yes, noWait: f.noWait, levels: f.levels, pauses: true, after: run.LastEvent, known: run.LastEvent,
	})
}
