package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
	"agency/internal/testreport"
)

// Finder knows what package managers make of a checkout (check/detect).
type Finder interface {
	// Units are what a checkout's manifests ask to be installed: a folder or a
	// cache each with the lockfiles that decide, sorted, whether it is there or
	// not.
	Units(root fs.FS) []ecosystem.Unit
	// Folders are the dependency folders that are there; dir is the checkout on
	// the host.
	Folders(dir string, root fs.FS) []Dependency
}

// Install is a setup whose result is kept.
type Install struct {
	Command
	Hosts []string // that it may reach, on port 443
}

// Install runs setup on a clean checkout and keeps what it installed as a layer
// that later commands of the contract, and once it has landed of the run, see on
// every checkout with the same lockfiles.
// It is idempotent: what is installed already is only told. A setup that fails
// is a receipt, and leaves nothing. An error means that there is no receipt.
func (c *Checker) Install(ctx context.Context, s Subject, in Install) (agency.Receipt, error) {
	if c.o.InstallDir == "" || c.o.Finder == nil {
		return agency.Receipt{}, agency.Errorf(agency.KindInternal, "setup: no folder for what it installs")
	}
	c.installing.Lock()
	defer c.installing.Unlock()
	root, err := os.OpenRoot(s.Place.Root)
	if err != nil {
		return agency.Receipt{}, fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // renamed from, and read
	units := c.o.Finder.Units(bounded.FS(root))
	key := state(root, in.Line, units)
	l, ok, err := c.layerOf(ctx, s.Contract, func(l layer) bool {
		return l.State == key && (l.Receipt.ContractID != s.Contract || l.Receipt.Tree == s.Tree)
	})
	if err != nil || ok {
		return l.Receipt, err
	}
	sum := sha256.Sum256([]byte(key + "\x00" + string(s.Contract) + "\x00" + string(s.Tree)))
	name := hex.EncodeToString(sum[:16])
	made := filepath.Join(c.o.InstallDir, halfMade+name)
	out := filepath.Join(made, "out")
	if err := errors.Join(beneath.Remove(made), os.MkdirAll(out, 0o700)); err != nil {
		return agency.Receipt{}, fmt.Errorf("folder for what setup installs: %w", err)
	}
	defer func() { _ = beneath.Remove(made) }() // a host sweeps what stays
	r, err := c.runSetup(ctx, s, in, out)
	if err != nil || !r.OK() {
		return r, err
	}
	l = layer{dir: filepath.Join(c.o.InstallDir, name), State: key, Receipt: r}
	if l.Parts, err = c.collect(root, s.Place.Root, made, units); err != nil {
		return r, fmt.Errorf("what setup installed: %w", err)
	}
	if err := c.rehome(made, l.Parts, s.Place); err != nil {
		return r, fmt.Errorf("what setup installed: %w", err)
	}
	return r, c.commit(l, made)
}

// layerOf finds a layer of those that count for a contract.
func (c *setups) layerOf(ctx context.Context, contract agency.ContractID, is func(layer) bool) (layer, bool, error) {
	layers, err := c.usable(ctx, contract)
	i := slices.IndexFunc(layers, is)
	if err != nil || i < 0 {
		return layer{}, false, err
	}
	return layers[i], true, nil
}

// runSetup runs the command with the hosts and folders that only it has.
func (c *Checker) runSetup(ctx context.Context, s Subject, in Install, out string) (r agency.Receipt, err error) {
	in.Kind = agency.CheckSetup
	started := time.Now()
	env, _ := c.env(ctx, s, in.Command, false)
	spec, err := c.spec(ctx, s, in.Command, in.Line)
	if err != nil {
		return r, err
	}
	spec.Out, spec.Hosts = out, append(slices.Clone(c.o.Hosts), in.Hosts...)
	for _, cache := range c.o.Caches {
		dir := filepath.Join(out, cache.Name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return r, err
		}
		spec.Env = append(spec.Env, cache.At(dir)...)
	}
	res, waited, err := c.exec(ctx, s, in.Command, spec)
	if err == nil {
		err = c.outOfRoom(s, res, nil)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", in.Line, err)
	}
	if res.Cause == sandbox.CauseCancelled && context.Cause(ctx) != nil {
		return r, context.Cause(ctx)
	}
	r = agency.Receipt{
		Kind: agency.CheckSetup, Command: in.Line, ExitCode: res.ExitCode, CPU: res.CPU.Seconds(), Cause: cause(res.Cause),
		Output: testreport.Clip(string(res.Output), testreport.MaxOutput), Tree: s.Tree, RunID: s.Run, ContractID: s.Contract,
		Env: env, Duration: (time.Since(started) - waited).Seconds(),
	}
	return c.keep(ctx, s, r, detail{}, "", false)
}

// collect moves what setup made into the folder of a layer that is being made.
func (c *Checker) collect(root *os.Root, dir, made string, units []ecosystem.Unit) ([]part, error) {
	var parts []part
	take := func(from string, p part) error {
		p.Data = fmt.Sprint(len(parts))
		parts = append(parts, p)
		return os.Rename(from, filepath.Join(made, p.Data))
	}
	for _, d := range c.o.Finder.Folders(dir, bounded.FS(root)) {
		if len(d.Locks) == 0 || !realFolder(root, d.Folder) || emptyDir(root, d.Folder) {
			continue // a mount point of what fitted, or a cache of builds
		}
		if err := take(filepath.Join(dir, filepath.FromSlash(d.Folder)), part{Folder: d.Folder, Locks: locksOf(root, d.Locks)}); err != nil {
			return nil, err
		}
	}
	outs, err := os.OpenRoot(filepath.Join(made, "out"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = outs.Close() }() // renamed from
	for _, d := range units {
		if d.Cache == "" || !realFolder(outs, d.Cache) || emptyDir(outs, d.Cache) {
			continue
		}
		if err := take(filepath.Join(made, "out", d.Cache), part{Cache: d.Cache, Locks: locksOf(root, d.Locks)}); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// realFolder tells whether a path below a root is a folder, and no link on the
// way: what setup ran can have put one there.
func realFolder(root *os.Root, name string) bool {
	for at := name; at != "."; at = path.Dir(at) {
		if info, err := root.Lstat(filepath.FromSlash(at)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// commit makes a layer appear.
func (c *setups) commit(l layer, made string) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := errors.Join(beneath.Remove(filepath.Join(made, "out")), os.WriteFile(filepath.Join(made, layerFile), b, 0o600)); err != nil {
		return err
	}
	if err := os.Rename(made, l.dir); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, l)
	return nil
}

// setUp tells by what a setup line need not run: it was run on these very
// lockfiles and what it installed is shown, or the user has it installed. Empty
// where it must run.
func (c *Checker) setUp(ctx context.Context, root *os.Root, s Subject, cmd Command) (how string, err error) {
	if cmd.Kind != agency.CheckSetup || c.o.Finder == nil || !OnlyInstalls(cmd.Line) {
		return "", nil
	}
	units := c.o.Finder.Units(bounded.FS(root))
	key := state(root, cmd.Line, units)
	l, ok, err := c.layerOf(ctx, s.Contract, func(l layer) bool { return l.State == key })
	switch {
	case err != nil || len(units) == 0:
		return "", err
	case ok:
		return "installed before, by receipt " + string(l.Receipt.ID), nil
	}
	for _, u := range units {
		if !slices.ContainsFunc(c.o.Dependencies, func(d Dependency) bool { return d.Folder == u.Folder && d.Cache == "" && d.fits(root) && d.inStep() }) {
			return "", nil
		}
	}
	return "installed in the user's checkout, as the lockfile names it", nil
}

// inStep tells whether a folder of the user's holds what its lockfile names, as
// the package manager itself has noted in it; false where it notes nothing.
func (d Dependency) inStep() bool {
	user, err := os.OpenRoot(d.Repo)
	if err != nil {
		return false
	}
	defer func() { _ = user.Close() }() // only read
	for _, l := range d.Locks {
		for _, of := range dependencies() {
			if of.Noted == nil {
				continue
			}
			if file, same := of.Noted(path.Base(l)); file != "" {
				return sameFiles(user, l, d.Folder+"/"+file, same)
			}
		}
	}
	return false
}

// Satisfied tells whether the checkout of a claim sees a dependency for the
// lockfiles that it has: the user's own folder, or what a setup of the run
// installed for this very claim or for what has landed.
func (c *packages) Satisfied(ctx context.Context, root *os.Root, contract agency.ContractID, u ecosystem.Unit) (bool, error) {
	for _, o := range c.o.Dependencies {
		if u.Folder != "" && o.Folder == u.Folder && o.fits(root) {
			return true, nil
		}
	}
	layers, err := c.usable(ctx, contract)
	for _, l := range layers {
		for _, p := range l.Parts {
			if p.Folder == u.Folder && p.Cache == u.Cache && p.fits(root) {
				return true, nil
			}
		}
	}
	return false, err
}

// OnlyInstalls tells whether every command of a line is one of a package
// manager that does nothing but install what a lockfile or manifest names.
func OnlyInstalls(line string) bool {
	calls, ok := simpleCalls(line)
	return ok && len(calls) > 0 && !slices.ContainsFunc(calls, func(words []string) bool { return !installs(words) })
}

// installs tells whether a call only installs, or goes to a folder.
func installs(words []string) bool {
	return path.Base(words[0]) == "cd" || slices.ContainsFunc(dependencies(), func(of ecosystem.Dependencies) bool { return of.Installs(words) })
}

// simpleCalls are the commands of a line, each as its words; false for a line
// of which not all is known before a shell reads it.
func simpleCalls(line string) (calls [][]string, ok bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false
	}
	ok = true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.FuncDecl, *syntax.ParamExp:
			ok = false
		case *syntax.CallExpr:
			var words []string
			for _, a := range n.Args {
				words = append(words, ecosystem.WordText(a))
			}
			if len(words) > 0 {
				calls = append(calls, words)
			}
		}
		return ok
	})
	return calls, ok
}
