package detect

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

// maxNamed is how many missing modules an error names.
const maxNamed = 8

// MissingModules refuses a base whose modules are not all in the module cache:
// the sandbox has no network to fetch them with. The module graph is read by
// the toolchain inside of the sandbox, on a checkout of the base. A base that
// is broken in other ways passes: mending it may be the goal.
// Only modules that the commands enter are looked at.
func MissingModules(ctx context.Context, run check.Runner, spec sandbox.Spec, repo fs.FS, cmds check.Commands) error {
	c, dirs := ecosystem.NewCheckout(repo), startDirs(repo, cmds)
	for _, l := range projects {
		ask := l.Dependencies.Modules
		if ask == nil {
			continue
		}
		line := ask.Line(c, dirs)
		if line == "" {
			continue
		}
		spec.Argv = []string{"/bin/sh", "-c", line}
		res, err := run.Run(ctx, spec)
		if err != nil {
			return fmt.Errorf("modules of the base: %w", err)
		}
		if res.Cause == sandbox.CauseCancelled {
			return context.Cause(ctx)
		}
		missing := ask.Missing(string(res.Output))
		if len(missing) == 0 {
			continue
		}
		named := strings.Join(missing[:min(len(missing), maxNamed)], ", ")
		if len(missing) > maxNamed {
			named += fmt.Sprintf(" and %d more", len(missing)-maxNamed)
		}
		return agency.Errorf(agency.KindInvalid, "not in the module cache, and the sandbox has no network: %s", named).
			WithMend("%s", ask.Mend(c, dirs))
	}
	return nil
}

// startDirs are the folders in which commands start something.
func startDirs(repo fs.FS, cmds check.Commands) []string {
	var dirs []string
	for _, s := range check.Starts(cmds, repo) {
		dirs = append(dirs, s.Dir)
	}
	return dirs
}
