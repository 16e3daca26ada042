package resources

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/code/lsp"
	"agency/internal/sandbox"
	"agency/internal/session"
)

// maxLanguageServers of a run are at work at one time, each in the limits of a command.
const maxLanguageServers = 4

// languages are the language servers of a session's checkout. They see it as commands do, with
// its dependencies, but cannot write it, and work in a folder of their own; they end with the
// session's part.
func (s *Sessions) languages(b *resources, o session.ToolsetOptions) *lsp.Workspace {
	at := o.Repo
	if b.runner.Tier() != sandbox.TierFull {
		at = o.Workspace.Path() // where commands work there
	}
	return b.languages.Open(at, func(ctx context.Context, p lsp.Process) (int, error) {
		defer func() { _ = p.Stdin.Close() }()
		place, err := o.Workspace.Place()
		if err != nil {
			return -1, err
		}
		tools, err := o.Checker.Tools(ctx, place, o.Spec.Contract)
		if err != nil {
			return -1, err
		}
		tools.ReadOnly = append(slices.Clone(tools.ReadOnly), sandbox.Mount{Host: place.Root, At: at, Own: true, Apart: true})
		home := filepath.Join(o.Workspace.Run().Folder(), "languages", strings.ReplaceAll(string(o.Spec.ID()), "/", "+"))
		if err := os.MkdirAll(home, 0o700); err != nil {
			return -1, err
		}
		limits := o.Limits
		limits.Wall = longest
		res, err := b.runner.Run(ctx, sandbox.Spec{
			Place: sandbox.Place{Root: home, At: home}, Tools: tools, LayerDir: o.LayerDir, Argv: p.Argv,
			Env: append(slices.Clone(p.Env), "HOME="+home), Limits: limits, Reads: o.Reads, Input: p.Stdin, Stdout: p.Stdout,
		})
		if err == nil && res.Cause != sandbox.CauseExited && ctx.Err() == nil {
			err = agency.Errorf(agency.KindTransient, "%s", res.Cause)
		}
		return res.ExitCode, err
	})
}
