package deps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/sandbox"
	"agency/internal/workspace"
)

// maxManifest bounds a package manager's file that is read, in bytes.
const maxManifest = 4 << 20

// look is one change as it is looked at.
type look struct {
	*checkout
	p     *Provider
	spec  Spec
	blob  func(tree agency.OID, path string) ([]byte, error)
	files []string // changed files that decide what is installed
}

// Look finds out what a change asks to be installed. It changes nothing but that
// what was installed for earlier claims of the contract is gone.
func (p *Provider) Look(ctx context.Context, key agency.StepKey, in Spec) (need Need, err error) {
	run, err := p.o.Workspaces.Run(ctx, in.Run)
	if err != nil {
		return need, err
	}
	if err := p.withdraw(ctx, run, in); err != nil {
		return need, err
	}
	changes, err := run.Changes(ctx, in.Base, in.Claim)
	if err != nil {
		return need, fmt.Errorf("dependencies: %w", err)
	}
	l := look{p: p, spec: in}
	for _, c := range changes {
		if c.Status != 'D' && detect.Decides(c.Path) {
			l.files = append(l.files, c.Path)
		}
	}
	if len(l.files) == 0 { // the way of almost every change: no checkout
		return need, nil
	}
	l.blob = func(tree agency.OID, path string) ([]byte, error) {
		b, err := run.Dir().Objects().Blob(ctx, tree, path, maxManifest)
		if agency.KindOf(err) == agency.KindNotFound {
			return nil, nil
		}
		return b, err
	}
	if l.checkout, err = p.open(ctx, key, in.Run, in.Contract, in.Claim); err != nil {
		return need, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	units, err := l.units(ctx)
	if err != nil || len(units) == 0 {
		return need, err
	}
	return l.need(ctx, units)
}

// withdraw takes back what was installed for earlier claims of the contract.
func (p *Provider) withdraw(ctx context.Context, run *workspace.Run, in Spec) error {
	tree, err := run.Dir().Refs().ResolveTree(ctx, in.Claim)
	if err != nil {
		return err
	}
	checker, err := p.o.Checker(ctx, in.Run)
	if err != nil {
		return err
	}
	return checker.Withdraw(ctx, in.Contract, tree)
}

// units are those that changed and are not installed as they are now.
func (l *look) units(ctx context.Context) ([]ecosystem.Unit, error) {
	var out []ecosystem.Unit
	for _, u := range (detect.Finder{}).Units(bounded.FS(l.root)) {
		files, err := l.changed(u)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			continue
		}
		ok, err := l.checker.Satisfied(ctx, l.root, l.spec.Contract, u)
		if err == nil && !ok {
			ok, err = l.probe(ctx, u, files)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			out = append(out, u)
		}
	}
	return out, nil
}

// changed are the files of a unit of which the part that decides is another
// one than at the base.
func (l *look) changed(u ecosystem.Unit) ([]string, error) {
	var out []string
	for _, name := range u.Locks {
		if !slices.Contains(l.files, name) {
			continue
		}
		was, is, err := l.sides(name)
		if git.IsTooLong(err) { // changed, and too large to look at how
			out = append(out, name)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(check.Deciding(name, was), check.Deciding(name, is)) {
			out = append(out, name)
		}
	}
	return out, nil
}

func (l *look) sides(name string) (was, is []byte, err error) {
	if was, err = l.blob(l.spec.Base, name); err != nil {
		return nil, nil, err
	}
	is, err = l.blob(l.spec.Claim, name)
	return was, is, err
}

// probe asks the package manager itself, in the sandbox and without network,
// whether what a unit needs is there.
func (l *look) probe(ctx context.Context, u ecosystem.Unit, files []string) (bool, error) {
	packages, whole, err := l.packages(files)
	if err != nil || !whole { // what nobody reads is not known to be there
		return false, err
	}
	line := detect.Probe(bounded.FS(l.root), u, packages)
	switch line {
	case "":
		return false, nil
	case "true":
		return true, nil
	}
	cmd := check.Command{Kind: agency.CheckCommand, Line: line, Timeout: probeTimeout}
	spec, err := l.checker.Spec(ctx, l.subject, cmd)
	if err != nil {
		return false, err
	}
	res, err := l.checker.Exec(ctx, l.subject, cmd, spec)
	if err != nil {
		return false, fmt.Errorf("dependencies: %w", err)
	}
	if res.Cause == sandbox.CauseCancelled && context.Cause(ctx) != nil {
		return false, context.Cause(ctx)
	}
	return detect.Answered(u, res.ExitCode, string(res.Output)), nil
}

// probeTimeout bounds a question to a package manager; one that does not answer
// has not found what is needed.
const probeTimeout = 2 * time.Minute

// maxPackages bounds those that a change names together.
const maxPackages = 20_000

// packages are what differs in files, as the lockfile tells it where there is
// one; not whole where they are more than are read.
func (l *look) packages(files []string) (out []ecosystem.Package, whole bool, err error) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b string) int { return detect.Rank(a) - detect.Rank(b) })
	whole = true
	have := map[string]bool{}
	for _, name := range files {
		was, is, err := l.sides(name)
		if git.IsTooLong(err) {
			whole = false
			continue
		}
		if err != nil {
			return nil, false, err
		}
		some, all := detect.Packages(name, was, is)
		whole = whole && all
		for _, p := range some {
			switch {
			case have[p.Name]:
			case len(out) == maxPackages:
				return out, false, nil
			default:
				have[p.Name] = true
				out = append(out, p)
			}
		}
	}
	return out, whole, nil
}

// need describes what is to be installed, how, and from where.
func (l *look) need(ctx context.Context, units []ecosystem.Unit) (n Need, err error) {
	grant, err := l.p.o.Grant(ctx, l.spec.Run)
	if err != nil {
		return n, err
	}
	n.Granted = grant.Hosts
	var from detect.Hosts
	var silent []ecosystem.Unit // of which no file of the base names a host
	for _, u := range units {
		files, err := l.changed(u)
		if err != nil {
			return n, err
		}
		n.Files = append(n.Files, files...)
		before := len(from.Base)
		if err := l.hosts(&from, u); err != nil {
			return n, err
		}
		if len(from.Base) == before {
			silent = append(silent, u)
		}
		if unlocked(u, files) {
			n.Unlocked = append(n.Unlocked, files...)
		}
	}
	slices.Sort(n.Files)
	n.Files = slices.Compact(n.Files)
	whole := true
	if n.Packages, whole, err = l.packages(n.Files); err != nil {
		return n, err
	}
	n.Unread = !whole
	n.Setup = l.spec.Commands.Command(agency.CheckSetup).Line
	if n.Setup == "" {
		n.Setup, n.Proposed = detect.Setup(bounded.FS(l.root), units, len(n.Unlocked) > 0), true
	}
	trusted := append(from.Base, detect.HostsOfTools(ctx, silent, grant.Env)...)
	for _, h := range trusted {
		if !slices.Contains(n.Granted, h) && !slices.Contains(n.Lacking, h) {
			n.Lacking = append(n.Lacking, h)
		}
	}
	for _, h := range from.Claim {
		if !slices.Contains(n.Granted, h) && !slices.Contains(trusted, h) && !slices.Contains(n.Foreign, h) {
			n.Foreign = append(n.Foreign, h)
		}
	}
	return n, nil
}

// hosts adds those that the files of a unit name, at the base and in the claim.
func (l *look) hosts(to *detect.Hosts, u ecosystem.Unit) error {
	for _, name := range detect.HostFiles(u) {
		was, is, err := l.sides(name)
		if git.IsTooLong(err) { // what it names nobody is asked to allow
			continue
		}
		if err != nil {
			return err
		}
		to.Base = append(to.Base, detect.HostsIn(name, was)...)
		to.Claim = append(to.Claim, detect.HostsIn(name, is)...)
	}
	return nil
}

// unlocked tells whether a manifest changed and the lockfile beside it did not.
func unlocked(u ecosystem.Unit, changed []string) bool {
	locks := 0
	for _, l := range u.Locks {
		if detect.Rank(l) != 1 {
			locks++
			if slices.Contains(changed, l) {
				return false
			}
		}
	}
	return locks > 0
}
