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

// staging brings the index of a checkout up to its files: what it knows of them,
// so that it looks at as few as it can.
type staging struct {
	*checkout
	audit *audit

	folders map[string]bool     // folders that hold tracked files; nil: not read yet
	tracked map[string]struct{} // the files that the index knows; read with folders
	memo    *memo               // what the last snapshot saw; nil: nothing to go by
	ignored map[string]bool     // what the base ignores, folders with a slash at their end; asked for when there is much
	missed  int                 // how often in a row the memo did not serve
	slow    bool                // ignore files differ from the base's
	unknown bool                // whether they do must be found out
	broken  bool                // a name holds a line break, or did
}

func (g *staging) snapshot(ctx context.Context) (agency.OID, error) {
	if err := g.alone(ctx); err != nil { // no git is asked where nothing has changed
		return "", err
	}
	if err := g.checkMountPoint(); err != nil {
		return "", err
	}
	if err := g.readFolders(ctx); err != nil {
		return "", err
	}
	g.slow = g.slow || g.broken
	if !g.slow {
		if tree, ok := g.quick(ctx); ok {
			return tree, nil
		}
	}
	if err := g.survey(ctx); err != nil {
		return "", err
	}
	if !g.slow {
		tree, ok, err := g.fast(ctx)
		if err != nil || ok {
			return tree, err
		}
	}
	return g.careful(ctx)
}

func (g *staging) check(ctx context.Context) error {
	if err := g.alone(ctx); err != nil {
		return err
	}
	if err := g.checkMountPoint(); err != nil {
		return err
	}
	if err := g.readFolders(ctx); err != nil {
		return err
	}
	if seen := g.sweep(g.known()); len(seen.nested) > 0 {
		return &Violation{Kind: NestedGit, Paths: seen.nested}
	}
	if err := g.survey(ctx); err != nil {
		return err
	}
	others, err := g.dir.Files().Untracked(ctx, g.base.excludes)
	if err != nil {
		return err
	}
	return g.checkNew(others)
}

// known are the folders that hold tracked files.
func (g *staging) known() []string { return slices.Collect(maps.Keys(g.folders)) }

// readFolders learns which files are tracked, and which folders hold them,
// once.
func (g *staging) readFolders(ctx context.Context) error {
	if g.folders != nil {
		return nil
	}
	files, err := g.dir.Index().Paths(ctx)
	if err != nil {
		return err
	}
	folders, tracked := map[string]bool{}, make(map[string]struct{}, len(files))
	for _, p := range files {
		tracked[p] = struct{}{}
		parents(folders, p)
		g.broken = g.broken || strings.ContainsRune(p, '\n')
	}
	g.folders, g.tracked = folders, tracked
	return nil
}

// note brings the tracked files up to what git said it added and removed.
func (g *staging) note(a git.Added) {
	for _, p := range a.Paths {
		g.tracked[p] = struct{}{}
	}
	for _, p := range a.Removed {
		delete(g.tracked, p)
	}
}

// fast takes the snapshot with the ignore files as they lie there. ok is false
// where these differ from the base's, so that the result does not count.
func (g *staging) fast(ctx context.Context) (tree agency.OID, ok bool, err error) {
	defer func() {
		if !ok {
			g.folders, g.tracked, g.memo = nil, nil, nil // the index holds what is not noted
		}
	}()
	known, tracked := g.known(), len(g.tracked) // the maps belong to this goroutine
	swept, remembered := make(chan sweep, 1), make(chan *memo, 1)
	go func() { swept <- g.sweep(known) }()
	go func() {
		if len(g.base.gitlinks) > 0 || !g.worthIt() {
			remembered <- nil
			return
		}
		remembered <- g.remember(ctx, tracked)
	}()
	added, err := g.dir.Index().AddAll(ctx)
	seen, m := <-swept, <-remembered
	if len(seen.nested) > 0 {
		return "", false, errors.Join(g.dropForeign(ctx), &Violation{Kind: NestedGit, Paths: seen.nested})
	}
	if err != nil {
		return "", false, g.whyNotAdded(ctx, err)
	}
	if seen.foreignIgnore || !added.Exact || g.broken || slices.ContainsFunc(added.Paths, isIgnoreFile) || slices.ContainsFunc(added.Removed, isIgnoreFile) {
		g.slow = true
		return "", false, nil
	}
	if err := g.checkNew(added.Paths); err != nil {
		return "", false, errors.Join(g.dropForeign(ctx), err)
	}
	g.note(added)
	g.audit.suspect = g.audit.suspect || gitDataIn(added.Paths) || gitDataIn(added.Removed)
	tree, err = g.dir.Index().WriteTree(ctx)
	if err != nil {
		return "", false, err
	}
	if m != nil {
		m.tree, g.memo = tree, m
		m.keep(g.tracked)
	}
	if !g.unknown {
		return tree, true, nil
	}
	changed, err := g.ignoresChanged(ctx, tree)
	if err != nil {
		return "", false, err
	}
	g.unknown, g.slow = false, changed
	return tree, !changed, nil
}

// careful takes the snapshot by rules that nothing in the checkout can change.
func (g *staging) careful(ctx context.Context) (agency.OID, error) {
	g.memo = nil
	if err := g.readFolders(ctx); err != nil {
		return "", err
	}
	defer func() { g.folders, g.tracked = nil, nil }() // nothing below tells what became tracked
	if err := g.dropForeign(ctx); err != nil {
		return "", err
	}
	others, err := g.dir.Files().Untracked(ctx, g.base.excludes)
	if err != nil {
		return "", err
	}
	if err := g.checkNew(others); err != nil {
		return "", err
	}
	changed, err := g.dir.Files().Differing(ctx)
	if err != nil {
		return "", err
	}
	tracked, err := g.run.ignoredOfBase(ctx, g.base)
	if err != nil {
		return "", err
	}
	g.audit.suspect = g.audit.suspect || gitDataIn(others) || gitDataIn(changed)
	if err := g.dir.Index().AddPaths(ctx, slices.Concat(others, changed, g.existing(tracked))); err != nil {
		return "", err
	}
	ignored, err := g.dir.Index().TrackedIgnored(ctx, g.base.excludes)
	if err != nil {
		return "", err
	}
	var drop []git.Entry
	for _, p := range ignored {
		if !g.base.files[p] {
			drop = append(drop, git.Entry{Path: p})
		}
	}
	if err := g.dir.Index().SetEntries(ctx, drop); err != nil {
		return "", err
	}
	tree, err := g.dir.Index().WriteTree(ctx)
	if err != nil {
		return "", err
	}
	g.unknown = false
	differ, err := g.ignoresChanged(ctx, tree)
	if err != nil {
		return "", err
	}
	g.slow = differ || g.sweep(g.known()).foreignIgnore
	return tree, nil
}

// existing are the paths that the checkout has.
func (g *staging) existing(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		_, err := os.Lstat(filepath.Join(g.root, filepath.FromSlash(p)))
		return err != nil
	})
}

// ignoresChanged tells whether the tree's ignore files differ from the base's.
func (g *staging) ignoresChanged(ctx context.Context, tree agency.OID) (bool, error) {
	if tree == g.run.baseTree {
		return false, nil
	}
	changes, err := g.dir.Diff().Changes(ctx, g.run.baseTree, tree)
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
func (g *staging) sweep(folders []string) sweep {
	var s sweep
	look := func(folder string) {
		at := filepath.Join(g.root, filepath.FromSlash(folder))
		if folder != "." {
			if _, err := os.Lstat(at + "/.git"); err == nil && !slices.Contains(g.base.gitlinks, folder) {
				s.nested = append(s.nested, folder+"/.git")
			}
		}
		if _, err := os.Lstat(at + "/.gitignore"); err == nil && g.base.ignores[path.Join(folder, ".gitignore")] == "" {
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
func (g *staging) checkNew(paths []string) error {
	var nested []string
	fresh := map[string]bool{}
	for _, p := range paths {
		if strings.HasSuffix(p, "/") { // ls-files shows a repository so
			nested = append(nested, p+".git")
			continue
		}
		if info, err := os.Lstat(filepath.Join(g.root, filepath.FromSlash(p))); err == nil && info.IsDir() {
			nested = append(nested, p+"/.git")
			continue
		}
		for dir := path.Dir(p); dir != "." && !fresh[dir]; dir = path.Dir(dir) {
			fresh[dir] = true
		}
	}
	for dir := range fresh {
		if _, err := os.Lstat(filepath.Join(g.root, filepath.FromSlash(dir), ".git")); err == nil {
			nested = append(nested, dir+"/.git")
		}
		g.folders[dir] = true
	}
	if len(nested) == 0 {
		return nil
	}
	slices.Sort(nested)
	return &Violation{Kind: NestedGit, Paths: slices.Compact(nested)}
}

// whyNotAdded finds the violation behind a failed add: a repository without a
// commit, mostly. What git says otherwise stays as it is.
func (g *staging) whyNotAdded(ctx context.Context, cause error) error {
	others, err := g.dir.Files().Untracked(ctx, g.base.excludes)
	if err != nil {
		return errors.Join(cause, err)
	}
	if err := g.checkNew(others); err != nil {
		return errors.Join(err, g.dropForeign(ctx))
	}
	return cause
}

func (g *staging) restore(ctx context.Context, tree agency.OID) error {
	tree, err := g.dir.Refs().ResolveTree(ctx, tree)
	if err != nil {
		return err
	}
	if err := g.dropForeign(ctx); err != nil {
		return err
	}
	if err := g.resetMountPoint(); err != nil {
		return err
	}
	for more := true; more; {
		others, err := g.dir.Files().Untracked(ctx, g.base.excludes)
		if more = git.IsTooLong(err) && len(others) > 1; more {
			others, err = others[:len(others)-1], nil // the last one is cut off
		}
		if err != nil {
			return err
		}
		if err := g.delete(others); err != nil {
			return err
		}
	}
	if err := g.dropBig(ctx); err != nil {
		return err
	}
	g.unknown, g.audit.suspect, g.slow, g.folders, g.tracked, g.memo = true, true, false, nil, nil, nil
	if err := g.dir.Files().Checkout(ctx, tree); err != nil {
		return err
	}
	g.run.mu.Lock()
	defer g.run.mu.Unlock()
	return errors.Join(g.hideGitlinks(ctx), g.fillModules(ctx))
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
