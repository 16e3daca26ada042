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

// sandboxRow is what a command that does nothing costs in the full tier, in a
// checkout as an agent has it, against the aim of 15 ms. -v shows the same
// program started without it.
func sandboxRow() row {
	return row{figures: []string{"sandbox/command"}, cheap: true, measure: measureSandbox}
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
	s, err := b.rounds(
		ctx,
		contender{"full tier", each(func() error {
			res, err := r.runner.Run(ctx, sandbox.Spec{Place: place, Argv: []string{"/bin/true"}})
			if err == nil && (res.Cause != sandbox.CauseExited || res.ExitCode != 0) {
				err = fmt.Errorf("the command ended as %s, %d: %s", res.Cause, res.ExitCode, res.Output)
			}
			return err
		})},
		contender{"bare exec", each(func() error { return exec.CommandContext(ctx, "/bin/true").Run() })},
	)
	if err != nil {
		return nil, err
	}
	return []figure{{"sandbox/command", median(s["full tier"]) / float64(sandboxAim), atMost(1), []string{
		s.raw("full tier", 1e6, "ms a command"), s.raw("bare exec", 1e6, "ms a command"),
	}}}, nil
}
