package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

// withRun connects to the host and finds the run that is meant.
func (a *app) withRun(ctx context.Context, name string, want daemon.Want, fn func(here, *daemon.Connected, api.RunDoc) error) error {
	if err := a.agentsRun(); err != nil {
		return err
	}
	h, err := a.look()
	if err != nil {
		return err
	}
	if !h.place.Exists() {
		return agency.Errorf(agency.KindNotFound, "no run was ever started in %s", h.loc.WorkTree).WithMend(`agency run "GOAL"`)
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

func (a *app) approveCommand() *cobra.Command {
	var r api.AnswerRequest
	cmd := &cobra.Command{
		Use: "approve RUN", Short: "Approve the gate at which a run waits", Args: oneRun,
		Long: "Approves the gate at which a run waits. At the merge gate this lands the work; at a question the\nnote is the answer, or an option's number; at a budget gate it grants more.",
		Example: `  agency approve fix-parser-k3f9d2ab
  agency approve k3f9d2ab --note "use the existing helper in internal/dur"
  agency approve k3f9d2ab --budget 10`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("budget") && (!(r.BudgetUSD > 0) || math.IsInf(r.BudgetUSD, 1)) {
				return usage("--budget %g: want a number of US dollars, more than 0", r.BudgetUSD)
			}
			return a.answer(cmd.Context(), args[0], agency.Approve, r)
		},
	}
	cmd.Flags().StringVar(&r.Note, "note", "", "a `TEXT` for the agent; at a question the answer")
	cmd.Flags().StringVar((*string)(&r.Gate), "gate", "", "which gate, where several wait: its `ID`")
	cmd.Flags().Float64Var(&r.BudgetUSD, "budget", 0, "at a budget gate: the new limit of the run in `USD`")
	return cmd
}

func (a *app) rejectCommand() *cobra.Command {
	var r api.AnswerRequest
	cmd := &cobra.Command{
		Use: "reject RUN --reason TEXT", Short: "Reject the gate at which a run waits", Args: oneRun,
		Long:    "Rejects the gate at which a run waits. The first reject of the merge gate sends the work back with\nyour reason; a second one ends the run. The branch and the record stay.",
		Example: `  agency reject fix-parser-k3f9d2ab --reason "durations without a unit must stay an error"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.answer(cmd.Context(), args[0], agency.Reject, r)
		},
	}
	cmd.Flags().StringVar(&r.Note, "reason", "", "why: the `TEXT` that the agent is told")
	cmd.Flags().StringVar((*string)(&r.Gate), "gate", "", "which gate, where several wait: its `ID`")
	return cmd
}

func (a *app) answer(ctx context.Context, name string, verb agency.Verb, r api.AnswerRequest) error {
	return a.withRun(ctx, name, daemon.Want{}, func(h here, c *daemon.Connected, run api.RunDoc) error {
		r.Verb, r.By = verb, who()
		if r.Gate == "" && len(run.Gates) == 1 { // the one that waits now, not one that opens until the answer is there
			r.Gate = run.Gates[0].ID
		}
		// A key that is missing here is named by the run when it needs one: a
		// merge needs none.
		r.Secrets, _ = a.secretsOf(ctx, h, c, run.ID)
		got, err := c.Answer(ctx, run.ID, r)
		if err != nil {
			return err
		}
		word := map[agency.Verb]string{agency.Approve: "approved", agency.Reject: "rejected"}[verb]
		a.printf(a.out, "%s gate of %s %s\n", got.Gate.Kind, run.ID, word)
		if got.Note != "" {
			a.note("%s", got.Note)
			return exit(exitEnvironment)
		}
		doc, err := a.settled(ctx, c, got.Run)
		if err != nil {
			return err
		}
		a.printf(a.out, "%s", after(doc))
		return cameTo(got.Gate, doc)
	})
}

// cameTo is the exit code of an approval: a script that goes on after it must
// not take a merge for done that was not.
func cameTo(answered agency.Gate, doc api.RunDoc) error {
	if answered.Decision.Verb != agency.Approve {
		return nil
	}
	switch doc.State {
	case agency.StateFailed, agency.StateCancelled:
		return exit(exitFailed)
	case agency.StateInterrupted:
		return exit(exitEnvironment)
	}
	for _, g := range doc.Gates {
		if answered.Kind == agency.GateMerge && g.Kind == agency.GateMerge {
			return exit(exitWaiting)
		}
	}
	return nil
}

// settleTime is how long a command waits to be able to say what an answer led
// to: a merge takes milliseconds, an agent's work is not waited for.
const settleTime = 5 * time.Second

// settled waits a moment for a run to end, wait again or begin to work.
func (a *app) settled(ctx context.Context, c *daemon.Connected, run api.RunDoc) (api.RunDoc, error) {
	limit, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for ev, err := range c.Events(limit, api.EventQuery{Run: run.ID, After: run.LastEvent, Follow: true}) {
		s := tui.StateAfter(ev)
		if err != nil || s.Final() || s == agency.StateInterrupted || s == agency.StateWaiting || ev.Type == "spawned" || ev.Type == "turn_completed" {
			break
		}
	}
	runs, err := c.Runs(ctx)
	for _, r := range runs {
		if r.ID == run.ID {
			return r, err
		}
	}
	return run, err
}

func after(d api.RunDoc) string {
	switch {
	case d.State.Final() || d.State == agency.StateInterrupted:
		return strings.TrimPrefix(summary(d, 0, true), "\n")
	case len(d.Gates) > 0:
		return fmt.Sprintf("%s waits again: %s; see it with: agency inspect %s\n", d.ID, tui.Line(d.Gates[0].Summary), d.ID)
	default:
		return fmt.Sprintf("%s goes on; follow it with: agency watch %s\n", d.ID, d.ID)
	}
}

func (a *app) sayCommand() *cobra.Command {
	var to, reply string
	cmd := &cobra.Command{
		Use: "say RUN TEXT", Short: "Send a message into a run", Args: exactly(2, "say RUN TEXT"),
		Long: "Sends a message to the agent that leads a run, or to another of its agents; it is read before the next\nturn; to one that waits for an answer it is the answer. How far it has come, and the ids of messages, are shown by:\nagency inspect RUN --messages.",
		Example: `  agency say k3f9d2ab "the parser must also accept 1d"
  agency say k3f9d2ab --reply-to scaffolder-parser/parser/1/3/1 "yes, hours too"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], daemon.Want{}, func(_ here, c *daemon.Connected, run api.RunDoc) error {
				id, err := newID()
				if err != nil {
					return err
				}
				m, err := c.Say(cmd.Context(), run.ID, api.SayRequest{ID: agency.MessageID(id), To: to, InReplyTo: agency.MessageID(reply), Text: args[1], By: who()})
				if err != nil {
					return err
				}
				a.printf(a.out, "message %s to %s: %s\n", m.ID, cmp.Or(m.To, string(m.ToRole)), m.Status)
				switch {
				case reply != "":
					a.printf(a.out, "it answers message %s\n", m.InReplyTo)
				case m.InReplyTo != "":
					a.printf(a.out, "it answers the question %s\n", m.InReplyTo)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `AGENT` that is meant, or a role: the first of it to look (default: whoever leads)")
	cmd.Flags().StringVar(&reply, "reply-to", "", "the `ID` of the message that this one answers; it goes to its sender where --to names nobody")
	return cmd
}

func newID() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

type change func(*daemon.Connected, context.Context, agency.RunID, api.ByRequest) (api.RunDoc, error)

func (a *app) change(ctx context.Context, name string, fn change, say func(api.RunDoc) string) error {
	return a.withRun(ctx, name, daemon.Want{}, func(_ here, c *daemon.Connected, run api.RunDoc) error {
		doc, err := fn(c, ctx, run.ID, api.ByRequest{By: who()})
		if err == nil {
			a.printf(a.out, "%s\n", say(doc))
		}
		return err
	})
}

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "pause RUN", Short: "Stop a run at its next turn boundary", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			pause := func(c *daemon.Connected, ctx context.Context, id agency.RunID, r api.ByRequest) (api.RunDoc, error) {
				return c.Pause(ctx, id, r)
			}
			return a.change(cmd.Context(), args[0], pause, func(d api.RunDoc) string {
				switch {
				case d.State.Final():
					return fmt.Sprintf("%s %s already", d.ID, d.State.Has())
				case d.State == agency.StatePaused:
					return fmt.Sprintf("%s is paused; go on with: agency resume %s", d.ID, d.ID)
				}
				return fmt.Sprintf("%s pauses at the end of its turn; go on with: agency resume %s", d.ID, d.ID)
			})
		},
	}
}

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN", Short: "End a run; its branch and record stay", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			cancel := func(c *daemon.Connected, ctx context.Context, id agency.RunID, r api.ByRequest) (api.RunDoc, error) {
				return c.Cancel(ctx, id, r)
			}
			return a.change(cmd.Context(), args[0], cancel, func(d api.RunDoc) string {
				return fmt.Sprintf("%s: %s", d.ID, d.State)
			})
		},
	}
}

func (a *app) mergeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "merge RUN", Short: "Land a run that ended on its branch", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			merge := func(c *daemon.Connected, ctx context.Context, id agency.RunID, r api.ByRequest) (api.RunDoc, error) {
				return c.Merge(ctx, id, r)
			}
			return a.change(cmd.Context(), args[0], merge, func(d api.RunDoc) string {
				return fmt.Sprintf("%s merged into %s as %.10s", d.ID, d.Target, d.Merged)
			})
		},
	}
}

func (a *app) resumeCommand() *cobra.Command {
	var o followOptions
	var detach bool
	cmd := &cobra.Command{
		Use: "resume RUN", Short: "Let a paused or interrupted run go on, and follow it", Args: oneRun,
		Long: "Lets a run go on that was paused, or whose host or provider failed. Nothing that was finished is done\nagain. A run that has ended is only reported, with its exit code.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], daemon.Want{Work: true}, func(h here, c *daemon.Connected, run api.RunDoc) error {
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

func (a *app) resume(ctx context.Context, h here, c *daemon.Connected, run api.RunDoc, o followOptions, detach bool) error {
	if run.State.Final() && run.Dry && !detach {
		return a.endDry(ctx, c, run.ID, exit(run.State.ExitCode()), o.json)
	}
	if run.State.Final() {
		a.printf(a.out, "run %s %s already%s\n", run.ID, run.State.Has(), because(run.Reason))
		if code := run.State.ExitCode(); code != 0 {
			return exit(code)
		}
		return nil
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
		log.out = io.Discard
	}
	err = log.follow(ctx, c, doc, o)
	var ended exit
	if !run.Dry || err != nil && !errors.As(err, &ended) {
		return err
	}
	return a.endDry(ctx, c, run.ID, ended, o.json)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + tui.Line(reason)
}

func (a *app) rmCommand() *cobra.Command {
	var older string
	cmd := &cobra.Command{
		Use: "rm RUN | rm --older 30d", Short: "Remove finished runs: record, workspaces and branch", Args: atMostOne,
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
			return a.withRun(cmd.Context(), args[0], daemon.Want{}, func(_ here, c *daemon.Connected, run api.RunDoc) error {
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
	if err != nil || !h.place.Exists() {
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

func oneRun(cmd *cobra.Command, args []string) error {
	return exactly(1, cmd.Use)(cmd, args)
}

func exactly(n int, use string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == n {
			return named(args)
		}
		return agency.Errorf(agency.KindInvalid, "want %s, got %d", agency.Things(n, "argument", "arguments"), len(args)).WithMend("agency %s", use)
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

func wrapUsage(err error, mend string) error {
	return agency.Errorf(agency.KindInvalid, "%w", err).WithMend("%s", mend)
}
