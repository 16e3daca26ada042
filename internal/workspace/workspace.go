package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/sandbox"
)

// Workspace is one checkout of a run. It is safe for concurrent use; one
// snapshot or restore runs at a time.
type Workspace struct {
	run  *Run
	kind Kind
	name string
	dir  git.Dir

	root, index, synthetic, ready string

	mu      sync.Mutex
	folders map[string]bool     // folders that hold tracked files; nil: not read yet
	tracked map[string]struct{} // the files that the index knows; read with folders
	memo    *memo               // what the last snapshot saw; nil: nothing to go by
	missed  int                 // how often in a row the memo did not serve
	slow    bool                // ignore files differ from the base's
	unknown bool                // whether they do must be found out
	// unfiltered is the last tree in which no change of a filtered path was seen.
	unfiltered agency.OID
	checked    bool // entries of the index have been looked at since it was opened
}

// Name is the name that Prepare was given, Kind what the checkout is for.
func (w *Workspace) Name() string { return w.name }

// Kind is what the checkout is for.
func (w *Workspace) Kind() Kind { return w.kind }

// Run is the run that the checkout belongs to.
func (w *Workspace) Run() *Run { return w.run }

// Path is the checkout's folder on the host. Files in it are opened through
// Root, never by joining paths.
func (w *Workspace) Path() string { return w.root }

// Start is the commit or tree that the checkout was made at, or was last
// rebased onto: the base of its change.
func (w *Workspace) Start() (agency.OID, error) {
	m, err := readMark(w.ready)
	return m.At, err
}

// Rebase carries the checkout's change onto a commit of the run: the merge of
// both is checked out, with conflict marks in the files that do not merge, which
// it names. From then on the change counts from that commit.
func (w *Workspace) Rebase(ctx context.Context, onto agency.OID) (conflicts []string, err error) {
	from, err := w.Start()
	if err != nil || from == onto {
		return nil, err
	}
	tree, err := w.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	d := w.run.dir
	mine, err := d.CommitTree(ctx, tree, []agency.OID{from}, "work of "+w.name, w.run.info.Settings.Identity)
	if err != nil {
		return nil, err
	}
	merged, err := d.MergeTree(ctx, onto, mine)
	if err != nil {
		return nil, err
	}
	// The files first: cut short between the two, the change holds both sides
	// and merges as such; the other way round it would undo what it lacks.
	if err := w.Restore(ctx, merged.Tree); err != nil {
		return nil, err
	}
	text, err := json.Marshal(mark{At: onto})
	if err != nil {
		return nil, err
	}
	if err := git.WriteFile(w.ready, text); err != nil {
		return nil, err
	}
	return merged.Conflicts, w.makeSynthetic(ctx, onto)
}

// Root opens the checkout so that no path and no symbolic link leads out of
// it. The caller closes it.
func (w *Workspace) Root() (*os.Root, error) {
	root, err := os.OpenRoot(w.root)
	return root, git.Disk(err)
}

// Place is where the checkout appears inside the sandbox: at the user's own
// repository path, with the synthetic git directory at .git.
func (w *Workspace) Place() (sandbox.Place, error) {
	objects, err := w.run.Objects()
	return sandbox.Place{Root: w.root, At: w.run.info.Repo.WorkTree, GitDir: w.synthetic, Objects: objects}, err
}

func (w *Workspace) finished() bool {
	if _, err := readMark(w.ready); err != nil {
		return false
	}
	info, err := os.Lstat(w.root)
	return err == nil && info.IsDir()
}

func (w *Workspace) remove() error {
	return errors.Join(removeAll(w.ready), removeAll(w.root), removeAll(w.index), removeAll(w.index+".lock"), removeAll(w.synthetic), removeAll(w.moduleIndexes()))
}

// create makes the checkout; the mark is written last, so that one cut short
// is seen and made anew.
func (w *Workspace) create(ctx context.Context, at agency.OID) error {
	tree, err := w.run.dir.ResolveTree(ctx, at)
	if err != nil {
		return err
	}
	for _, dir := range []string{w.root, filepath.Dir(w.index)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return git.Disk(err)
		}
	}
	if err := w.dir.Checkout(ctx, tree); err != nil {
		return err
	}
	if err := w.mountPoint(); err != nil {
		return err
	}
	if err := w.hideGitlinks(ctx); err != nil {
		return err
	}
	base, err := w.run.base(ctx)
	if err != nil {
		return err
	}
	if err := w.fillModules(ctx, base); err != nil {
		return err
	}
	if err := w.makeSynthetic(ctx, at); err != nil {
		return err
	}
	w.unknown = true
	text, err := json.Marshal(mark{At: at})
	if err != nil {
		return err
	}
	return git.WriteFile(w.ready, text)
}

// reopen readies a checkout that an earlier process left.
func (w *Workspace) reopen(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.checked {
		return nil
	}
	// A git that was killed leaves the lock of our own index behind. Nobody
	// else uses it.
	if err := removeAll(w.index + ".lock"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(w.synthetic, "HEAD")); err != nil {
		m, err := readMark(w.ready)
		if err != nil {
			return err
		}
		if err := w.makeSynthetic(ctx, m.At); err != nil {
			return err
		}
	}
	if err := w.dropForeignGitlinks(ctx); err != nil {
		return err
	}
	w.unknown, w.checked = true, true
	return nil
}

// mountPoint makes the empty folder at .git that the sandbox mounts over.
func (w *Workspace) mountPoint() error {
	err := os.Mkdir(filepath.Join(w.root, ".git"), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return git.Disk(err)
}

// checkMountPoint is the first thing that is asked of a checkout: whoever put
// something at .git wanted a git to find it.
func (w *Workspace) checkMountPoint() error {
	dot := filepath.Join(w.root, ".git")
	info, err := os.Lstat(dot)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(w.root, 0o700) == nil {
		info, err = os.Lstat(dot) // the folder is ours, and its mode part of no tree
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &Fault{Kind: GitReplaced, Paths: []string{".git"}}
	}
	if err != nil {
		return git.Disk(err)
	}
	if !info.IsDir() {
		return &Fault{Kind: GitReplaced, Paths: []string{".git"}}
	}
	entries, err := os.ReadDir(dot)
	if err != nil {
		return git.Disk(err)
	}
	if len(entries) > 0 {
		return &Fault{Kind: GitReplaced, Paths: []string{".git/" + entries[0].Name()}}
	}
	return nil
}

// hideGitlinks marks submodules so that no command of ours looks into their
// folders, where the agent may have put a repository with a configuration of
// its own.
func (w *Workspace) hideGitlinks(ctx context.Context) error {
	base, err := w.run.base(ctx)
	if err != nil || len(base.gitlinks) == 0 {
		return err
	}
	entries, err := w.dir.Entries(ctx)
	if err != nil {
		return err
	}
	var links []string
	for _, e := range entries {
		if e.Mode == git.ModeGitlink {
			links = append(links, e.Path)
		}
	}
	return w.dir.SkipWorktree(ctx, links)
}

// dropForeignGitlinks takes out of the index what a snapshot that was killed
// may have put there, before any command compares it with the files.
func (w *Workspace) dropForeignGitlinks(ctx context.Context) error {
	base, err := w.run.base(ctx)
	if err != nil {
		return err
	}
	entries, err := w.dir.Entries(ctx)
	if err != nil {
		return err
	}
	var drop []git.Entry
	for _, e := range entries {
		if e.Mode == git.ModeGitlink && !slices.Contains(base.gitlinks, e.Path) {
			drop = append(drop, git.Entry{Path: e.Path})
		}
	}
	return w.dir.SetEntries(ctx, drop)
}

// makeSynthetic makes the throw-away git directory: a branch at the commit
// that the checkout starts from, a copy of the index, objects by alternates,
// no remote. It is written for others; the host never reads it.
func (w *Workspace) makeSynthetic(ctx context.Context, at agency.OID) error {
	if err := removeAll(w.synthetic); err != nil {
		return err
	}
	commit := w.run.info.Base
	if kind, err := w.run.dir.Type(ctx, at); err != nil {
		return err
	} else if kind == "commit" {
		commit = at
	}
	place, err := w.Place()
	if err != nil {
		return err
	}
	branch := "refs/heads/" + w.name
	settings := w.run.info.Settings
	settings.Core = withoutShared(settings.Core)
	_, err = w.run.m.opts.Git.Create(git.Private{
		Path: w.synthetic, Borrow: w.run.m.opts.ObjectsAt(place), Settings: settings,
		Head: branch, Refs: map[string]agency.OID{branch: commit}, ForTool: true,
	})
	if err != nil {
		return err
	}
	index, err := os.ReadFile(w.index)
	if err != nil {
		return git.Disk(err)
	}
	return git.WriteFile(filepath.Join(w.synthetic, "index"), index)
}

func withoutShared(core map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range core {
		if k != "core.sharedrepository" {
			out[k] = v
		}
	}
	return out
}

// parents adds the folders above a path to a set, without the root.
func parents(set map[string]bool, p string) {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if set[dir] {
			return
		}
		set[dir] = true
	}
}

// removeAll deletes a tree, also where folders in it were made read-only, as
// module caches do.
func removeAll(p string) error {
	err := os.RemoveAll(p)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return git.Disk(err)
	}
	_ = filepath.WalkDir(p, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(at, 0o700) // best effort: RemoveAll below reports what stays
		}
		return nil
	})
	return git.Disk(os.RemoveAll(p))
}
