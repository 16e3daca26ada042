// Package workshop builds what a run's steps work with, from the run's own
// copy of the configuration: sandbox, toolchain, checks, models, workspaces.
// It also checks a request against the repository before a run begins, and
// clears what runs leave on disk.
//
// It maps configuration to options and decides nothing else. What it builds
// for a run is kept while the host lives.
package workshop

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/deps"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/land"
	"agency/internal/llm/catalog"
	"agency/internal/registry"
	"agency/internal/sandbox"
	"agency/internal/sandbox/proxy"
	"agency/internal/store"
	"agency/internal/workspace"
)

// Options are what a Shop needs.
type Options struct {
	DB       *store.DB
	Git      *git.Host
	Vault    *host.Vault
	Catalog  *catalog.Catalog
	Repo     git.Location // as whoever started the host stood in it
	StateDir string
	Fence    agency.Fence
	// Cancelled is closed when a person cancels a run.
	Cancelled func(agency.RunID) <-chan struct{}
	// Land finishes or undoes the merges that a killed host had begun.
	Recover func(context.Context) error
	Log     *slog.Logger
}

// Shop is the workshop of one host. It is safe for concurrent use.
type Shop struct {
	o      Options
	spaces *workspace.Manager

	mu      sync.Mutex
	benches map[agency.RunID]*bench
	players players
}

var _ host.Shop = (*Shop)(nil)

// New makes a workshop; it does no I/O.
func New(o Options) *Shop {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Shop{o: o, benches: map[agency.RunID]*bench{}}
	s.spaces = workspace.New(workspace.Options{Git: o.Git, DB: o.DB, ObjectsAt: objectsAt()})
	return s
}

// Spaces opens the workspaces of runs.
func (s *Shop) Spaces() *workspace.Manager { return s.spaces }

// SetCancelled tells the workshop who knows of cancelled runs.
func (s *Shop) SetCancelled(f func(agency.RunID) <-chan struct{}) { s.o.Cancelled = f }

// SetRecover tells the workshop who reconciles merges.
func (s *Shop) SetRecover(f func(context.Context) error) { s.o.Recover = f }

// objectsAt is where the objects of a place appear. It does not depend on a
// run's own tier: paths below the checkout are moved in the full tier, and the
// other tiers read the same alternates from the host's paths. Which of them the
// machine has is found out once.
func objectsAt() func(sandbox.Place) []string {
	runner := sync.OnceValues(func() (*sandbox.Runner, error) {
		return sandbox.New(sandbox.Options{Mode: sandbox.ModeAuto})
	})
	return func(p sandbox.Place) []string {
		r, err := runner()
		if err != nil {
			return p.Objects
		}
		return r.ObjectsAt(p)
	}
}

// bench is what the steps of one run work with.
type bench struct {
	repo   string
	copy   host.Copy
	runner *sandbox.Runner
	tools  detect.Found
	checks *check.Checker
	reads  []sandbox.Mount
}

// bench finds or builds the bench of a recorded run.
func (s *Shop) bench(ctx context.Context, id agency.RunID) (*bench, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.benches[id]; b != nil {
		return b, nil
	}
	var run agency.Run
	var c host.Copy
	err := s.o.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		if run, err = registry.Run(q, id); err != nil {
			return err
		}
		c, err = host.ReadCopy(q, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	b, err := s.build(ctx, run.Repo, installDir(s.o.StateDir, id), c)
	if err != nil {
		return nil, err
	}
	s.benches[id] = b
	return b, nil
}

// installDir is where what setups of a run installed lies.
func installDir(stateDir string, id agency.RunID) string {
	return filepath.Join(stateDir, "runs", string(id), "installed")
}

// outlets are the real ones.
type outlets struct{}

func (outlets) Open(hosts []string) sandbox.Outlet { return proxy.New(hosts) }

func (s *Shop) build(ctx context.Context, repo, installed string, c host.Copy) (*bench, error) {
	b := &bench{repo: repo, copy: c}
	var err error
	if b.runner, err = sandbox.New(sandbox.Options{
		Mode: sandbox.Mode(c.Config.Sandbox.Mode), StateDir: s.o.StateDir, Loopback: c.Config.Sandbox.Loopback == "allow",
		Outlets: outlets{},
	}); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(repo)
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "the repository's folder: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	if b.tools, err = detect.Toolchain(ctx, detect.Input{Repo: root.FS(), Dir: repo, Env: c.Getenv, Commands: c.Commands()}); err != nil {
		return nil, err
	}
	b.reads = readsOf(repo, c.Config.Sandbox.Read)
	b.checks = check.New(check.Options{
		Runner: b.runner, DB: s.o.DB, Tools: b.tools.Tools, Version: b.tools.Version, LayerDir: s.layers(), Reads: b.reads,
		Dependencies: b.tools.Dependencies, Hosts: c.Config.Sandbox.AllowHosts, SetupHosts: c.Config.Sandbox.SetupHosts,
		Finder: detect.Finder{}, Caches: b.tools.Caches, Online: b.tools.Online, InstallDir: installed, Loads: b.tools.Loads,
	})
	return b, nil
}

// layers is the host folder of the caches' overlay layers.
func (s *Shop) layers() string { return filepath.Join(s.o.StateDir, "cache") }

func readsOf(repo string, paths []string) []sandbox.Mount {
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
func (s *Shop) Checker(ctx context.Context, id agency.RunID) (*check.Checker, error) {
	b, err := s.bench(ctx, id)
	if err != nil {
		return nil, err
	}
	return b.checks, nil
}

// SandboxOff tells whether a run's commands have the rights of the user.
func (s *Shop) SandboxOff(ctx context.Context, id agency.RunID) (bool, error) {
	b, err := s.bench(ctx, id)
	if err != nil {
		return false, err
	}
	return b.runner.Tier() == sandbox.TierNone, nil
}

// Grant is what the run's configuration says about setup.
func (s *Shop) Grant(ctx context.Context, id agency.RunID) (deps.Grant, error) {
	b, err := s.bench(ctx, id)
	if err != nil {
		return deps.Grant{}, err
	}
	hosts := slices.Concat(b.copy.Config.Sandbox.SetupHosts, b.copy.Config.Sandbox.AllowHosts)
	return deps.Grant{Hosts: hosts, Env: b.copy.Getenv}, nil
}

// Commands are the commands of a run's own copy.
func (s *Shop) Commands(ctx context.Context, id agency.RunID) (check.Commands, error) {
	b, err := s.bench(ctx, id)
	if err != nil {
		return check.Commands{}, err
	}
	return b.copy.Commands(), nil
}

// BatchAbove is how long a run's checks must take for landings to be verified
// together; zero in the copy of a run that is older than the setting.
func (s *Shop) BatchAbove(ctx context.Context, id agency.RunID) (time.Duration, error) {
	b, err := s.bench(ctx, id)
	if err != nil {
		return 0, err
	}
	return time.Duration(b.copy.Config.BatchAboveSeconds) * time.Second, nil
}

// forget lets go of what was built for a run.
func (s *Shop) forget(id agency.RunID) {
	s.mu.Lock()
	b := s.benches[id]
	delete(s.benches, id)
	s.mu.Unlock()
	if b != nil {
		_ = b.runner.Close() // never fails
	}
}

// Signing tells with what the user's git signs commits.
func (s *Shop) Signing(ctx context.Context, id agency.RunID) (string, error) {
	run, err := s.spaces.Run(ctx, id)
	if err != nil {
		return "", err
	}
	signing, err := s.o.Git.Signing(ctx, run.Info().Repo)
	if err != nil || signing == nil {
		return "", err
	}
	return signing.String(), nil
}

// Landed refuses a commit that is not the landing of a contract on top of those
// of others.
func (s *Shop) Landed(ctx context.Context, id agency.RunID, commit agency.OID, contract agency.ContractID, others []agency.ContractID) error {
	run, err := s.spaces.Run(ctx, id)
	if err != nil {
		return err
	}
	return land.Holds(ctx, run, id, commit, contract, others)
}

// Stat is the summary of a difference of two commits of a run, a line a file.
func (s *Shop) Stat(ctx context.Context, id agency.RunID, from, to agency.OID) (string, error) {
	run, err := s.spaces.Run(ctx, id)
	if err != nil {
		return "", err
	}
	stats, err := run.Dir().Stats(ctx, from, to)
	if err != nil {
		return "", fmt.Errorf("summary of the change: %w", err)
	}
	return host.StatText(stats), nil
}
