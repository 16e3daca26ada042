package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/demo"
	"agency/internal/ui/tui"
)

type demoFlags struct {
	keep, mode string
	watch      bool
}

func demoCommand(a *app) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use: "demo", Short: "Show the whole pipeline on a sample repository, offline, without a key", Args: none,
		Long: `Makes a sample repository in a temporary folder, runs an agent on it with the
embedded rehearsal model, shows the live log, approves its own merge gate and
ends with the merged, tested change. It needs git, and no network; the sample is
in Go where there is a go command, else in shell, checked by this program.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.keep, "keep", "", "keep everything in `DIR` (default: a temporary folder, removed)")
	cmd.Flags().StringVar(&f.mode, "mode", "single", "how the work is organised: `single`, contract, producer_critic, multi_agent or tiered")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "show every event")
	return cmd
}

func (a *app) demo(ctx context.Context, f demoFlags) error {
	if !agency.Mode(f.mode).Built() {
		return usage("--mode %s: not in this version", f.mode)
	}
	if err := a.agentsRun(); err != nil {
		return err
	}
	s, remove, err := a.makeSample(ctx, f.keep, agency.Mode(f.mode))
	if err != nil {
		return err
	}
	defer remove()
	return (&demonstration{app: a, s: s, f: f}).play(ctx)
}

// demonstration is the demo of a sample.
type demonstration struct {
	*app
	s *demo.Sample
	f demoFlags
}

// play runs the sample's goal to its end and shows what came of it.
func (x *demonstration) play(ctx context.Context) error {
	cfg := x.s.Config(config.Defaults())
	cfg.Mode = agency.Mode(x.f.mode)
	if err := demo.Sandbox(); err != nil {
		x.say("this machine refuses the sandbox (%v); the demo runs its own commands without it", err)
		cfg.Sandbox.Mode = config.SandboxOff
	}
	if err := x.s.Warm(ctx, config.ToolEnv(x.env)); err != nil {
		return err
	}
	d, end, err := x.host(ctx, cfg)
	if err != nil {
		return err
	}
	defer end()
	c := &daemon.Connected{Client: d.Dial()}
	defer c.Close()
	run, err := x.startRun(ctx, c, cfg)
	if err != nil {
		return err
	}
	err = x.follow(ctx, c, run, followOptions{yes: true, noWait: true, levels: levels{verbose: x.f.watch}, closed: true})
	if errors.Is(err, exit(exitWaiting)) {
		return x.stuck(ctx, c, run.ID)
	}
	if err != nil {
		return err
	}
	return x.result(ctx, c, run.ID)
}

// demoCheckCommand is what the sample's checks run where there is no Go.
func demoCheckCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: demo.CheckCommand + " test|lint", Hidden: true, Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := demo.Check(cmd.Context(), ".", args[0], a.out)
			if errors.Is(err, demo.ErrFailed) {
				return exit(exitFailed)
			}
			return err
		},
	}
}

func (t *terminal) say(format string, args ...any) { t.printf(t.out, format+"\n", args...) }

func (a *app) makeSample(ctx context.Context, keep string, mode agency.Mode) (*demo.Sample, func(), error) {
	dir := keep
	if dir == "" {
		made, err := os.MkdirTemp("", "agency-demo-")
		if err != nil {
			return nil, nil, agency.Errorf(agency.KindTransient, "a temporary folder: %w", err)
		}
		dir = made
	}
	s, err := demo.Make(ctx, dir, selfFile(), mode)
	if err != nil {
		if keep == "" {
			_ = os.RemoveAll(dir) // the error is already on its way
		}
		return nil, nil, err
	}
	a.say("sample repository: %s", s.Repo)
	a.say("%s\n", tui.Wrap(a.style, "", "goal: "+s.Goal))
	return s, func() {
		if keep != "" {
			return
		}
		if err := s.Remove(); err != nil {
			a.report(err)
		}
	}, nil
}

// host starts a host of the sample in this process; it ends with it.
func (x *demonstration) host(ctx context.Context, cfg config.Config) (d *daemon.Daemon, end func(), err error) {
	socket, err := os.MkdirTemp("", "agency-s-") // a socket's path must be short
	if err != nil {
		return nil, nil, agency.Errorf(agency.KindTransient, "a temporary folder: %w", err)
	}
	f := config.Folders{Config: filepath.Join(x.s.Dir, "config"), State: filepath.Join(x.s.Dir, "state", "agency"), Cache: filepath.Join(x.s.Dir, "cache"), Socket: socket}
	if d, err = daemon.StartFor(ctx, x.s.Repo, f, cfg, daemon.Options{Build: build(), Getenv: x.env}); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(socket))
	}
	return d, func() {
		d.Close()
		_ = os.RemoveAll(socket) // an empty folder
	}, nil
}

func (x *demonstration) startRun(ctx context.Context, c *daemon.Connected, cfg config.Config) (api.RunDoc, error) {
	raw, err := json.Marshal(cfg)
	if err != nil {
		return api.RunDoc{}, err
	}
	id, err := agency.NewRunID("demo", rand.Reader)
	if err != nil {
		return api.RunDoc{}, err
	}
	started, err := c.Start(ctx, api.RunRequest{
		ID: id, Goal: x.s.Goal, Repo: x.s.Repo, Mode: cfg.Mode, Land: agency.LandMerge, Yes: true,
		Config: raw, Env: config.ToolEnv(x.env), By: "demo",
	})
	for _, n := range started.Notes {
		x.say("%s", n)
	}
	return started.Run, err
}

// stuck is the end of a demo that waits at a gate which its script did not
// foresee: nobody is there to answer it, and its host ends with the demo.
func (x *demonstration) stuck(ctx context.Context, c *daemon.Connected, id agency.RunID) error {
	gates, err := c.Gates(ctx, id)
	if err != nil {
		return err
	}
	for _, g := range gates {
		if g.Open() {
			x.note("the demo stops at its %s gate, which --yes does not answer: %s", g.Kind, tui.Line(g.Summary))
		}
	}
	if !x.f.watch {
		x.note("look on with: agency demo --mode %s --watch", x.f.mode)
	}
	if x.f.keep != "" {
		x.note("kept; look at it with:  %s", x.look())
	}
	return exit(exitFailed)
}

// look is the command that opens what is kept of the demo.
func (x *demonstration) look() string {
	return fmt.Sprintf("XDG_STATE_HOME='%s' agency --repo '%s'", filepath.Join(x.s.Dir, "state"), x.s.Repo)
}

// result shows what a run leaves: the gate that was answered, the commit,
// the tests of the result, and what it cost.
func (x *demonstration) result(ctx context.Context, c *daemon.Connected, id agency.RunID) error {
	gates, err := c.Gates(ctx, id)
	if err != nil {
		return err
	}
	for _, g := range gates {
		if g.Kind != agency.GateMerge {
			continue
		}
		x.say("\n%s", tui.Wrap(x.style, "", "This is what the merge gate showed. The demo approved it itself, with --yes; in a real run you are asked."))
		x.say("%s", tui.Body(x.style, g.Body))
	}
	log, err := x.s.Git(ctx, "log", "--graph", "--oneline", "--decorate")
	if err != nil {
		return err
	}
	x.say("\n$ git log --graph --oneline --decorate\n%s", tui.Cut(x.style, strings.TrimRight(log, "\n")))
	doc, err := c.Inspect(ctx, id)
	if err != nil {
		return err
	}
	if r, ok := proof(doc); ok {
		x.say("\n$ %s   (of what was merged, tree %.10s)\npassed %d, failed %d, skipped %d", r.Command, r.Tree, r.Passed, r.Failed, r.Skipped)
	}
	costs, err := c.Cost(ctx, id)
	if err != nil {
		return err
	}
	spent := fmt.Sprintf("cost: $%.4f for %d requests, %d tokens in, %d out (made-up prices of the rehearsal model)",
		costs.Total.CostUSD, costs.Total.Requests, costs.Total.In, costs.Total.Out)
	x.say("\n%s", tui.Wrap(x.style, "", spent))
	if x.f.keep != "" {
		x.say("kept; look at it with:  %s", x.look())
		return nil
	}
	x.say("\nNow in a repository of yours:  agency init;  agency run \"GOAL\"")
	return nil
}

// proof is the test receipt of the verified tree.
func proof(doc api.InspectDoc) (api.ReceiptDoc, bool) {
	if len(doc.Verdicts) == 0 {
		return api.ReceiptDoc{}, false
	}
	tree := doc.Verdicts[len(doc.Verdicts)-1].Tree
	for _, r := range doc.Receipts {
		if r.Kind == agency.CheckTest && r.Tree == tree {
			return r, true
		}
	}
	return api.ReceiptDoc{}, false
}
