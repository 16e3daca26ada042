package detect

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

// Base is a checkout of what a run starts from.
type Base struct {
	Checker *check.Checker
	Runner  check.Runner // of the checker
	Subject check.Subject
	Root    *os.Root // the checkout
	Repo    string   // the user's own, in which packages are installed
	// Commands are those of the run. Setup installs what is missing by itself.
	Commands check.Commands
	// Env is the environment of the user who started the run; Online tells that
	// commands reach hosts, and may fetch what is missing.
	Env    func(name string) (string, bool)
	Online bool
}

// AbsentPackages refuses a base whose tests cannot run because the packages
// that its own manifests name are not installed, by the error that names the command which installs them. Only what the commands
// of the run use is looked at, and only what is certain is refused: packages
// for development can be missing.
func AbsentPackages(ctx context.Context, b Base) error {
	if b.Commands.Setup != "" {
		return nil
	}
	var named []string
	var units []ecosystem.Unit
	m := b.machine()
	all := unitsOf(m.Checkout)
	starts := check.Starts(b.Commands, m.Checkout.FS)
	begun := time.Now()
	for _, u := range all {
		if time.Since(begun) > maxProbing {
			break // what nobody has told by now is no reason to wait
		}
		of := managedBy(u.Manager)
		if of.Users == nil || !uses(starts, all, u, of) {
			continue
		}
		var missing []string
		var err error
		if of.Absent != nil {
			d := check.Dependency{Unit: u, Repo: b.Repo}
			missing = of.Absent(m, u, func() []string { return d.Changed(b.Root) }, b.Commands.Test)
		} else {
			missing, err = b.ask(ctx, m.Checkout, u, of)
		}
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			named, units = append(named, missing...), append(units, u)
		}
	}
	if len(units) == 0 {
		return nil
	}
	if len(named) > maxNamed {
		named = append(named[:maxNamed], fmt.Sprintf("%d more", len(named)-maxNamed))
	}
	return agency.Errorf(agency.KindInvalid, "packages that the tests need are not installed, and the sandbox has no network: %s", strings.Join(named, ", ")).
		WithMend("%s", mendBy(m.Checkout, b.Repo, units...))
}

// Startable says what keeps commands of a base from starting, and runs none of them:
// programs that they lack, and packages or modules that are not installed, which is an
// error that says how to install them.
func Startable(ctx context.Context, b Base) ([]Lack, error) {
	lacks, _, err := Lacking(ctx, b)
	if err != nil {
		return nil, err
	}
	if err := AbsentPackages(ctx, b); err != nil {
		return lacks, err
	}
	spec, err := b.Checker.Spec(ctx, b.Subject, check.Command{Kind: agency.CheckCommand, Timeout: maxProbe})
	if err != nil {
		return lacks, err
	}
	return lacks, MissingModules(ctx, b.Runner, spec, bounded.FS(b.Root), b.Commands)
}

// How long one question before a start may take, and all of them together.
const (
	maxProbe   = 2 * time.Minute
	maxProbing = 5 * time.Minute
)

// machine is the user's, with the manifests of the base.
func (b Base) machine() *ecosystem.Machine {
	m := machine(ecosystem.NewCheckout(bounded.FS(b.Root)), b.Repo, b.Env)
	m.Online, m.Installs = b.Online, b.Commands.Setup != ""
	return m
}

// uses tells whether commands start something of a unit: in its folder or one
// below that belongs to no other.
func uses(starts []check.Start, all []ecosystem.Unit, u ecosystem.Unit, of ecosystem.Dependencies) bool {
	return slices.ContainsFunc(starts, func(s check.Start) bool {
		if !of.Users.MatchString(s.Program) || !ecosystem.Below(s.Dir, u.Dir) {
			return false
		}
		return !slices.ContainsFunc(all, func(o ecosystem.Unit) bool {
			return slices.Contains(of.Managers, o.Manager) && o.Dir != u.Dir && ecosystem.Below(o.Dir, u.Dir) && ecosystem.Below(s.Dir, o.Dir)
		})
	})
}

// ask asks the package manager or interpreter itself, in the sandbox.
func (b Base) ask(ctx context.Context, c *ecosystem.Checkout, u ecosystem.Unit, of ecosystem.Dependencies) ([]string, error) {
	var wanted []ecosystem.Package
	if of.Asked != nil {
		wanted = of.Asked(c, u)
	}
	line := of.Probe(c, u, wanted)
	if line == "" || line == "true" {
		return nil, nil
	}
	res, err := b.run(ctx, line, "packages of the base")
	if err != nil {
		return nil, err
	}
	out := strings.TrimSpace(string(res.Output))
	if res.Cause == sandbox.CauseTimeout || Answered(u, res.ExitCode, out) {
		return nil, nil
	}
	return of.Denied(u, out), nil
}

// run asks a question in the sandbox, about what.
func (b Base) run(ctx context.Context, line, what string) (res sandbox.Result, err error) {
	cmd := check.Command{Kind: agency.CheckCommand, Line: line, Timeout: maxProbe}
	spec, err := b.Checker.Spec(ctx, b.Subject, cmd)
	if err != nil {
		return res, err
	}
	if res, err = b.Checker.Exec(ctx, b.Subject, cmd, spec); err != nil {
		return res, fmt.Errorf("%s: %w", what, err)
	}
	return res, context.Cause(ctx)
}
