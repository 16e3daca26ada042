package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// Submodules that the user has checked out are in every checkout with the
// files of the commit that the base names, read by a private git directory
// that borrows the submodule's objects. Nothing of them can land: the index
// never looks into their folders, and what an agent changes there is put back
// and named.

// module is a submodule of the base that the user has checked out.
type module struct {
	path string // of its folder
	tree agency.OID
	dir  git.Dir
}

// modules opens submodules and those inside of them, the outer ones first; of the
// base where prefix is empty, which tells the private directories of the inner ones
// apart. One that the user has not checked out, or not at a commit that is there, is
// an empty folder, as in the user's own checkout.
func (r *rules) modules(ctx context.Context, prefix string, links []git.Entry) ([]module, error) {
	var found []module
	for i, link := range links {
		at := filepath.Join(r.info.Repo.WorkTree, filepath.FromSlash(link.Path))
		loc, err := git.Find(at)
		if err != nil || loc.WorkTree != at {
			continue
		}
		name := prefix + strconv.Itoa(i)
		m, err := r.openModule(ctx, name, link, loc)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		inner, err := m.links(ctx)
		if err != nil {
			return nil, err
		}
		below, err := r.modules(ctx, name+".", inner)
		if err != nil {
			return nil, err
		}
		found = append(append(found, *m), below...)
	}
	return found, nil
}

// links are the submodules of a submodule, by their paths in the whole.
func (m module) links(ctx context.Context) ([]git.Entry, error) {
	entries, err := m.dir.Objects().Tree(ctx, m.tree)
	if err != nil {
		return nil, fmt.Errorf("submodule %s: %w", m.path, err)
	}
	var links []git.Entry
	for _, e := range entries {
		if e.Mode == git.ModeGitlink {
			e.Path = path.Join(m.path, e.Path)
			links = append(links, e)
		}
	}
	return links, nil
}

func (r *rules) openModule(ctx context.Context, name string, link git.Entry, loc git.Location) (*module, error) {
	borrow, err := git.ObjectDirs(loc.Objects())
	if err != nil {
		return nil, fmt.Errorf("submodule %s: %w", link.Path, err)
	}
	settings, err := r.m.opts.Git.ReadSettings(ctx, loc)
	if err != nil {
		return nil, fmt.Errorf("submodule %s: %w", link.Path, err)
	}
	dir, err := r.m.opts.Git.Create(git.Private{
		Path: filepath.Join(r.info.dir(), "modules", name), Borrow: borrow, Settings: settings,
	})
	if err != nil {
		return nil, err
	}
	tree, err := dir.Refs().ResolveTree(ctx, link.ID)
	if err != nil {
		return nil, ctx.Err() // the commit is not there: an empty folder
	}
	return &module{path: link.Path, tree: tree, dir: dir}, nil
}

func (c *checkout) moduleIndexes() string {
	return filepath.Join(c.run.info.dir(), "index", "modules", string(c.kind), c.name)
}

// at is the module's git directory for a checkout: its files and an index.
func (m module) at(c *checkout) git.Dir {
	index := filepath.Join(c.moduleIndexes(), filepath.Base(m.dir.GitDir))
	return m.dir.WithWorkTree(filepath.Join(c.root, filepath.FromSlash(m.path)), index).Foreign(c.alone)
}

// fillModules writes the files of the submodules into the checkout, and puts
// back those that were changed.
func (c *checkout) fillModules(ctx context.Context) error {
	if len(c.base.modules) == 0 {
		return nil
	}
	root, err := c.Root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it that could be lost
	for _, m := range c.base.modules {
		if err := realFolder(root, m.path); err != nil {
			return git.Disk(err)
		}
		d := m.at(c)
		if err := os.MkdirAll(filepath.Dir(d.IndexFile), 0o700); err != nil {
			return git.Disk(err)
		}
		// The lock of a git that was killed: nobody else uses this index.
		if err := removeAll(d.IndexFile + ".lock"); err != nil {
			return err
		}
		if err := d.Files().Checkout(ctx, m.tree); err != nil {
			return fmt.Errorf("submodule %s: %w", m.path, err)
		}
	}
	return nil
}

// realFolder makes a path a folder, each part of it one and none a link: git
// writes there.
func realFolder(root *os.Root, p string) error {
	part := ""
	for name := range strings.SplitSeq(p, "/") {
		part = filepath.Join(part, name)
		info, err := root.Lstat(part)
		if err == nil && info.IsDir() {
			continue
		}
		if err == nil {
			err = root.Remove(part)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := root.Mkdir(part, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// checkModules names what was changed in submodules, and puts it back.
func (c *checkout) checkModules(ctx context.Context) error {
	if c.kind != Work || len(c.base.modules) == 0 {
		return nil
	}
	var changed []string
	for _, m := range c.base.modules {
		names, err := c.changedIn(ctx, m)
		if err != nil {
			return err
		}
		changed = append(changed, names...)
	}
	if len(changed) == 0 {
		return nil
	}
	return errors.Join(c.fillModules(ctx), &Violation{Kind: Submodule, Paths: changed})
}

func (c *checkout) changedIn(ctx context.Context, m module) ([]string, error) {
	root, err := c.Root()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only looked through
	for p := m.path; p != "."; p = path.Dir(p) {
		if info, err := root.Lstat(filepath.FromSlash(p)); err != nil || !info.IsDir() {
			return []string{p}, nil
		}
	}
	names, err := m.at(c).Files().Differing(ctx)
	for i := range names {
		names[i] = path.Join(m.path, names[i])
	}
	return names, err
}

// inModule is the submodule that a path lies in, "" where it lies in none.
func (f *baseFacts) inModule(rel string) string {
	for _, link := range f.gitlinks {
		if rel == link || strings.HasPrefix(rel, link+"/") {
			return link
		}
	}
	return ""
}
