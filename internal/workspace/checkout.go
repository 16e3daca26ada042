package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/git"
	"agency/internal/sandbox"
)

// checkout is where a workspace lies on the host: its files, its index and the
// git directory that is shown for it inside the sandbox.
type checkout struct {
	run  *Run
	kind Kind
	name string
	dir  git.Dir
	base *baseFacts // known from when it was made or opened

	root, index, synthetic, ready string
}

// Name is the name that Prepare was given.
func (c *checkout) Name() string { return c.name }

// Run is the run that the checkout belongs to.
func (c *checkout) Run() *Run { return c.run }

// Path is the checkout's folder on the host. Files in it are opened through
// Root, never by joining paths.
func (c *checkout) Path() string { return c.root }

// Start is the commit or tree that the checkout was made at, or was last
// rebased onto: the base of its change.
func (c *checkout) Start() (agency.OID, error) {
	m, err := readMark(c.ready)
	return m.At, err
}

// Root opens the checkout so that no path and no symbolic link leads out of
// it. The caller closes it.
func (c *checkout) Root() (*os.Root, error) {
	root, err := os.OpenRoot(c.root)
	return root, git.Disk(err)
}

// Place is where the checkout appears inside the sandbox: at the user's own
// repository path, with the synthetic git directory at .git. No link is on the way
// to it, should there be one to the state folder: programs name themselves and
// their reports by where they find themselves.
func (c *checkout) Place() (sandbox.Place, error) {
	if _, err := os.Stat(c.run.historyDir()); err != nil {
		return sandbox.Place{}, git.Disk(err)
	}
	root, err := filepath.EvalSymlinks(c.root)
	return sandbox.Place{Root: root, At: c.run.info.Repo.WorkTree, GitDir: c.synthetic, Objects: c.run.Objects()}, git.Disk(err)
}

// alone makes sure that nothing of a session is alive in the checkout.
func (c *checkout) alone(ctx context.Context) error {
	if still := c.run.m.opts.Still; still != nil {
		return still(ctx, c.root)
	}
	return nil
}

func (c *checkout) finished() bool {
	if _, err := readMark(c.ready); err != nil {
		return false
	}
	info, err := os.Lstat(c.root)
	return err == nil && info.IsDir()
}

func (c *checkout) remove() error {
	return errors.Join(removeAll(c.ready), removeAll(c.root), removeAll(filepath.Dir(c.index)), removeAll(c.synthetic), removeAll(c.moduleIndexes()))
}

// create makes the checkout; the mark is written last, so that one cut short
// is seen and made anew.
func (c *checkout) create(ctx context.Context, at agency.OID) error {
	tree, err := c.run.dir.Refs().ResolveTree(ctx, at)
	if err != nil {
		return err
	}
	if err := c.learn(ctx); err != nil { // which settles by what rules files are written
		return err
	}
	for _, dir := range []string{c.root, filepath.Dir(c.index)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return git.Disk(err)
		}
	}
	if err := c.dir.Files().Checkout(ctx, tree); err != nil {
		return err
	}
	if err := c.mountPoint(); err != nil {
		return err
	}
	if err := c.hideGitlinks(ctx); err != nil {
		return err
	}
	if err := c.fillModules(ctx); err != nil {
		return err
	}
	if err := c.makeSynthetic(ctx, at); err != nil {
		return err
	}
	return c.finish(at)
}

// learn reads once what of the base decides how the checkout is treated.
func (c *checkout) learn(ctx context.Context) (err error) {
	if c.base == nil {
		c.base, err = c.run.base(ctx)
	}
	return err
}

// finish says that the checkout is whole, and what its change counts from.
func (c *checkout) finish(at agency.OID) error {
	return writeJSON(c.ready, mark{At: at})
}

func writeJSON(at string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return git.WriteFile(at, text)
}

func (c *checkout) reopen(ctx context.Context) error {
	// A git that was killed leaves the lock of our own index behind. Nobody
	// else uses it.
	if err := removeAll(c.index + ".lock"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.synthetic, "HEAD")); err != nil {
		m, err := readMark(c.ready)
		if err != nil {
			return err
		}
		if err := c.makeSynthetic(ctx, m.At); err != nil {
			return err
		}
	}
	if _, err := c.run.history(ctx); err != nil {
		return err
	}
	if err := c.learn(ctx); err != nil {
		return err
	}
	return c.dropForeign(ctx) // of a snapshot that was killed
}

// mountPoint makes the empty folder at .git that the sandbox mounts over.
func (c *checkout) mountPoint() error {
	err := os.Mkdir(filepath.Join(c.root, ".git"), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return git.Disk(err)
}

// checkMountPoint is the first thing that is asked of a checkout: whoever put
// something at .git wanted a git to find it.
func (c *checkout) checkMountPoint() error {
	// Both folders are ours, and their modes part of no tree: whatever an agent
	// made of them, the work goes on.
	if at, err := os.Lstat(c.root); err == nil && at.IsDir() && at.Mode()&0o700 != 0o700 {
		if err := os.Chmod(c.root, 0o700); err != nil {
			return git.Disk(err)
		}
	}
	info, err := os.Lstat(filepath.Join(c.root, ".git"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return &Violation{Kind: GitReplaced, Paths: []string{".git"}}
	}
	if err != nil {
		return git.Disk(err)
	}
	root, err := c.Root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only looked through
	if info.Mode()&0o700 != 0o700 {
		if err := root.Chmod(".git", 0o700); err != nil {
			return git.Disk(err)
		}
	}
	f, err := root.Open(".git")
	if err != nil {
		return git.Disk(err)
	}
	defer func() { _ = f.Close() }() // only read
	entries, err := f.ReadDir(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return git.Disk(err)
	}
	if len(entries) > 0 {
		return &Violation{Kind: GitReplaced, Paths: []string{".git/" + entries[0].Name()}}
	}
	return nil
}

// hideGitlinks marks submodules so that no command of ours looks into their
// folders, where the agent may have put a repository with a configuration of
// its own.
func (c *checkout) hideGitlinks(ctx context.Context) error {
	if len(c.base.gitlinks) == 0 {
		return nil
	}
	entries, err := c.dir.Index().Entries(ctx)
	if err != nil {
		return err
	}
	var links []string
	for _, e := range entries {
		if e.Mode == git.ModeGitlink {
			links = append(links, e.Path)
		}
	}
	return c.dir.Index().SkipWorktree(ctx, links)
}

// removeAll deletes a tree, whatever an agent left in it.
func removeAll(p string) error { return git.Disk(beneath.Remove(p)) }

// resetMountPoint puts the empty folder at .git back.
func (c *checkout) resetMountPoint() error {
	if c.checkMountPoint() == nil {
		return nil
	}
	if err := removeAll(filepath.Join(c.root, ".git")); err != nil {
		return err
	}
	return c.mountPoint()
}

// dropForeign takes gitlinks out of the index that the base does not have.
func (c *checkout) dropForeign(ctx context.Context) error {
	entries, err := c.dir.Index().Entries(ctx)
	if err != nil {
		return err
	}
	var drop []git.Entry
	for _, e := range entries {
		if e.Mode == git.ModeGitlink && !slices.Contains(c.base.gitlinks, e.Path) {
			drop = append(drop, git.Entry{Path: e.Path})
		}
	}
	return c.dir.Index().SetEntries(ctx, drop)
}

// delete removes paths below the checkout, never through a symbolic link, and
// the folders that it leaves empty.
func (c *checkout) delete(paths []string) error {
	root, err := c.Root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var dir *os.File
	at := ""
	defer func() { _ = dir.Close() }() // only deleted from
	for _, p := range paths {
		p = strings.TrimSuffix(p, "/")
		if above := path.Dir(p); dir == nil || above != at {
			_ = dir.Close() // as above
			at = above
			if dir, err = root.Open(filepath.FromSlash(above)); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return git.Disk(err)
			}
		}
		if err := beneath.RemoveIn(dir, path.Base(p)); err != nil {
			return git.Disk(err)
		}
		for up := path.Dir(p); up != "."; up = path.Dir(up) {
			if root.Remove(filepath.FromSlash(up)) != nil {
				break // not empty
			}
		}
	}
	return nil
}

// mark is the file that says that a checkout is finished.
type mark struct {
	At agency.OID `json:"at"`
}

func readMark(p string) (mark, error) {
	var m mark
	b, err := os.ReadFile(p)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(b, &m)
}
