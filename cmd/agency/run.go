package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/preview"
	"agency/internal/ui/tui"
)

// runFlags are those of run.
type runFlags struct {
	mode, target, feature, agent string
	follow                       string // the run that is gone on from
	profile                      string
	models                       []string // NAME or ROLE=NAME
	file                         string   // that holds the goal
	edit                         bool
	budget                       usd
	parallel                     int
	levels
	yes, noWait, detach        bool
	dirty, strict, dry, noRepo bool
	budgeted                   bool // a budget is given, be it 0
	untracked, images          []string
}

const runHelp = `Starts a run on the repository of the working directory and follows it.

The run starts from HEAD; uncommitted files are left out and named. Those that
you ask for go along as a commit of their own, which the merge gate and agency
diff show apart and which lands with the work; files that may hold a secret are
refused. Its work is integrated into the branch agency/RUN/main, and merged into yours only after you have
approved the merge gate. On a terminal a gate is answered where it is shown, by the
keys that stand below it, and from anywhere by agency approve and agency reject.
Ctrl-C pauses the run.

On a terminal with colours you see what the model says while it says it, its edits, the
ends of its commands' outputs and, below, how the run stands and what it waits for.
--quiet shows gates, failures and the end alone, --verbose every event and more of each,
--plain a line an event as in a file, --json a document an event.

The goal is one argument, the text of a file (-f goal.md), of standard input (-), or
what you write in your editor (--edit).

A FILE such as team.yaml or plan.json holds a goal, settings, and, where you do
not want a manager to plan, contracts; agency inspect RUN --plan --json prints
such a file, but of a tiered run: its visionary plans each time, so there give
the goal again, with what you want otherwise. Settings of agency.yaml count more
than those of the file, flags count most.

With --continue RUN the goal is what is wanted now, too: a run that has ended is gone on
from, by a new run on what it had verified, in the same conversation where that fits; at a
run that waits at its merge gate it is a reject with the goal as its reason, and --yes is
refused. All goals before it are told. One agent goes on, also from a team's run; with --mode
the new goal is planned and done in that mode, on top of what was verified.

With --agent an agent of a file answers INPUT, or what stands on standard input,
with all agents that it comes to: the answer alone is standard output. It sees a
checkout of HEAD, where its tools are for one, and nothing of it lands; with
--no-repo there is no repository.`

const runExamples = `  agency run "Parse durations like 1h30m in config.Load; add tests"
  agency run "Fix the flaky test in ./queue" --budget 2 --yes
  agency run "Drop the v1 endpoints" --detach
  agency run "Drop the v1 endpoints" --mode contract --dry-run
  agency run -f goal.md
  gh issue view 42 | agency run -
  agency run --feature durations
  agency run --continue k3f9d2ab "now also accept 1d"
  agency run team.yaml
  agency run --agent security-engineer "What may go wrong in ./auth?" >answer.md
  git diff | agency run --agent code-reviewer --no-repo
  agency inspect k3f9d2ab --plan --json >plan.json; agency run plan.json`

func runCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run GOAL | run -f FILE | run FILE | run --continue RUN GOAL | run --agent NAME [INPUT]", Short: "Start a run and follow it",
		Long: runHelp, Example: runExamples,
		Args: oneGoal,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := wanted(cmd.Context(), a, f, args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if f.agent != "" {
				return runAgent(cmd.Context(), a, f, text)
			}
			if f.follow != "" {
				return goOn(cmd.Context(), a, f.follow, agency.Follows{What: agency.FollowOn}, text, f)
			}
			return a.start(cmd.Context(), text, f)
		},
	}
	defineRun(cmd.Flags(), &f)
	f.define(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("max-parallel") && f.parallel < 1 {
			return usage("--max-parallel %d: want 1 or more", f.parallel)
		}
		f.budgeted = cmd.Flags().Changed("budget")
		return nil
	}
	return cmd
}

// defineAsked are the flags of whatever is asked of agents, be it a goal or a question.
func defineAsked(fl *pflag.FlagSet, f *runFlags, what string) {
	fl.StringArrayVar(&f.models, "model", nil, "ask the model `[ROLE=]NAME`, in all of the run or where the role is at work: provider/model, a model's name alone or a level; may be repeated, and agency model changes it later; an agent whose file names its model keeps that")
	fl.StringVar(&f.profile, "profile", "", "lay the profile `NAME` of your own file over all files (profiles)")
	fl.Var(&f.budget, "budget", "stop at a gate before spending more than `USD`")
	fl.BoolVar(&f.noWait, "no-wait", false, "exit with code 3 at the first gate that waits")
	fl.BoolVar(&f.detach, "detach", false, "print the run's id and leave")
	fl.StringArrayVar(&f.images, "image", nil, "show the agents the picture in `FILE` (PNG, JPEG, GIF or WebP), where their models see; may be repeated")
	fl.StringVarP(&f.file, "file", "f", "", "take the "+what+" from the text in `FILE`; -: from standard input")
}

func defineRun(fl *pflag.FlagSet, f *runFlags) {
	defineAsked(fl, f, "goal")
	fl.StringVar(&f.mode, "mode", "", "how the work is organised: `single` (one agent), contract (the goal becomes a formal contract first), producer_critic (and a critic reads what is integrated), multi_agent (a team), tiered (as deep as the work: a visionary, architects, squads, verifiers) or full (a team with everything that is configured)")
	fl.StringVar(&f.target, "target", "", "the `BRANCH` that the work is for (default: the one that is checked out)")
	fl.BoolVar(&f.yes, "yes", false, "approve the merge gate (never budget, danger, trust, weakened tests, work that nothing tested or files that act on others' machines)")
	fl.BoolVar(&f.dirty, "include-dirty", false, "start from HEAD with your edits of tracked files, as a commit of their own below the work")
	fl.StringArrayVar(&f.untracked, "include-untracked", nil, "start with the untracked file or folder `PATH`, too; may be repeated")
	fl.BoolVar(&f.strict, "strict", false, "turn all gates on")
	fl.BoolVar(&f.edit, "edit", false, "write the goal in your editor (VISUAL or EDITOR)")
	fl.StringVar(&f.follow, "continue", "", "go on from what `RUN` had verified, with GOAL as what is wanted now, too")
	fl.StringVar(&f.feature, "feature", "", "work on the feature `ID` of features.json instead of a goal")
	fl.StringVar(&f.agent, "agent", "", "have the agent `NAME` answer INPUT (agency agents list)")
	fl.IntVar(&f.parallel, "max-parallel", 0, "most contracts of a team at work at once, `N` (default: max_parallel_agents)")
	fl.BoolVar(&f.dry, "dry-run", false, "show plan, gates and the most that it can cost; nothing is started or spent, but a team's plan is made")
	fl.BoolVar(&f.noRepo, "no-repo", false, "with --agent: on text alone, in no repository")
}

func oneGoal(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("agent") {
		return agentFlags(cmd, args)
	}
	if cmd.Flags().Changed("no-repo") {
		return agency.Errorf(agency.KindInvalid, "run: --no-repo is for an agent on text alone: a goal is worked on in a repository").WithMend("agency run --agent NAME --no-repo INPUT")
	}
	if err := errors.Join(oneSource(cmd, args), continues(cmd)); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("feature"), cmd.Flags().Changed("file"), cmd.Flags().Changed("edit"):
	case len(args) == 0:
		return agency.Errorf(agency.KindInvalid, "run: say what should be different").WithMend(`agency run "GOAL"`)
	case len(args) > 1:
		return agency.Errorf(agency.KindInvalid, "run: the goal is one argument, here are %d", len(args)).WithMend(`agency run %q`, strings.Join(args, " "))
	case strings.TrimSpace(args[0]) == "":
		return agency.Errorf(agency.KindInvalid, "run: the goal is empty").WithMend(`agency run "GOAL"`)
	}
	return nil
}

// continues refuses what the run says from which another one goes on.
func continues(cmd *cobra.Command) error {
	for _, other := range []string{"target", "feature", "include-dirty", "include-untracked", "dry-run"} {
		if cmd.Flags().Changed("continue") && cmd.Flags().Changed(other) {
			return usage("run: --%s means nothing with --continue: a run goes on where the other one stands", other)
		}
	}
	return nil
}

// oneSource refuses a goal from two places.
func oneSource(cmd *cobra.Command, args []string) error {
	var from []string
	if len(args) > 0 {
		from = append(from, fmt.Sprintf("%q", args[0]))
	}
	for _, name := range []string{"file", "edit", "feature"} {
		if cmd.Flags().Changed(name) {
			from = append(from, "--"+name)
		}
	}
	if len(from) > 1 {
		what := "goal"
		if cmd.Name() == "ask" {
			what = "question"
		}
		return usage("%s: %s say the %s: want one of them", cmd.Name(), strings.Join(from, " and "), what)
	}
	return nil
}

// agentFlags refuses what means nothing where an agent answers.
func agentFlags(cmd *cobra.Command, args []string) error {
	name, mend := cmd.Name(), "agency run --agent NAME"
	if name == "ask" {
		mend = "agency ask"
	}
	for _, other := range []string{"mode", "target", "feature", "continue", "include-dirty", "include-untracked", "strict", "max-parallel", "dry-run"} {
		if cmd.Flags().Changed(other) {
			return agency.Errorf(agency.KindInvalid, "run: --%s means nothing where an agent answers: nothing of it lands", other).WithMend("%s INPUT", mend)
		}
	}
	if err := oneSource(cmd, args); err != nil {
		return err
	}
	if len(args) > 1 {
		return agency.Errorf(agency.KindInvalid, "%s: the input is one argument, here are %d", name, len(args)).WithMend("%s %q", mend, strings.Join(args, " "))
	}
	return nil
}

// runAgent has an agent answer an input.
func runAgent(ctx context.Context, a *app, f runFlags, input string) (err error) {
	var h daemon.Place
	if f.noRepo {
		h, err = a.claimNone(ctx)
	} else {
		h, err = a.claim()
	}
	if errors.Is(err, daemon.ErrNoRepository) {
		mend := nameRepo
		if f.agent != agency.GuideAgent {
			mend = fmt.Sprintf("agency run --agent %s --no-repo, on text alone", f.agent)
		}
		return agency.Errorf(agency.KindInvalid, "%w", err).WithMend("%s", mend)
	}
	if err != nil {
		return err
	}
	b := aside(a)
	if f.json || f.detach {
		b = a
	}
	w := a.wish(input, f)
	w.Agent, w.NoRepo = f.agent, f.noRepo
	req, err := b.preview(h).AgentRequest(w)
	if err != nil {
		return err
	}
	return b.begin(ctx, h, req, f, a.out)
}

// wanted is the goal, or what an agent is to answer: the argument, the text of a file or of
// standard input, or what the person writes. An agent reads standard input also where
// nothing says so, but a person is not waited for.
func wanted(ctx context.Context, a *app, f runFlags, args []string, in io.Reader) (string, error) {
	from := f.file
	if f.agent != "" && len(args) == 0 && !f.edit && f.file == "" {
		if a.asksPeople() {
			return "", f.unasked("say what the agent is to answer")
		}
		from = "-"
	}
	text := strings.Join(args, "")
	if text == "-" {
		from = "-"
	}
	switch {
	case f.feature != "":
		return "", nil
	case f.edit && !onTerminal():
		return "", agency.Errorf(agency.KindInvalid, "run: --edit needs a terminal").WithMend("agency run -f FILE")
	case f.edit:
		var err error
		if text, err = editorOf(a).Text(ctx, "Say above this line what should be different."); err != nil {
			return "", err
		}
	case from == "-":
		raw, err := io.ReadAll(io.LimitReader(in, agency.MaxGoal+1))
		if err != nil {
			return "", agency.Errorf(agency.KindTransient, "standard input: %w", agency.Cause(err))
		}
		text = string(raw)
	case from != "":
		return preview.GoalIn(from)
	}
	switch empty := strings.TrimSpace(text) == ""; {
	case empty && f.agent != "":
		return "", f.unasked("there is nothing for the agent to answer")
	case empty:
		return "", agency.Errorf(agency.KindInvalid, "run: the goal is empty").WithMend(`agency run "GOAL"`)
	}
	return text, agency.CheckGoal(text)
}

// unasked is the error where an agent gets nothing to answer.
func (f runFlags) unasked(why string) error {
	if f.agent == agency.GuideAgent {
		return agency.Errorf(agency.KindInvalid, "ask: %s", why).WithMend(`agency ask "QUESTION", or pipe it in`)
	}
	return agency.Errorf(agency.KindInvalid, "run: %s", why).WithMend(`agency run --agent %s "INPUT", or pipe it in`, f.agent)
}

func (a *app) start(ctx context.Context, goal string, f runFlags) error {
	if err := a.agentsRun(); err != nil {
		return err
	}
	if f.dry {
		return a.dryRun(ctx, goal, f)
	}
	_, err := startGoal(ctx, a, goal, f)
	return err
}

// startGoal starts a run on a goal and gives its id, also where it went wrong later.
func startGoal(ctx context.Context, a *app, goal string, f runFlags) (agency.RunID, error) {
	h, err := a.claim()
	if err != nil {
		return "", err
	}
	req, err := a.preview(h).Request(ctx, a.wish(goal, f))
	if err != nil {
		return "", err
	}
	return req.ID, a.begin(ctx, h, req, f, nil)
}

// begin starts a run and follows it; answer gets what an agent has answered, alone.
func (a *app) begin(ctx context.Context, h daemon.Place, req api.RunRequest, f runFlags, answer *tui.Screen) error {
	c, err := a.connect(ctx, h, daemon.Want{Work: true})
	if err != nil {
		return err
	}
	defer c.Close()
	a.resumeDrained(ctx, h, c)
	if !f.detach {
		a.catch()
	}
	started, err := c.Start(ctx, req)
	if err != nil {
		return err
	}
	for _, n := range started.Notes {
		a.tell("%s", n)
	}
	if err := a.announce(started.Run, f.json, f.detach); err != nil || f.detach {
		return err
	}
	return a.follow(ctx, c, started.Run, followOptions{levels: f.levels, yes: f.yes, noWait: f.noWait, pauses: true, answer: answer})
}

// announce prints the first line of a run.
func (a *app) announce(run api.RunDoc, asJSON, detach bool) error {
	switch {
	case asJSON:
		return a.printLine(api.StartedDoc{RunID: run.ID, Number: run.Number})
	case detach:
		_, err := fmt.Fprintln(a.out, run.ID)
		return err
	}
	_, err := fmt.Fprintln(a.out, "run", run.ID.Beside(run.Number))
	return err
}

// wish is what the flags ask for.
func (a *app) wish(goal string, f runFlags) preview.Wish {
	return preview.Wish{
		Goal: goal, Feature: agency.FeatureID(f.feature), Flags: f.layer(), Target: f.target, By: who(), Yes: f.yes, Strict: f.strict,
		Asks:         draws(a) && !f.yes && !f.noWait && !f.detach && !f.json,
		IncludeDirty: f.dirty, IncludeUntracked: f.untracked, Images: f.images, Allowed: a.walls,
	}
}

// layer is the flags that are settings.
func (f runFlags) layer() []config.Flag {
	var out []config.Flag
	if f.mode != "" {
		out = append(out, config.Flag{Key: "mode", Value: f.mode, Name: "--mode"})
	}
	if f.profile != "" {
		out = append(out, preview.ProfileFlag(f.profile))
	}
	for _, m := range f.models {
		out = append(out, preview.ModelFlag(m))
	}
	if f.parallel != 0 {
		out = append(out, config.Flag{Key: "max_parallel_agents", Value: strconv.Itoa(f.parallel), Name: "--max-parallel"})
	}
	if f.budgeted {
		out = append(out, config.Flag{Key: "budget.usd", Value: f.budget.String(), Name: "--budget"})
	}
	return out
}

// resumeDrained takes up the runs that an older host left.
func (r *repository) resumeDrained(ctx context.Context, h daemon.Place, c *daemon.Connected) {
	for _, run := range c.Drained {
		secrets, err := r.secretsOf(ctx, h, c, run)
		if err == nil {
			_, err = c.Resume(ctx, run, api.ResumeRequest{Secrets: secrets, By: who()})
		}
		if err != nil {
			r.note("run %s was handed over by an older host and does not go on by itself: %v; agency resume %s", run, err, run)
			continue
		}
		r.note("run %s was handed over by an older host and goes on", run)
	}
}
