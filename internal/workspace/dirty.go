package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// Local is the state of the user's own checkout, looked at with a copied index
// so that neither the index nor a file is touched.
type Local struct {
	// Paths are the files that differ from HEAD: changed, staged, deleted, new
	// and not ignored.
	Paths []string
	// Tree is HEAD's tree with all of them, empty where Paths is.
	Tree agency.OID
}

// Local looks at the user's checkout. Info needs no Base; head is the commit
// that the edits lie on.
func (m *Manager) Local(ctx context.Context, info RunInfo, head agency.OID) (Local, error) {
	settings, err := m.opts.Git.ReadSettings(ctx, info.Repo)
	if err != nil {
		return Local{}, err
	}
	info.Settings = settings
	private, err := m.private(info)
	if err != nil {
		return Local{}, err
	}
	d, done, err := Mirror(m.opts.Git, private, info.Repo, settings, filepath.Join(info.dir(), "local"))
	if err != nil {
		return Local{}, err
	}
	defer done()
	return local(ctx, d, head)
}

func local(ctx context.Context, d git.Dir, head agency.OID) (Local, error) {
	entries, err := d.Entries(ctx)
	if err != nil {
		return Local{}, err
	}
	var unmerged, links []string
	for _, e := range entries {
		switch {
		case e.Stage != 0 && !slices.Contains(unmerged, e.Path):
			unmerged = append(unmerged, e.Path)
		case e.Mode == git.ModeGitlink:
			links = append(links, e.Path)
		}
	}
	if len(unmerged) > 0 {
		return Local{}, agency.Errorf(agency.KindInvalid, "a merge is unfinished in your checkout: %s", strings.Join(unmerged, ", ")).
			WithMend("git status (finish or abort the merge)")
	}
	if err := d.SkipWorktree(ctx, links); err != nil {
		return Local{}, err
	}
	changed, err := d.Differing(ctx)
	if err != nil {
		return Local{}, err
	}
	others, err := d.UntrackedStandard(ctx)
	if err != nil {
		return Local{}, err
	}
	for _, p := range others {
		if !strings.HasSuffix(p, "/") { // another repository of the user is left alone
			changed = append(changed, p)
		}
	}
	if err := d.AddPaths(ctx, changed); err != nil {
		return Local{}, err
	}
	staged, err := d.Staged(ctx, head)
	if err != nil || len(staged) == 0 {
		return Local{}, err
	}
	l := Local{Paths: make([]string, 0, len(staged))}
	for _, c := range staged {
		l.Paths = append(l.Paths, c.Path)
	}
	l.Tree, err = d.WriteTree(ctx)
	return l, err
}

// Dirty makes the commit of --include-dirty: the user's local edits on top of
// head, kept in the run's private git directory. It is head itself where there
// are none. Edits of paths that a filter keeps (LFS) are refused by name.
func (m *Manager) Dirty(ctx context.Context, info RunInfo, head agency.OID) (agency.OID, Local, error) {
	l, err := m.Local(ctx, info, head)
	if err != nil || len(l.Paths) == 0 {
		return head, l, err
	}
	d := m.opts.Git.Open(filepath.Join(info.dir(), "git"))
	index := filepath.Join(d.GitDir, "index.head")
	defer func() { _ = os.Remove(index) }()
	attrs := d.WithWorkTree("", index)
	if err := attrs.ReadTree(ctx, head); err != nil {
		return "", l, err
	}
	filtered, err := attrs.Attr(ctx, "filter", l.Paths)
	if err != nil {
		return "", l, err
	}
	if len(filtered) > 0 {
		paths := make([]string, 0, len(filtered))
		for p := range filtered {
			paths = append(paths, p)
		}
		slices.Sort(paths)
		return "", l, &Fault{Kind: Filtered, Paths: paths}
	}
	settings, err := m.opts.Git.ReadSettings(ctx, info.Repo)
	if err != nil {
		return "", l, err
	}
	commit, err := d.CommitTree(ctx, l.Tree, []agency.OID{head},
		"Local edits at the start of the run\n\nAgency-Run: "+string(info.Run)+"\n", settings.Identity)
	return commit, l, err
}

// Mirror gives a git directory that stands in for the user's own in commands
// that compare or write the user's files: its configuration is ours, its index
// a copy. The copy lies in folder, which done removes; AsIndex moves it
// elsewhere.
func Mirror(h *git.Host, private git.Dir, repo git.Location, settings git.Settings, folder string) (d git.Dir, done func(), err error) {
	if err := removeAll(folder); err != nil {
		return d, nil, err
	}
	objects := filepath.Join(private.GitDir, "objects")
	borrow, err := git.ObjectDirs(objects)
	if err != nil {
		return d, nil, err
	}
	dir, err := h.Create(git.Private{Path: folder, Borrow: borrow[1:], Settings: settings, Sparse: true})
	if err != nil {
		return d, nil, err
	}
	done = func() { _ = removeAll(folder) } // a leftover is replaced by the next call
	index := filepath.Join(folder, "index")
	if err := CopyIndex(repo, folder, index); err != nil {
		done()
		return d, nil, err
	}
	// New objects go where the run keeps its own.
	d = dir.WithObjects(objects).WithWorkTree(repo.WorkTree, index).WithConfig("core.splitIndex=false")
	return d, done, nil
}

// CopyIndex copies the user's index, and the shared part where it is split,
// for use with the git directory folder.
func CopyIndex(repo git.Location, folder, to string) error {
	shared, err := filepath.Glob(filepath.Join(escapeGlob(repo.GitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, p := range shared {
		if err := copyFile(p, filepath.Join(folder, filepath.Base(p))); err != nil {
			return err
		}
	}
	err = copyFile(repo.Index(), to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing staged ever: an empty index
	}
	return err
}

// copyFile keeps the time of the original: git compares an index entry's time
// with the index file's own to know that a file may have been edited in the
// instant in which the index was written. A copy of now would hide such edits.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return git.Disk(err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return git.Disk(err)
}
