package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"agency/internal/sandbox"
	"agency/internal/workspace"
)

const (
	sandboxCommands = 20 // a round
	sandboxAim      = 15 * time.Millisecond
)

// sandboxRow is what a command that does nothing costs in a checkout as an agent
// has it: in a sandbox of its own against the aim of 15 ms, and in one that
// waits for it against Landlock and seccomp alone, which need a process of ours
// each time. -v shows the same program started without any.
func sandboxRow() row {
	return row{figures: []string{"sandbox/command", "sandbox/warm"}, cheap: true, measure: measureSandbox}
}

// otherRunners are those that differ from the rig's, whose sandboxes wait.
func otherRunners(r *rig) (cold, landlock *sandbox.Runner, err error) {
	if cold, err = sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, StateDir: r.state, Idle: -1}); err != nil {
		return nil, nil, err
	}
	landlock, err = sandbox.New(sandbox.Options{Mode: sandbox.ModeLandlock, StateDir: r.state, Idle: -1})
	return cold, landlock, err
}

func measureSandbox(ctx context.Context, b *bench) (_ []figure, err error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	r, err := newRig(ctx, dir, nil, notes(20, 500))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if r.runner.Tier() != sandbox.TierFull {
		return nil, errors.New("this machine refuses the full tier")
	}
	w, err := r.work.Prepare(ctx, "main", r.base, workspace.Work)
	if err != nil {
		return nil, err
	}
	place, err := w.Place()
	if err != nil {
		return nil, err
	}
	each := func(run func() error) func(context.Context) (float64, error) {
		return func(context.Context) (float64, error) {
			begun := time.Now()
			for range sandboxCommands {
				if err := run(); err != nil {
					return 0, err
				}
			}
			return float64(time.Since(begun)) / sandboxCommands, nil
		}
	}
	cold, landlock, err := otherRunners(r)
	if err != nil {
		return nil, err
	}
	in := func(runner *sandbox.Runner) func(context.Context) (float64, error) {
		return each(func() error {
			res, err := runner.Run(ctx, sandbox.Spec{Place: place, Argv: []string{"/bin/true"}})
			if err == nil && (res.Cause != sandbox.CauseExited || res.ExitCode != 0) {
				err = fmt.Errorf("the command ended as %s, %d: %s", res.Cause, res.ExitCode, res.Output)
			}
			return err
		})
	}
	s, err := b.rounds(
		ctx,
		contender{"full tier", in(cold)},
		contender{"warm", in(r.runner)},
		contender{"landlock alone", in(landlock)},
		contender{"bare exec", each(func() error { return exec.CommandContext(ctx, "/bin/true").Run() })},
	)
	if err != nil {
		return nil, err
	}
	bare := s.raw("bare exec", 1e6, "ms a command")
	return []figure{
		{"sandbox/command", median(s["full tier"]) / float64(sandboxAim), atMost(1), []string{s.raw("full tier", 1e6, "ms a command"), bare}},
		{"sandbox/warm", median(s["warm"]) / median(s["landlock alone"]), atMost(1.5), []string{
			s.raw("warm", 1e6, "ms a command"), s.raw("landlock alone", 1e6, "ms a command"), bare,
		}},
	}, nil
}
