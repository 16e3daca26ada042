// Package resources makes and keeps what the steps of a run work with, from the
// run's own configuration: sandbox, toolchain, checks, models, workspaces. It also
// checks a request against the repository before a run begins, and clears what runs
// leave on disk.
//
// It maps configuration to options and decides nothing else. Each type serves one
// who asks: Preparer and Cleaner the host, Sessions the sessions, Landings the
// programs of runs, LandingChecks the queue; all share Runs.
package resources

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/code/lsp"
	"agency/internal/codebase"
	"agency/internal/deps"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/sandbox"
	"agency/internal/sandbox/proxy"
	"agency/internal/slots"
	"agency/internal/store"
	"agency/internal/workspace"
)

// Options are what Runs are opened with.
type Options struct {
	DB       *store.DB
	Git      *git.Program
	Repo     git.Location // as whoever started the host stood in it
	StateDir string
	Slots    string           // folder of the user's slots of what is scarce on the machine (package slots)
	Agents   string           // folder of the user's own agent files; "": none
	Hidden   []string         // more folders of the program's own, which commands may not see
	Code     *codebase.Engine // answers for the symbols of checkouts
	// Copies counts how often a person has changed what a run keeps; nil: nobody does.
	Copies func(agency.RunID) int
	Log    *slog.Logger
}

// Runs keeps the resources of each run from their first use to the end of the
// host. It is safe for concurrent use.
type Runs struct {
	o      Options
	spaces *workspace.Manager
	census *sandbox.Census                 // of the sandboxes of all runs
	slots  *slots.Pool                     // of what is scarce, in one line for all runs
	tried  func() (*sandbox.Runner, error) // finds out once which tier the machine has

	mu   sync.Mutex
	open map[agency.RunID]*resources
}

// New makes Runs; it does no I/O.
func New(o Options) *Runs {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runs{o: o, census: sandbox.NewCensus(), slots: slots.New(o.Slots, nil), open: map[agency.RunID]*resources{}}
	r.tried = sync.OnceValues(func() (*sandbox.Runner, error) {
		return sandbox.New(sandbox.Options{Mode: sandbox.ModeAuto})
	})
	r.spaces = workspace.New(workspace.Options{Git: o.Git, DB: o.DB, ObjectsAt: objectsAt(r.tried), Still: r.census.Still})
	return r
}

// Workspaces opens the workspaces of runs.
func (r *Runs) Workspaces() *workspace.Manager { return r.spaces }

// objectsAt is where the objects of a place appear. It does not depend on a
// run's own tier: paths below the checkout are moved in the full tier, and the
// other tiers read the same alternates from the host's paths.
func objectsAt(tried func() (*sandbox.Runner, error)) func(sandbox.Place) []string {
	return func(p sandbox.Place) []string {
		r, err := tried()
		if err != nil {
			return p.Objects
		}
		return r.ObjectsAt(p)
	}
}

// resources are what the steps of one run work with.
type resources struct {
	repo   string
	copy   atomic.Pointer[host.RunConfig] // as the run keeps it now; see kept
	copies int                            // by Options.Copies, when it was read
	runner *sandbox.Runner
	tools  detect.Found
	checks *check.Checker
	reads  []sandbox.Mount
	skills string // the user's, as the run keeps them; "": none

	servers   servers
	languages *lsp.Keeper
	ahead     ahead
}

// kept is the configuration of the run, which nobody changes: a person's choice of models
// puts another in its place.
func (b *resources) kept() *host.RunConfig { return b.copy.Load() }

// renew reads it again where a person has changed it.
func renew(ctx context.Context, r *Runs, id agency.RunID, b *resources) error {
	n := r.o.copiesOf(id)
	if n == b.copies {
		return nil
	}
	c, err := store.Get(ctx, r.o.DB, host.ReadRunConfig, id)
	if err == nil {
		b.copies = n
		b.copy.Store(&c)
	}
	return err
}

func (o Options) copiesOf(id agency.RunID) int {
	if o.Copies == nil {
		return 0
	}
	return o.Copies(id)
}

// of finds or makes the resources of a recorded run.
func (r *Runs) of(ctx context.Context, id agency.RunID) (*resources, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.open[id]; b != nil {
		return b, renew(ctx, r, id, b)
	}
	copies := r.o.copiesOf(id)
	run, err := store.Get(ctx, r.o.DB, registry.Run, id)
	if err != nil {
		return nil, err
	}
	c, err := store.Get(ctx, r.o.DB, host.ReadRunConfig, id)
	if err != nil {
		return nil, err
	}
	b, err := r.build(ctx, run.Repo, c)
	if err != nil {
		return nil, err
	}
	w, err := r.spaces.Run(ctx, id)
	if err == nil {
		err = r.equip(ctx, w, installDir(r.o.StateDir, id), b)
	}
	if err == nil {
		b.skills, err = r.skills(w)
	}
	if err != nil {
		_ = b.runner.Close() // never fails
		return nil, err
	}
	b.copies = copies
	r.open[id] = b
	return b, nil
}

// installDir is where what setups of a run installed lies.
func installDir(stateDir string, id agency.RunID) string {
	return filepath.Join(stateDir, "runs", string(id), "installed")
}

// outlets are the real ones.
type outlets struct{}

func (outlets) Open(hosts []string) sandbox.Outlet { return proxy.New(hosts) }

func (r *Runs) build(ctx context.Context, repo string, c host.RunConfig) (*resources, error) {
	b := &resources{repo: repo, languages: lsp.NewKeeper(maxLanguageServers)}
	b.copy.Store(&c)
	tried, err := r.tried()
	if err != nil {
		tried = nil // the run's own mode may be another
	}
	if b.runner, err = sandbox.New(sandbox.Options{
		Mode: sandbox.Mode(c.Config.Sandbox.Mode), StateDir: r.o.StateDir, Loopback: c.Config.Sandbox.Loopback == "allow",
		Hidden: r.o.Hidden, Outlets: outlets{}, Census: r.census, Tried: tried,
	}); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(repo)
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "the repository's folder: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	if b.tools, err = detect.Toolchain(ctx, detect.Input{Repo: bounded.FS(root), Dir: repo, Env: c.Getenv, Sight: b.runner.Sight(repo), Commands: c.Commands()}); err != nil {
		return nil, err
	}
	b.reads = Reads(repo, c.Config.Sandbox.Read)
	for _, m := range b.reads {
		if err := b.runner.MayShow(m.Host); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// equip leaves out of what is installed in the user's checkout what git tracks,
// which commands see as their tree has it, and makes the checks.
func (r *Runs) equip(ctx context.Context, run *workspace.Run, installed string, b *resources) error {
	var folders []string
	for _, d := range b.tools.Dependencies {
		folders = append(folders, d.Folder)
	}
	part, err := run.Aside(ctx, folders)
	if err != nil {
		return err
	}
	b.tools.Dependencies = slices.DeleteFunc(b.tools.Dependencies, func(d check.Dependency) bool { return slices.Contains(part, d.Folder) })
	for _, f := range part {
		b.tools.Refused = append(b.tools.Refused, f+": git tracks files in it, so that what else your checkout has there is not shown")
	}
	b.checks = check.New(check.Options{
		Runner:       b.runner,
		DB:           r.o.DB,
		Environment:  b.tools.Environment,
		LayerDir:     layersOf(r.o.StateDir),
		Reads:        b.reads,
		Dependencies: b.tools.Dependencies,
		Hosts:        b.kept().Config.Sandbox.AllowHosts,
		SetupHosts:   b.kept().Config.Sandbox.SetupHosts,
		Finder:       detect.Finder{},
		InstallDir:   installed,
		Contracts:    r.contracts(b.kept().Config),
	})
	return nil
}

// landed tells whether a contract's work is in its run's branch.
func (r *Runs) landed(ctx context.Context, run agency.RunID, id agency.ContractID) (landed bool, err error) {
	err = r.o.DB.Read(ctx, func(q *store.Snapshot) error {
		c, err := registry.Contract(q, run, id)
		landed = c.Status == agency.StatusComplete
		return err
	})
	return landed, err
}

// layersOf is the folder of the caches' overlay layers.
func layersOf(stateDir string) string { return filepath.Join(stateDir, "cache") }

// agentLayer is where agents' commands keep their caches; verification never
// reads it.
func agentLayer(stateDir string) string {
	return filepath.Join(layersOf(stateDir), string(check.LayerAgents))
}

// Reads are the folders that a configuration shows to commands besides.
func Reads(repo string, paths []string) []sandbox.Mount {
	mounts := make([]sandbox.Mount, 0, len(paths))
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(repo, p)
		}
		mounts = append(mounts, sandbox.Mount{Host: p, At: p})
	}
	return mounts
}

// Checker runs the checks of a run.
func (r *Runs) Checker(ctx context.Context, id agency.RunID) (*check.Checker, error) {
	b, err := r.of(ctx, id)
	if err != nil {
		return nil, err
	}
	return b.checks, nil
}

// Quality are the rules of a run's quality score; nil where it has none.
func (r *Runs) Quality(ctx context.Context, id agency.RunID) (*agency.QualityRules, error) {
	b, err := r.of(ctx, id)
	if err != nil {
		return nil, err
	}
	return b.kept().Config.QualityRules(), nil
}

// Grant is what the run's configuration says about setup.
func (r *Runs) Grant(ctx context.Context, id agency.RunID) (deps.Grant, error) {
	b, err := r.of(ctx, id)
	if err != nil {
		return deps.Grant{}, err
	}
	hosts := slices.Concat(b.kept().Config.Sandbox.SetupHosts, b.kept().Config.Sandbox.AllowHosts)
	return deps.Grant{Hosts: hosts, Env: b.kept().Getenv}, nil
}

// Commands are the commands of a run's own copy.
func (r *Runs) Commands(ctx context.Context, id agency.RunID) (check.Commands, error) {
	b, err := r.of(ctx, id)
	if err != nil {
		return check.Commands{}, err
	}
	return b.kept().Commands(), nil
}

// BatchAbove is how long a run's checks must take for landings to be verified
// together.
func (r *Runs) BatchAbove(ctx context.Context, id agency.RunID) (time.Duration, error) {
	b, err := r.of(ctx, id)
	if err != nil {
		return 0, err
	}
	return time.Duration(b.kept().Config.BatchAboveSeconds) * time.Second, nil
}

// release lets go of what was built for a run.
func (r *Runs) release(id agency.RunID) {
	r.mu.Lock()
	b := r.open[id]
	delete(r.open, id)
	r.mu.Unlock()
	if b != nil {
		b.servers.close()
		b.ahead.close()
		_ = b.runner.Close() // never fails
	}
}

// Close ends what waits for another command of any run. Nothing is at work.
func (r *Runs) Close() {
	r.mu.Lock()
	all := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	for _, id := range all {
		r.release(id)
	}
}

// head is where a contract's work begins: the head of the run's branch, or of a line,
// so that a second contract stands on what the first landed.
func (r *Runs) head(ctx context.Context, id agency.RunID, line string) (agency.OID, error) {
	run, err := r.spaces.Run(ctx, id)
	if err != nil {
		return "", err
	}
	if line != "" {
		return land.LineHead(ctx, run, line)
	}
	kept, err := store.Get(ctx, r.o.DB, registry.Run, id)
	if err != nil {
		return "", err
	}
	head, _, err := land.HeadOf(ctx, run.User(), run.Dir(), "refs/heads/"+kept.Branch)
	if err != nil || head != "" {
		return head, err
	}
	return run.Base(), nil
}
