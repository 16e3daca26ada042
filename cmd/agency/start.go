package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/check/detect"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/host"
)

// runFlags are those of run.
type runFlags struct {
	mode, target, feature, agent string
	budget                       float64
	parallel                     int
	yes, noWait, detach, json    bool
	dirty, strict, dry, noRepo   bool
	budgeted                     bool // a budget is given, be it 0
	untracked                    []string
	verbose                      bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run GOAL | run FILE", Short: "Start a run and follow it",
		Long: `Starts a run on the repository of the working directory and follows it.

The run starts from HEAD; uncommitted files are left out and named. Those that
you ask for go along as a commit of their own, which the merge gate and agency
diff show apart and which lands with the work; files that may hold a secret are
refused. Its work lands on the branch agency/RUN/main, and in your branch only after you have
approved the merge gate. Ctrl-C pauses the run.

A FILE such as team.yaml or plan.json holds a goal, settings, and, where you do
not want a manager to plan, contracts; agency inspect RUN --plan --json prints
such a file. Settings of agency.yaml count more than those of the file, flags
count most.`,
		Example: `  agency run "Parse durations like 1h30m in config.Load; add tests"
  agency run "Fix the flaky test in ./queue" --budget 2 --yes
  agency run "Drop the v1 endpoints" --detach
  agency run "Drop the v1 endpoints" --mode contract --dry-run
  agency run --feature durations
  agency run team.yaml
  agency inspect k3f9d2ab --plan --json >plan.json; agency run plan.json`,
		Args: oneGoal,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.start(cmd.Context(), strings.Join(args, ""), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.mode, "mode", "", "how the work is organised: `single` (one agent), contract (the goal becomes a formal contract first), producer_critic (and a critic reads what lands), multi_agent (a team) or full (a team with everything that is configured)")
	fl.StringVar(&f.target, "target", "", "the `BRANCH` that the work is for (default: the one that is checked out)")
	fl.Float64Var(&f.budget, "budget", 0, "stop at a gate before spending more than `USD`")
	fl.BoolVar(&f.yes, "yes", false, "approve the merge gate (never budget, danger, trust, weakened tests or work that nothing tested)")
	fl.BoolVar(&f.noWait, "no-wait", false, "exit with code 3 at the first gate that waits")
	fl.BoolVar(&f.detach, "detach", false, "print the run's id and leave")
	fl.BoolVar(&f.dirty, "include-dirty", false, "start from HEAD with your edits of tracked files, as a commit of their own below the work")
	fl.StringArrayVar(&f.untracked, "include-untracked", nil, "start with the untracked file or folder `PATH`, too; may be repeated")
	fl.BoolVar(&f.strict, "strict", false, "turn all gates on")
	fl.BoolVar(&f.json, "json", false, "print one JSON document a line")
	fl.BoolVar(&f.verbose, "verbose", false, "show every event")
	fl.StringVar(&f.feature, "feature", "", "work on the feature `ID` of features.json instead of a goal")
	fl.StringVar(&f.agent, "agent", "", "")
	fl.IntVar(&f.parallel, "max-parallel", 0, "most contracts of a team at work at once, `N` (default: max_parallel_agents)")
	fl.BoolVar(&f.dry, "dry-run", false, "show plan, gates and the most that it can cost; nothing is started or spent, but a team's plan is made")
	fl.BoolVar(&f.noRepo, "no-repo", false, "")
	for _, later := range laterFlags {
		_ = fl.MarkHidden(later) // it was added above
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, later := range laterFlags {
			if cmd.Flags().Changed(later) {
				return usage("--%s: not in this version", later)
			}
		}
		if cmd.Flags().Changed("max-parallel") && f.parallel < 1 {
			return usage("--max-parallel %d: want 1 or more", f.parallel)
		}
		f.budgeted = cmd.Flags().Changed("budget")
		return nil
	}
	return cmd
}

// laterFlags belong to features of later versions.
var laterFlags = []string{"agent", "no-repo"}

func oneGoal(cmd *cobra.Command, args []string) error {
	for _, later := range laterFlags {
		if cmd.Flags().Changed(later) {
			return usage("--%s: not in this version", later)
		}
	}
	if cmd.Flags().Changed("feature") {
		if len(args) > 0 {
			return agency.Errorf(agency.KindInvalid, "run: a feature is a goal already, and here is another").WithMend("agency run --feature ID")
		}
		return nil
	}
	switch {
	case len(args) == 0:
		return agency.Errorf(agency.KindInvalid, "run: say what should be different").WithMend(`agency run "GOAL"`)
	case len(args) > 1:
		return agency.Errorf(agency.KindInvalid, "run: the goal is one argument, here are %d", len(args)).WithMend(`agency run %q`, strings.Join(args, " "))
	case strings.TrimSpace(args[0]) == "":
		return agency.Errorf(agency.KindInvalid, "run: the goal is empty").WithMend(`agency run "GOAL"`)
	case host.CheckGoal(args[0]) != nil:
		return host.CheckGoal(args[0])
	}
	return nil
}

// isTeamFile tells a file's name from a goal: one word that ends like one,
// whether there is such a file or not. A typing error must not become a goal
// that costs money.
func isTeamFile(arg string) bool {
	arg = strings.TrimSpace(arg)
	low := strings.ToLower(arg)
	named := strings.HasSuffix(low, ".yaml") || strings.HasSuffix(low, ".yml") || strings.HasSuffix(low, ".json")
	return named && (!strings.ContainsFunc(arg, unicode.IsSpace) || fileExists(arg))
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (a *app) start(ctx context.Context, goal string, f runFlags) error {
	if err := a.agentsRun(); err != nil {
		return err
	}
	if f.dry {
		return a.dryRun(ctx, goal, f)
	}
	h, err := a.claim()
	if err != nil {
		return err
	}
	req, err := a.request(ctx, h, goal, f)
	if err != nil {
		return err
	}
	return a.begin(ctx, h, req, f)
}

// begin starts a run and follows it.
func (a *app) begin(ctx context.Context, h here, req api.RunRequest, f runFlags) error {
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
	if err := a.announce(started.Run.ID, f.json, f.detach); err != nil || f.detach {
		return err
	}
	return a.follow(ctx, c, started.Run, followOptions{yes: f.yes, noWait: f.noWait, json: f.json, verbose: f.verbose, pauses: true})
}

// announce prints the first line of a run.
func (a *app) announce(id agency.RunID, asJSON, detach bool) error {
	switch {
	case asJSON:
		return a.printLine(api.StartedDoc{RunID: id})
	case detach:
		_, err := fmt.Fprintln(a.out, id)
		return err
	}
	_, err := fmt.Fprintln(a.out, "run", id)
	return err
}

// request is everything that a run is started with.
func (a *app) request(ctx context.Context, h here, goal string, f runFlags) (api.RunRequest, error) {
	file, err := a.teamFile(goal)
	if err != nil {
		return api.RunRequest{}, err
	}
	loaded, err := a.loadWith(h, file, f.layer())
	if err != nil {
		return api.RunRequest{}, err
	}
	for _, w := range loaded.Warnings {
		a.tell("%s: %s", w.Origin, w.Text)
	}
	if err := loaded.Supported(); err != nil {
		return api.RunRequest{}, err
	}
	if err := a.trusted(h, loaded); err != nil {
		return api.RunRequest{}, err
	}
	cfg := loaded.Config
	goal, plan, err := given(loaded, &cfg, goal)
	if err != nil {
		return api.RunRequest{}, err
	}
	if err := a.walls(cfg); err != nil {
		return api.RunRequest{}, err
	}
	if f.mode != "" && loaded.Origin("triggers").Layer == config.LayerDefault {
		cfg.Triggers = nil // a mode that was asked for is kept to
	}
	refs, err := cfg.RunModels()
	if err != nil {
		return api.RunRequest{}, err
	}
	secrets, err := loaded.Secrets(config.ProvidersOf(refs))
	if err != nil {
		return api.RunRequest{}, err
	}
	if err := a.detect(h, loaded, &cfg); err != nil {
		return api.RunRequest{}, err
	}
	raw, err := json.Marshal(cfg)
	if err != nil {
		return api.RunRequest{}, err
	}
	name, of := goal, (*agency.Feature)(nil)
	if f.feature != "" {
		found, err := a.feature(ctx, h, f, cfg.Contracts.MaxVerificationSteps)
		if err != nil {
			return api.RunRequest{}, err
		}
		goal, name, of = found.Goal(), string(found.ID)+" "+found.Description, &found
		if err := host.CheckGoal(goal); err != nil {
			return api.RunRequest{}, err
		}
	}
	untracked, err := h.relative(f.untracked)
	if err != nil {
		return api.RunRequest{}, err
	}
	id, err := agency.NewRunID(nameable(name, loaded.Hidden()), rand.Reader)
	if err != nil {
		return api.RunRequest{}, err
	}
	return api.RunRequest{
		ID: id, Goal: goal, Feature: of, Repo: h.loc.WorkTree, Mode: cfg.Mode, Target: f.target, Land: cfg.Land, Yes: f.yes, Strict: f.strict,
		IncludeDirty: f.dirty, IncludeUntracked: untracked, Untested: cfg.Commands.Test == "" && loaded.Origin("commands.test").Layer != config.LayerDefault,
		Plan: plan, Config: raw, Env: a.toolEnv(), Secrets: secrets, By: who(),
	}, nil
}

// nameable is a goal without what must not stand in a run's id, which is a
// branch's name too: the user's keys, and words that look like one.
func nameable(goal string, keys []string) string {
	for _, key := range keys {
		goal = strings.ReplaceAll(goal, key, " ")
	}
	words := strings.FieldsFunc(goal, unicode.IsSpace)
	return strings.Join(slices.DeleteFunc(words, looksSecret), " ")
}

// looksSecret: no word of a language or of code is so long without a sign in
// between and holds digits.
var longRun = regexp.MustCompile(`[A-Za-z0-9]{16,}`)

func looksSecret(word string) bool {
	return strings.ContainsAny(longRun.FindString(word), "0123456789")
}

// layer is the flags that are settings.
func (f runFlags) layer() []config.Flag {
	var out []config.Flag
	if f.mode != "" {
		out = append(out, config.Flag{Key: "mode", Value: f.mode, Name: "--mode"})
	}
	if f.parallel != 0 {
		out = append(out, config.Flag{Key: "max_parallel_agents", Value: strconv.Itoa(f.parallel), Name: "--max-parallel"})
	}
	if f.budgeted {
		out = append(out, config.Flag{Key: "budget.usd", Value: strconv.FormatFloat(f.budget, 'f', -1, 64), Name: "--budget"})
	}
	return out
}

// detect fills in the commands that no file names, and says so where there is
// no file at all.
func (a *app) detect(h here, l *config.Loaded, cfg *config.Config) error {
	root, err := os.OpenRoot(h.loc.WorkTree)
	if err != nil {
		return usage("%v", err)
	}
	defer func() { _ = root.Close() }() // only read
	seen := detect.Detect(detect.Input{Repo: root.FS(), Dir: h.loc.WorkTree, Env: a.env})
	found, languages := seen.Commands, seen.Languages
	for _, left := range seen.Left {
		if l.Origin("commands.test").Layer == config.LayerDefault {
			a.tell("%s", left)
		}
	}
	for _, c := range []struct {
		key  string
		have *string
		want string
	}{
		{"test", &cfg.Commands.Test, found.Test},
		{"lint", &cfg.Commands.Lint, found.Lint},
		{"typecheck", &cfg.Commands.Typecheck, found.Typecheck},
		{"build", &cfg.Commands.Build, found.Build},
		{"setup", &cfg.Commands.Setup, found.Setup},
	} {
		if l.Origin("commands."+c.key).Layer == config.LayerDefault {
			*c.have = c.want
		}
	}
	if fileExists(h.loc.WorkTree + "/" + repoFile) {
		return nil
	}
	var names []string
	for _, lang := range languages {
		names = append(names, lang.Name)
	}
	a.tell("no %s; found %s", repoFile, orNone(strings.Join(names, ", ")))
	for _, lang := range languages {
		if lang.Note != "" {
			a.tell("%s: %s", lang.Name, lang.Note)
		}
	}
	a.tell("commands: %s", shownCommands(cfg.Commands))
	refs, err := cfg.RunModels()
	if err != nil {
		return err
	}
	a.tell("model: %s; write all of it into a file with: agency init", refs[0])
	return nil
}

// shownCommands are the commands in a line: those that a claim is always judged
// by, and others where there are some.
func shownCommands(c config.Commands) string {
	parts := []string{"test " + quoted(c.Test), "lint " + quoted(c.Lint)}
	if c.Typecheck != "" {
		parts = append(parts, "types "+quoted(c.Typecheck))
	}
	parts = append(parts, "build "+quoted(c.Build))
	if c.Setup != "" {
		parts = append(parts, "setup "+quoted(c.Setup))
	}
	return strings.Join(parts, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "nothing that is known"
	}
	return s
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return strconv.Quote(s)
}

// toolEnv is what toolchains need of this environment. No variable that can
// hold a key is in the list: it is stored with the run.
func (a *app) toolEnv() map[string]string {
	out := map[string]string{}
	for _, name := range []string{
		"PATH", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOENV", "GOFLAGS",
		"GOTOOLCHAIN", "GOEXPERIMENT", "GOPRIVATE", "GOAMD64", "GOARM64", "GO111MODULE", "GOWORK", "CGO_ENABLED", "CC", "CXX",
		"VIRTUAL_ENV", "PYENV_ROOT", "PYENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "UV_CACHE_DIR",
		"NVM_DIR", "VOLTA_HOME", "FNM_DIR", "COREPACK_HOME", "npm_config_cache",
		"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "SDKMAN_DIR", "GRADLE_USER_HOME",
	} {
		if v, ok := a.env(name); ok {
			out[name] = v
		}
	}
	return out
}

// resumeDrained takes up the runs that an older host left.
func (a *app) resumeDrained(ctx context.Context, h here, c *daemon.Connected) {
	for _, run := range c.Drained {
		secrets, err := a.secretsOf(ctx, h, c, run)
		if err == nil {
			_, err = c.Resume(ctx, run, api.ResumeRequest{Secrets: secrets, By: who()})
		}
		if err != nil {
			a.note("run %s was handed over by an older host and does not go on by itself: %v; agency resume %s", run, err, run)
			continue
		}
		a.note("run %s was handed over by an older host and goes on", run)
	}
}
