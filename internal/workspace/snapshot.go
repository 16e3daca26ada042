package workspace

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// Snapshot writes the checkout's tracked and unignored files as a tree, by the
// ignore rules of the base and the user's own: an ignore file that the agent
// writes is content, not a rule. What the base tracks is taken even where it
// is ignored; other ignored files are cache. A folder that is new and ignores
// itself (a .gitignore with "*", as tools put into their caches) is cache,
// too.
//
// A *Fault says that the checkout holds something that must not be there.
func (w *Workspace) Snapshot(ctx context.Context) (agency.OID, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	base, err := w.run.base(ctx)
	if err != nil {
		return "", err
	}
	tree, err := w.snapshot(ctx, base)
	if err == nil {
		err = w.checkFiltered(ctx, base, tree)
	}
	if err == nil {
		err = w.checkModules(ctx, base)
	}
	if err = w.explain(err); err != nil {
		return "", err
	}
	return tree, nil
}

func (w *Workspace) snapshot(ctx context.Context, base *baseFacts) (agency.OID, error) {
	if err := w.checkMountPoint(); err != nil {
		return "", err
	}
	if err := w.readFolders(ctx); err != nil {
		return "", err
	}
	if !w.slow {
		if tree, ok := w.quick(ctx); ok {
			return tree, nil
		}
		tree, ok, err := w.fast(ctx, base)
		if err != nil || ok {
			return tree, err
		}
	}
	return w.careful(ctx, base)
}

// Check looks for faults without taking a snapshot.
func (w *Workspace) Check(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.explain(w.check(ctx))
}

func (w *Workspace) check(ctx context.Context) error {
	if err := w.checkMountPoint(); err != nil {
		return err
	}
	base, err := w.run.base(ctx)
	if err != nil {
		return err
	}
	if err := w.readFolders(ctx); err != nil {
		return err
	}
	if seen := w.sweep(w.known(), base); len(seen.nested) > 0 {
		return &Fault{Kind: NestedGit, Paths: seen.nested}
	}
	others, err := w.dir.Untracked(ctx, base.excludes)
	if err != nil {
		return err
	}
	return w.checkNew(others)
}

// known are the folders that hold tracked files.
func (w *Workspace) known() []string { return slices.Collect(maps.Keys(w.folders)) }

// readFolders learns which files are tracked, and which folders hold them,
// once.
func (w *Workspace) readFolders(ctx context.Context) error {
	if w.folders != nil {
		return nil
	}
	files, err := w.dir.Files(ctx)
	if err != nil {
		return err
	}
	folders, tracked := map[string]bool{}, make(map[string]struct{}, len(files))
	for _, p := range files {
		tracked[p] = struct{}{}
		parents(folders, p)
	}
	w.folders, w.tracked = folders, tracked
	return nil
}

// note brings the tracked files up to what git said it added and removed.
func (w *Workspace) note(a git.Added) {
	for _, p := range a.Paths {
		w.tracked[p] = struct{}{}
	}
	for _, p := range a.Removed {
		delete(w.tracked, p)
	}
}

// fast takes the snapshot with the ignore files as they lie there. ok is false
// where these differ from the base's, so that the result does not count.
func (w *Workspace) fast(ctx context.Context, base *baseFacts) (tree agency.OID, ok bool, err error) {
	defer func() {
		if !ok {
			w.folders, w.tracked, w.memo = nil, nil, nil // the index holds what is not noted
		}
	}()
	known, tracked := w.known(), len(w.tracked) // the maps belong to this goroutine
	swept, remembered := make(chan sweep, 1), make(chan *memo, 1)
	go func() { swept <- w.sweep(known, base) }()
	go func() {
		if len(base.gitlinks) > 0 || !w.worthIt() {
			remembered <- nil
			return
		}
		remembered <- w.remember(ctx, tracked)
	}()
	added, err := w.dir.AddAll(ctx)
	seen, m := <-swept, <-remembered
	if len(seen.nested) > 0 {
		return "", false, errors.Join(w.dropForeign(ctx, base), &Fault{Kind: NestedGit, Paths: seen.nested})
	}
	if err != nil {
		return "", false, w.whyNotAdded(ctx, base, err)
	}
	if seen.foreignIgnore || !added.Exact || slices.ContainsFunc(added.Paths, isIgnoreFile) || slices.ContainsFunc(added.Removed, isIgnoreFile) {
		w.slow = true
		return "", false, nil
	}
	if err := w.checkNew(added.Paths); err != nil {
		return "", false, errors.Join(w.dropForeign(ctx, base), err)
	}
	w.note(added)
	tree, err = w.dir.WriteTree(ctx)
	if err != nil {
		return "", false, err
	}
	if m != nil {
		m.tree, w.memo = tree, m
		m.keep(w.tracked)
	}
	if !w.unknown {
		return tree, true, nil
	}
	changed, err := w.ignoresChanged(ctx, tree)
	if err != nil {
		return "", false, err
	}
	w.unknown, w.slow = false, changed
	return tree, !changed, nil
}

// careful takes the snapshot by rules that nothing in the checkout can change.
func (w *Workspace) careful(ctx context.Context, base *baseFacts) (agency.OID, error) {
	w.memo = nil
	if err := w.readFolders(ctx); err != nil {
		return "", err
	}
	defer func() { w.folders, w.tracked = nil, nil }() // nothing below tells what became tracked
	if err := w.dropForeign(ctx, base); err != nil {
		return "", err
	}
	others, err := w.dir.Untracked(ctx, base.excludes)
	if err != nil {
		return "", err
	}
	if err := w.checkNew(others); err != nil {
		return "", err
	}
	changed, err := w.dir.Differing(ctx)
	if err != nil {
		return "", err
	}
	tracked, err := w.run.ignoredOfBase(ctx, base)
	if err != nil {
		return "", err
	}
	if err := w.dir.AddPaths(ctx, slices.Concat(others, changed, w.existing(tracked))); err != nil {
		return "", err
	}
	ignored, err := w.dir.TrackedIgnored(ctx, base.excludes)
	if err != nil {
		return "", err
	}
	var drop []git.Entry
	for _, p := range ignored {
		if !base.files[p] {
			drop = append(drop, git.Entry{Path: p})
		}
	}
	if err := w.dir.SetEntries(ctx, drop); err != nil {
		return "", err
	}
	tree, err := w.dir.WriteTree(ctx)
	if err != nil {
		return "", err
	}
	w.unknown = false
	differ, err := w.ignoresChanged(ctx, tree)
	if err != nil {
		return "", err
	}
	w.slow = differ || w.sweep(w.known(), base).foreignIgnore
	return tree, nil
}

// existing are the paths that the checkout has.
func (w *Workspace) existing(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		_, err := os.Lstat(filepath.Join(w.root, filepath.FromSlash(p)))
		return err != nil
	})
}

// ignoresChanged tells whether the tree's ignore files differ from the base's.
func (w *Workspace) ignoresChanged(ctx context.Context, tree agency.OID) (bool, error) {
	if tree == w.run.baseTree {
		return false, nil
	}
	changes, err := w.dir.Changes(ctx, w.run.baseTree, tree)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(changes, func(c git.Change) bool { return isIgnoreFile(c.Path) }), nil
}

func isIgnoreFile(p string) bool { return path.Base(p) == ".gitignore" }

type sweep struct {
	nested        []string // .git below the root
	foreignIgnore bool     // an ignore file in a tracked folder that the base does not have
}

// sweep looks at folders for what git passes over in silence.
func (w *Workspace) sweep(folders []string, base *baseFacts) sweep {
	var s sweep
	look := func(folder string) {
		at := filepath.Join(w.root, filepath.FromSlash(folder))
		if folder != "." {
			if _, err := os.Lstat(at + "/.git"); err == nil && !slices.Contains(base.gitlinks, folder) {
				s.nested = append(s.nested, folder+"/.git")
			}
		}
		if _, err := os.Lstat(at + "/.gitignore"); err == nil && base.ignores[path.Join(folder, ".gitignore")] == "" {
			s.foreignIgnore = true
		}
	}
	look(".")
	for _, f := range folders {
		look(f)
	}
	slices.Sort(s.nested)
	return s
}

// checkNew refuses repositories among new paths and remembers their folders.
func (w *Workspace) checkNew(paths []string) error {
	var nested []string
	fresh := map[string]bool{}
	for _, p := range paths {
		if strings.HasSuffix(p, "/") { // ls-files shows a repository so
			nested = append(nested, p+".git")
			continue
		}
		if info, err := os.Lstat(filepath.Join(w.root, filepath.FromSlash(p))); err == nil && info.IsDir() {
			nested = append(nested, p+"/.git")
			continue
		}
		for dir := path.Dir(p); dir != "." && !fresh[dir]; dir = path.Dir(dir) {
			fresh[dir] = true
		}
	}
	for dir := range fresh {
		if _, err := os.Lstat(filepath.Join(w.root, filepath.FromSlash(dir), ".git")); err == nil {
			nested = append(nested, dir+"/.git")
		}
		w.folders[dir] = true
	}
	if len(nested) == 0 {
		return nil
	}
	slices.Sort(nested)
	return &Fault{Kind: NestedGit, Paths: slices.Compact(nested)}
}

// whyNotAdded finds the fault behind a failed add: a repository without a
// commit, mostly. What git says otherwise stays as it is.
func (w *Workspace) whyNotAdded(ctx context.Context, base *baseFacts, cause error) error {
	others, err := w.dir.Untracked(ctx, base.excludes)
	if err != nil {
		return errors.Join(cause, err)
	}
	if err := w.checkNew(others); err != nil {
		return errors.Join(err, w.dropForeign(ctx, base))
	}
	return cause
}

// dropForeign takes gitlinks out of the index that the base does not have.
func (w *Workspace) dropForeign(ctx context.Context, base *baseFacts) error {
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

// Restore makes tracked and unignored files equal to a tree of this run:
// others of them are removed. Ignored files stay.
func (w *Workspace) Restore(ctx context.Context, tree agency.OID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.explain(w.restore(ctx, tree))
}

func (w *Workspace) restore(ctx context.Context, tree agency.OID) error {
	base, err := w.run.base(ctx)
	if err != nil {
		return err
	}
	tree, err = w.dir.ResolveTree(ctx, tree)
	if err != nil {
		return err
	}
	if err := w.dropForeign(ctx, base); err != nil {
		return err
	}
	if err := w.resetMountPoint(); err != nil {
		return err
	}
	others, err := w.dir.Untracked(ctx, base.excludes)
	if err != nil {
		return err
	}
	if err := w.delete(others); err != nil {
		return err
	}
	w.unknown, w.slow, w.folders, w.tracked, w.memo = true, false, nil, nil, nil
	if err := w.dir.Checkout(ctx, tree); err != nil {
		return err
	}
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	return errors.Join(w.hideGitlinks(ctx), w.fillModules(ctx, base))
}

// resetMountPoint puts the empty folder at .git back.
func (w *Workspace) resetMountPoint() error {
	if w.checkMountPoint() == nil {
		return nil
	}
	if err := removeAll(filepath.Join(w.root, ".git")); err != nil {
		return err
	}
	return w.mountPoint()
}

// delete removes paths below the checkout, never through a symbolic link, and
// the folders that it leaves empty.
func (w *Workspace) delete(paths []string) error {
	root, err := w.Root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, p := range paths {
		p = strings.TrimSuffix(p, "/")
		if err := root.RemoveAll(filepath.FromSlash(p)); err != nil {
			return git.Disk(err)
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if root.Remove(filepath.FromSlash(dir)) != nil {
				break // not empty
			}
		}
	}
	return nil
}
