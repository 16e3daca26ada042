// Package preview is what a command knows of a run before a host does: the
// configuration and the backlog as they count here, the request that starts the
// run, what it would do and the most that it can cost, and what of the machine it
// would find.
//
// It asks no model and starts no run. A request is judged by the host anew.
package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/bounded"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/config"
	"agency/internal/doctor"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/host/resources"
	"agency/internal/host/settings"
	"agency/internal/llm/catalog"
	"agency/internal/sandbox"
	"agency/internal/slots"
	"agency/internal/store"
	"agency/internal/workspace"
)

// Repo is a repository as a command stands in it.
type Repo struct {
	At     git.Location
	ID     string         // of the repository, to which trust is bound
	Files  settings.Files // where the configuration is read
	State  string         // the folder of this repository's state; "": none yet
	Hidden []string       // the program's own folders, which no command may see
	Schema []store.Set    // of a host's store
	Env    config.Env
	Now    func() time.Time
	// Past are what contracts of the repository came to; nil: nothing is known.
	Past []agency.Outcome
	// Tell says a note on what a run starts with to a person, at once.
	Tell func(format string, args ...any)
}

// Load reads the configuration as it counts here and now.
func (r *Repo) Load() (*config.Loaded, error) {
	return settings.Load(r.Files, config.Source{}, nil, r.Env)
}

// RequireTrust refuses a configuration that widens what the user allows and that
// nobody trusts. It also tells the configuration whether it is trusted.
func (r *Repo) RequireTrust(l *config.Loaded) error {
	return l.RequireTrust(config.NewTrustStore(r.Files.State, r.Now), r.ID)
}

// ConfigOf is the configuration that a run keeps.
func ConfigOf(doc api.CopyDoc) (config.Config, error) {
	kept, err := host.ParseRunConfig(doc.Config)
	return kept.Config, err
}

// ModelsOf are the models that a run may ask, by what it keeps.
func ModelsOf(doc api.CopyDoc) ([]config.ModelRef, error) {
	kept, err := host.ParseRunConfig(doc.Config)
	if err != nil {
		return nil, err
	}
	return kept.Models()
}

// Foresee says what a request's run would do and the most that it can cost. All is
// checked that a start checks, by the same code, and a start's notes are told. A
// context that ends leaves nothing behind.
func (r *Repo) Foresee(ctx context.Context, req api.RunRequest) (doc api.DryDoc, err error) {
	var c config.Config // as the run would keep it
	if err := json.Unmarshal(req.Config, &c); err != nil {
		return doc, err
	}
	p, err := r.prepare(ctx, req)
	if err != nil { // and a start that is refused says no more
		return doc, err
	}
	for _, n := range p.Notes {
		r.Tell("%s", n)
	}
	known, err := catalog.Load()
	if err != nil {
		return doc, err
	}
	doc, err = unstarted{
		Goal: req.Goal, Feature: req.Feature, Strict: req.Strict, Config: c, Plan: req.Plan, Past: r.Past,
		Staff: func(role agency.RoleID, level agency.Level) (agency.Staffing, error) {
			return resources.StaffOf(known, c, role, level)
		},
	}.foresee()
	if err != nil {
		return doc, err
	}
	doc.Base, doc.Target, doc.Sandbox, doc.Commands = p.Base, p.Target, p.Tier, map[string]string{}
	for name, line := range map[string]string{
		"test": c.Commands.Test, "lint": c.Commands.Lint, "typecheck": c.Commands.Typecheck,
		"build": c.Commands.Build, "setup": c.Commands.Setup,
	} {
		if line != "" {
			doc.Commands[name] = line
		}
	}
	return doc, nil
}

// prepare prepares a run that is not started, by the host's own code: what a
// start refuses it refuses with the same error, and it has a start's notes.
// All that this makes lies in a temporary folder that is gone afterwards; state
// and checkout are not written. It only differs where something was fetched into
// the repository's caches by commands that may reach hosts: its caches are empty.
func (r *Repo) prepare(ctx context.Context, req api.RunRequest) (got host.Prepared, err error) {
	if err := workspace.CheckState(r.Files.State, r.At.WorkTree); err != nil {
		return got, err
	}
	dir, err := tempDir(r.At.WorkTree)
	if err != nil {
		return got, err
	}
	defer func() {
		if rerr := resources.RemoveTree(dir); rerr != nil && err == nil {
			err = fmt.Errorf("files of the dry run: %w", rerr)
		}
	}()
	g, err := git.NewProgram(ctx, git.Options{Getenv: func(name string) string { v, _ := r.Env(name); return v }})
	if err != nil {
		return got, err
	}
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "agency.db"), Sets: r.Schema})
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	secrets := host.NewSecrets(r.At.WorkTree, r.At.CommonDir)
	db.SetRedact(secrets.Redact)
	runs := resources.New(resources.Options{DB: db, Git: g, Repo: r.At, StateDir: dir, Slots: slots.Folder(r.Files.State), Agents: r.UserAgents(), Hidden: r.Hidden})
	defer runs.Close()
	known, err := catalog.Load()
	if err != nil {
		return got, err
	}
	return host.Starter{Preparer: &resources.Preparer{Runs: runs, Known: known}, Secrets: secrets}.Foresee(ctx, req)
}

// tempDir makes the temporary folder, outside of the repository.
func tempDir(repo string) (string, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err == nil && workspace.CheckState(temp, repo) != nil {
		return "", agency.Errorf(agency.KindInvalid, "the folder for temporary files %s lies inside the repository %s", temp, repo).
			WithMend("export TMPDIR=FOLDER outside of the repository")
	}
	if err == nil {
		temp, err = os.MkdirTemp(temp, "agency-dry-")
	}
	if err != nil {
		return "", agency.Errorf(agency.KindTransient, "a folder for the dry run: %w", err).WithMend("export TMPDIR=a folder of your own")
	}
	return temp, nil
}

// Detect finds what a repository's own file can say, with notes on what it is made
// from, and how packages that a change asks for could be installed without a
// question. That is not written by itself: it lets packages run programs of their
// own.
func (r *Repo) Detect(ctx context.Context, root *os.Root) (d config.Detected, advice []string) {
	seen := detect.Detect(detect.Input{Repo: bounded.FS(root), Dir: r.At.WorkTree, Env: r.Env})
	cmds := seen.Commands
	d.Commands = config.Commands{Test: cmds.Test, Lint: cmds.Lint, Typecheck: cmds.Typecheck, Build: cmds.Build, Setup: cmds.Setup}
	for _, l := range seen.Languages {
		d.Notes = append(d.Notes, strings.TrimSpace(l.Name+" ("+l.Manifest+") "+l.Note))
	}
	for _, left := range seen.Left {
		d.Notes = append(d.Notes, left.String())
	}
	if setup, hosts := detect.Advice(ctx, bounded.FS(root), os.LookupEnv); setup != "" {
		from := "[" + strings.Join(hosts, ", ") + "]"
		if len(hosts) == 0 {
			from = "[] with the hosts of your package registry"
		}
		advice = []string{"new packages: a gate asks before they are installed; to allow it, set commands.setup: " + setup + " and sandbox.setup_hosts: " + from}
	}
	d.Notes = append(d.Notes, advice...)
	return d, advice
}

// Machine is what a run of a configuration would find here, for doctor.
func (r *Repo) Machine(ctx context.Context, l *config.Loaded) (doctor.Machine, error) {
	m := doctor.Machine{StateDir: r.Files.State, Sets: r.Schema}
	cfg, trust := l.Config, r.RequireTrust(l)
	if r.At.WorkTree != "" {
		s, err := settings.Resolve(l, r.At.WorkTree, nil, r.Env)
		if err != nil {
			return m, err
		}
		cfg, m.Untested = s.Config, s.Untested
		m.Absent = trust
		if err := r.around(ctx, host.RunConfig{Config: cfg, Env: config.ToolEnv(r.Env)}, &m); err != nil {
			return m, err
		}
	}
	m.Loopback = cfg.Sandbox.Loopback == "allow"
	m.Commands = host.RunConfig{Config: cfg}.Commands()
	m.Keys = keysOf(l, r.At.WorkTree)
	m.Resources, m.Slots = cfg.Resources, slots.New(slots.Folder(r.Files.State), cfg.Resources)
	return m, nil
}

// around finds what commands of the checkout would have around them: what a run's
// toolchains name and they do not see, why there are no toolchains, and what they
// start and do not have, which nobody asks by a configuration that is not trusted.
// That there is no sandbox is told by its own finding.
func (r *Repo) around(ctx context.Context, c host.RunConfig, m *doctor.Machine) (err error) {
	runner, err := sandbox.New(sandbox.Options{
		Mode: sandbox.Mode(c.Config.Sandbox.Mode), Loopback: c.Config.Sandbox.Loopback == "allow", StateDir: r.State, Hidden: r.Hidden, Idle: -1,
	})
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	defer func() { _ = runner.Close() }() // never fails
	root, err := os.OpenRoot(r.At.WorkTree)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read
	in := detect.Input{
		Repo: bounded.FS(root), Dir: r.At.WorkTree, Env: c.Getenv, Sight: runner.Sight(r.At.WorkTree), Commands: c.Commands(),
	}
	found, err := detect.Toolchain(ctx, in)
	if m.Refused, m.Toolchain = found.Refused, err; err != nil {
		return nil
	}
	layers, err := tempDir(r.At.WorkTree) // of caches: what a question writes is no part of them
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resources.RemoveTree(layers)) }()
	checker := check.New(check.Options{
		Runner: runner, Environment: found.Environment, LayerDir: layers, Reads: resources.Reads(r.At.WorkTree, c.Config.Sandbox.Read),
		Dependencies: found.Dependencies, Finder: detect.Finder{},
	})
	if c.Config.Context.LanguageServers != "off" {
		m.Servers = serversOf(ctx, in, checker)
	}
	if m.Absent != nil {
		return nil
	}
	m.Lacks, m.Absent = detect.Startable(ctx, detect.Base{
		Runner: runner, Checker: checker,
		Subject: check.Subject{Place: sandbox.Place{Root: r.At.WorkTree, At: r.At.WorkTree, ReadOnly: true}, Stage: check.StageBase},
		Root:    root, Repo: r.At.WorkTree, Commands: c.Commands(), Env: c.Getenv,
		Online: runner.Tier() == sandbox.TierNone || len(c.Config.Sandbox.AllowHosts) > 0,
	})
	return nil
}

func keysOf(l *config.Loaded, workTree string) []doctor.Key {
	refs, err := l.Config.RunModels()
	if err != nil {
		return []doctor.Key{{Provider: "models", Err: err}}
	}
	var keys []doctor.Key
	ordinary := append(l.Config.Ordinary(), workTree)
	for _, ref := range refs {
		have, err := l.Secrets([]string{ref.Provider})
		key, given := have[ref.Provider]
		keys = append(keys, doctor.Key{
			Provider: ref.Provider, Model: ref.String(), Err: err, Placeholder: given && !agency.IsSecret(key, ordinary...),
		})
	}
	return keys
}
