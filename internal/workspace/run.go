package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/git"
)

// Kind says what a checkout is for. It is a folder of the run.
type Kind string

// The kinds of checkouts.
const (
	Work      Kind = "work"      // a contract's own, kept over its attempts
	Verify    Kind = "verify"    // exactly a tree, always fresh
	Integrate Kind = "integrate" // a merged tree, always fresh
	Review    Kind = "review"    // a reviewer's own, always fresh
)

var kinds = [...]Kind{Work, Verify, Integrate, Review}

// Run is the private git directory of a run and its checkouts.
type Run struct {
	*repository
	*rules
	*packs

	mu   sync.Mutex // taken before that of a Workspace, never after it
	open map[string]*Workspace
}

// repository is the run's private git directory beside the user's repository.
type repository struct {
	m        *Manager
	info     RunInfo
	dir      git.Dir
	baseTree agency.OID
}

// Info is what the run was opened with, with the user's settings filled in.
func (r *repository) Info() RunInfo { return r.info }

// Dir is the private git directory, without a work tree.
func (r *repository) Dir() git.Dir { return r.dir }

// Base is the commit that the run starts from, BaseTree its tree.
func (r *repository) Base() agency.OID { return r.info.Base }

// BaseTree is the tree of the base.
func (r *repository) BaseTree() agency.OID { return r.baseTree }

// User is the user's own repository, for refs and objects only.
func (r *repository) User() git.Dir {
	return r.m.opts.Git.At(r.info.Repo).WithConfig(r.info.Settings.Neutral...)
}

// Folder is the run's folder in the state folder. Names in it other than those
// of this package are free for land, and home for session.
func (r *repository) Folder() string { return r.info.dir() }

// SettingsAt are the user's settings with what belongs to one of the user's
// worktrees: its sparse checkout.
func (r *repository) SettingsAt(ctx context.Context, loc git.Location) (git.Settings, error) {
	s := r.info.Settings
	if loc == r.info.Repo {
		return s, nil
	}
	return r.m.opts.Git.ReadSettings(ctx, loc)
}

func (r *repository) sameAs(info RunInfo) error {
	if r.info.Base != info.Base || r.info.Repo != info.Repo || r.info.StateDir != info.StateDir {
		return agency.Errorf(agency.KindConflict, "run %s was started on %s at %s, not on %s at %s",
			info.Run, r.info.Repo.WorkTree, r.info.Base, info.Repo.WorkTree, info.Base)
	}
	return nil
}

// Prepare makes the checkout of a name at a commit or tree, or reopens it. A
// finished Work checkout is reused as it is, whatever it holds by now; a half
// made one is made anew, and the other kinds always are. Name is a contract's
// id or derived from one.
func (r *Run) Prepare(ctx context.Context, name string, at agency.OID, kind Kind) (*Workspace, error) {
	if err := checkName(name, kind); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key, w := r.known(name, kind)
	if kind == Work && w.finished() {
		r.open[key] = w
		return w, w.reopen(ctx)
	}
	delete(r.open, key)
	if err := w.remove(); err != nil {
		return nil, err
	}
	w = r.handle(kind, name)
	if err := w.create(ctx, at); err != nil {
		return nil, errors.Join(err, w.remove()) // whoever asked for it was not given anything to remove
	}
	r.open[key] = w
	return w, nil
}

// Clean is a fresh checkout of exactly a tree, for verification.
func (r *Run) Clean(ctx context.Context, name string, tree agency.OID) (*Workspace, error) {
	return r.Prepare(ctx, name, tree, Verify)
}

// Open is a finished checkout. KindNotFound where there is none.
func (r *Run) Open(ctx context.Context, name string, kind Kind) (*Workspace, error) {
	if err := checkName(name, kind); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key, w := r.known(name, kind)
	if !w.finished() {
		return nil, agency.Errorf(agency.KindNotFound, "run %s has no workspace %s", r.info.Run, name)
	}
	r.open[key] = w
	return w, w.reopen(ctx)
}

// Remove deletes a checkout. One that does not exist is no error.
func (r *Run) Remove(_ context.Context, name string, kind Kind) error {
	if err := checkName(name, kind); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key, w := r.known(name, kind)
	delete(r.open, key)
	return w.remove()
}

// Ref names a checkout.
type Ref struct {
	Kind Kind
	Name string
}

// List names the checkouts on disk, half-made ones included.
func (r *Run) List() ([]Ref, error) {
	var refs []Ref
	for _, kind := range kinds {
		for _, part := range []string{"", "index", "synthetic", "ready"} {
			entries, err := os.ReadDir(filepath.Join(r.info.dir(), part, string(kind)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, git.Disk(err)
			}
			for _, e := range entries {
				ref := Ref{Kind: kind, Name: strings.TrimSuffix(e.Name(), ".json")}
				if checkName(ref.Name, kind) == nil && !slices.Contains(refs, ref) {
					refs = append(refs, ref)
				}
			}
		}
	}
	return refs, nil
}

// Sweep removes every checkout that is not in keep and names what it removed:
// what a crash left behind.
func (r *Run) Sweep(ctx context.Context, keep []Ref) ([]Ref, error) {
	all, err := r.List()
	if err != nil {
		return nil, err
	}
	var gone []Ref
	for _, ref := range all {
		if slices.Contains(keep, ref) {
			continue
		}
		if err := r.Remove(ctx, ref.Name, ref.Kind); err != nil {
			return gone, err
		}
		gone = append(gone, ref)
	}
	return gone, nil
}

// Changes are the paths that differ between two commits or trees of the run.
func (r *repository) Changes(ctx context.Context, from, to agency.OID) ([]git.Change, error) {
	return r.dir.Diff().Changes(ctx, from, to)
}

func checkName(name string, kind Kind) error {
	if !slices.Contains(kinds[:], kind) {
		return agency.Errorf(agency.KindInternal, "workspace kind %q", kind)
	}
	return agency.CheckContractID(agency.ContractID(name))
}

// known is the checkout of a name, and by what open has it. r.mu is held.
func (r *Run) known(name string, kind Kind) (key string, w *Workspace) {
	key = string(kind) + "/" + name
	if w = r.open[key]; w == nil {
		w = r.handle(kind, name)
	}
	return key, w
}

func (r *Run) handle(kind Kind, name string) *Workspace {
	at := func(part, suffix string) string {
		return filepath.Join(r.info.dir(), part, string(kind), name+suffix)
	}
	return newWorkspace(&checkout{run: r, kind: kind, name: name, root: at("", ""), index: filepath.Join(at("index", ""), "index"), synthetic: at("synthetic", ""), ready: at("ready", ".json")})
}

// newWorkspace is a checkout of which nothing is known yet.
func newWorkspace(c *checkout) *Workspace {
	c.dir = c.run.dir.WithWorkTree(c.root, c.index).Foreign(c.alone)
	w := &Workspace{checkout: c, audit: audit{checkout: c, suspect: true}}
	w.staging = staging{checkout: c, audit: &w.audit, unknown: true}
	return w
}
