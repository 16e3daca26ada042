// Package workspace gives each contract a checkout of its own and tells what
// is in it (docs/design.md, Workspaces and landing).
//
// A run has a private git directory that borrows the user's objects through
// alternates; its checkouts have an index outside of the work tree, so that
// nothing that an agent writes decides what the host's git does. What lies at
// .git of a checkout is an empty mount point; inside the sandbox a synthetic,
// throw-away git directory appears there, which the host never reads.
//
// Of a Workspace, checkout says where it lies and how long, staging brings its
// index up to the files, audit looks at the tree for what must not land. Of a Run,
// rules are what the base decides, packs what commands are shown.
//
// The package does not run commands in a checkout, does not judge what it
// holds and moves no branch of the user: that is check, verify and land.
package workspace

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/sandbox"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of this package.
func Migrations() store.Set { return store.Set{Name: "workspace", FS: migrations} }

// Options of a Manager.
type Options struct {
	Git *git.Program
	DB  *store.DB
	// ObjectsAt tells at which paths inside the sandbox the object folders of a
	// place appear (sandbox.Runner.ObjectsAt). Nil: at their own.
	ObjectsAt func(sandbox.Place) []string
	// Still makes sure that no process of a command lives that works in a folder of
	// the host (sandbox.Census.Still). It is asked before each time that the host
	// works on the files of a checkout; its error is that of what was to be done. Nil:
	// no command is ever run in a checkout.
	Still func(ctx context.Context, dir string) error
	// MostFiles bounds the files of a checkout beside those that are tracked and
	// those that the base ignores. Default: 300 000.
	MostFiles int
	// MostHistory is the size of a repository's objects, in bytes, beyond which
	// commands are shown the recent commits only. Default: 1 GiB.
	MostHistory int64
}

// Manager opens the workspaces of runs. It is safe for concurrent use.
type Manager struct {
	opts Options
	mu   sync.Mutex
	runs map[agency.RunID]*Run
}

// New makes a Manager. It does no I/O.
func New(opts Options) *Manager {
	if opts.ObjectsAt == nil {
		opts.ObjectsAt = func(p sandbox.Place) []string { return p.Objects }
	}
	if opts.MostHistory == 0 {
		opts.MostHistory = mostHistory
	}
	if opts.MostFiles == 0 {
		opts.MostFiles = mostFiles
	}
	return &Manager{opts: opts, runs: map[agency.RunID]*Run{}}
}

// RunInfo is what the workspaces of a run are made from. It is fixed when the
// run starts.
type RunInfo struct {
	Run  agency.RunID `json:"run"`
	Repo git.Location `json:"repo"`
	// Base is the commit that the run starts from.
	Base agency.OID `json:"base"`
	// StateDir is the repository's state folder; the run lives in
	// StateDir/runs/RUN.
	StateDir string `json:"state_dir"`
	// Dirty is the commit of the user's local edits where the base is one, made
	// by Manager.Dirty; else empty.
	Dirty agency.OID `json:"dirty,omitempty"`
	// Settings of the user's git, read as data. OpenRun fills them in the first
	// time; from then on the stored copy counts.
	Settings git.Settings `json:"settings"`
}

func (i RunInfo) dir() string { return filepath.Join(i.StateDir, "runs", string(i.Run)) }

// OpenRun makes or reopens the private git directory of a run. It is
// idempotent; the info of the first call is stored and counts. A repository
// that is encrypted by git-crypt is refused, so is one whose borrowed objects
// are gone.
func (m *Manager) OpenRun(ctx context.Context, info RunInfo) (*Run, error) {
	if err := checkInfo(info); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.runs[info.Run]; r != nil {
		return r, r.sameAs(info)
	}
	stored, err := m.load(ctx, info.Run)
	switch {
	case err == nil:
		if err := (&repository{info: stored}).sameAs(info); err != nil {
			return nil, err
		}
		return m.open(ctx, stored)
	case agency.KindOf(err) != agency.KindNotFound:
		return nil, err
	}
	if info.Settings, err = m.opts.Git.ReadSettings(ctx, info.Repo); err != nil {
		return nil, err
	}
	info.Settings.Excludes += ownFolders
	run, err := m.open(ctx, info)
	if err != nil {
		return nil, err
	}
	if err := run.refuseEncrypted(ctx); err != nil {
		return nil, err
	}
	return run, m.save(ctx, info)
}

// Run is an open or stored run. KindNotFound where OpenRun never saw it.
func (m *Manager) Run(ctx context.Context, id agency.RunID) (*Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.runs[id]; r != nil {
		return r, nil
	}
	info, err := m.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.open(ctx, info)
}

// Forget drops a run's folder and record: everything but its branch in the
// user's repository.
func (m *Manager) Forget(ctx context.Context, id agency.RunID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := m.load(ctx, id)
	if agency.KindOf(err) == agency.KindNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	delete(m.runs, id)
	if err := removeAll(info.dir()); err != nil {
		return err
	}
	return m.opts.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(deleteCheckpoints, string(id))
		if err == nil {
			_, err = tx.Exec(deleteRun, string(id))
		}
		return err
	})
}

// Orphans lists the folders of StateDir/runs that belong to no run of keep.
func Orphans(stateDir string, keep []agency.RunID) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(stateDir, "runs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var orphans []string
	for _, e := range entries {
		if !slices.Contains(keep, agency.RunID(e.Name())) {
			orphans = append(orphans, filepath.Join(stateDir, "runs", e.Name()))
		}
	}
	return orphans, err
}

func checkInfo(info RunInfo) error {
	if err := agency.CheckRunID(info.Run); err != nil {
		return err
	}
	for _, p := range []string{info.StateDir, info.Repo.WorkTree, info.Repo.GitDir, info.Repo.CommonDir} {
		if !filepath.IsAbs(p) {
			return agency.Errorf(agency.KindInternal, "workspace: path %q is not absolute", p)
		}
	}
	if info.Repo.WorkTree == "/" {
		return agency.Errorf(agency.KindInvalid, "a repository that is the root folder cannot be worked on")
	}
	return CheckState(info.StateDir, info.Repo.WorkTree)
}

// CheckState refuses a state folder that lies inside the repository, where each
// run would find all others in its checkout.
func CheckState(stateDir, repo string) error {
	if rel, err := filepath.Rel(repo, stateDir); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	return agency.Errorf(agency.KindInvalid, "the state folder %s lies inside the repository %s", stateDir, repo).
		WithMend("export XDG_STATE_HOME=FOLDER outside of the repository")
}

func (m *Manager) load(ctx context.Context, id agency.RunID) (info RunInfo, err error) {
	err = m.opts.DB.Read(ctx, func(s *store.Snapshot) error {
		info, err = readInfo(s, id)
		return err
	})
	return info, err
}

func readInfo(q store.Querier, id agency.RunID) (RunInfo, error) {
	var info RunInfo
	var text string
	err := q.QueryRow(selectRun, string(id)).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return info, agency.Errorf(agency.KindNotFound, "run %s has no workspace", id)
	}
	if err != nil {
		return info, fmt.Errorf("workspace of run %s: %w", id, err)
	}
	return info, json.Unmarshal([]byte(text), &info)
}

func (m *Manager) save(ctx context.Context, info RunInfo) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return m.opts.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(insertRun, string(info.Run), string(text))
		return err
	})
}

// open makes the private git directory and the handle. m.mu is held.
func (m *Manager) open(ctx context.Context, info RunInfo) (*Run, error) {
	dir, err := m.private(info)
	if err != nil {
		return nil, err
	}
	tree, err := dir.Refs().ResolveTree(ctx, info.Base)
	if err != nil {
		return nil, fmt.Errorf("base of run %s: %w", info.Run, err)
	}
	repo := &repository{m: m, info: info, dir: dir, baseTree: tree}
	r := &Run{repository: repo, rules: &rules{repository: repo}, packs: &packs{repository: repo}, open: map[string]*Workspace{}}
	m.runs[info.Run] = r
	return r, nil
}

func (m *Manager) private(info RunInfo) (git.Dir, error) {
	borrow, err := git.ObjectDirs(info.Repo.Objects())
	if err != nil {
		return git.Dir{}, err
	}
	return m.opts.Git.Create(git.Private{
		Path: filepath.Join(info.dir(), "git"), Borrow: borrow, Settings: info.Settings,
	})
}

// Locate finds the user's repository of a run. Where the worktree in which it
// was started is gone, the repository that it belonged to still is where the
// run found it, or here, where somebody moved it: its branches and objects can
// be used, its files cannot.
func Locate(q store.Querier, run agency.Run, here git.Location) (git.Location, error) {
	loc, err := git.Find(run.Repo)
	if err == nil {
		return loc, nil
	}
	if info, lerr := readInfo(q, run.ID); lerr == nil {
		if _, serr := os.Stat(info.Repo.CommonDir); serr == nil {
			return info.Repo, nil
		}
	}
	if here.CommonDir == "" {
		return loc, err
	}
	return here, nil
}

// Home is where a run's repository is now, by what the run recorded and where
// its host stands. Moved tells that this is another path than the recorded one:
// the folder was moved, or the worktree in which the run began is gone and
// another one stands in for it.
func Home(q store.Querier, id agency.RunID, here git.Location) (home git.Location, moved bool, err error) {
	info, err := readInfo(q, id)
	if err != nil {
		return home, false, err
	}
	if info.Repo.CommonDir == here.CommonDir {
		if _, err := os.Lstat(filepath.Join(info.Repo.WorkTree, ".git")); err == nil {
			return info.Repo, false, nil
		}
	}
	if loc, err := git.Find(info.Repo.WorkTree); err == nil && loc.WorkTree == info.Repo.WorkTree && loc.CommonDir == here.CommonDir {
		return loc, loc != info.Repo, nil
	}
	home = standIn(info.Repo, here)
	return home, home != info.Repo, nil
}

// standIn is the worktree of a repository that takes the place of one that is
// no longer where it was: the same worktree at its new path, else the main one,
// else the one that its host stands in.
func standIn(gone, here git.Location) git.Location {
	main := filepath.Dir(here.CommonDir)
	if gone.Linked() {
		note := filepath.Join(here.CommonDir, "worktrees", filepath.Base(gone.GitDir), "gitdir")
		if b, err := os.ReadFile(note); err == nil {
			if loc, err := git.Find(filepath.Dir(strings.TrimSpace(string(b)))); err == nil && loc.CommonDir == here.CommonDir {
				return loc
			}
		}
	}
	if loc, err := git.Find(main); err == nil && loc.CommonDir == here.CommonDir {
		return loc
	}
	return here
}

// MoveTo records that a run's repository is at another path now, and removes
// what held the old one, which is made anew when a checkout is opened. Also is
// what else must be written with it.
func (m *Manager) MoveTo(ctx context.Context, id agency.RunID, home git.Location, also func(*store.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := m.load(ctx, id)
	if err != nil {
		return err
	}
	delete(m.runs, id)
	if err := removeAll(filepath.Join(info.dir(), "synthetic")); err != nil { // first: cut short, it is done again
		return err
	}
	info.Repo = home
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return m.opts.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(updateRun, string(text), string(id)); err != nil {
			return err
		}
		return also(tx)
	})
}
