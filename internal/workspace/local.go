package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// Include says which local edits go into a run. What is not named stays out.
type Include struct {
	// Tracked takes the files that git knows: changed, staged, deleted.
	Tracked bool
	// Untracked are new files or folders, relative to the checkout.
	Untracked []string
}

// Any tells whether anything is to go along.
func (in Include) Any() bool { return in.Tracked || len(in.Untracked) > 0 }

// Local is the state of the user's own checkout, looked at with a copied index
// so that neither the index nor a file is touched. Its lists are sorted.
type Local struct {
	Tracked   []string // files that differ from HEAD: changed, staged, deleted
	Untracked []string // new files that are not ignored
	Paths     []string // of both, those that go along
	// Tree is HEAD's tree with Paths, empty where there are none.
	Tree agency.OID
}

// Left are the files that do not go along.
func (l Local) Left() []string {
	all := slices.Concat(l.Tracked, l.Untracked)
	slices.Sort(all)
	return slices.DeleteFunc(all, func(p string) bool { _, in := slices.BinarySearch(l.Paths, p); return in })
}

// Local looks at the user's checkout. Info needs no Base; head is the commit
// that the edits lie on.
func (m *Manager) Local(ctx context.Context, info RunInfo, head agency.OID) (Local, error) {
	d, done, err := m.mirror(ctx, info)
	if err != nil {
		return Local{}, err
	}
	defer done()
	return local(ctx, d, head)
}

// mirror stands in for the user's own git directory.
func (m *Manager) mirror(ctx context.Context, info RunInfo) (git.Dir, func(), error) {
	settings, err := m.opts.Git.ReadSettings(ctx, info.Repo)
	if err != nil {
		return git.Dir{}, nil, err
	}
	info.Settings = settings
	private, err := m.private(info)
	if err != nil {
		return git.Dir{}, nil, err
	}
	return Mirror(m.opts.Git, private, info.Repo, settings, filepath.Join(info.dir(), "local"))
}

// local lists what is not committed; no content is read into the run.
func local(ctx context.Context, d git.Dir, head agency.OID) (l Local, err error) {
	entries, err := d.Index().Entries(ctx)
	if err != nil {
		return l, err
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
		return l, agency.Errorf(agency.KindInvalid, "a merge is unfinished in your checkout: %s", strings.Join(unmerged, ", ")).
			WithMend("git status (finish or abort the merge)")
	}
	if err := d.Index().SkipWorktree(ctx, links); err != nil {
		return l, err
	}
	if err := d.Index().Refresh(ctx); err != nil {
		return l, err
	}
	if l.Tracked, err = d.Files().Differing(ctx); err != nil {
		return l, err
	}
	staged, err := d.Index().Staged(ctx, head)
	if err != nil {
		return l, err
	}
	l.Tracked = append(l.Tracked, pathsOf(staged)...)
	slices.Sort(l.Tracked)
	l.Tracked = slices.Compact(l.Tracked)
	others, err := d.Files().UntrackedStandard(ctx)
	for _, p := range others {
		if !strings.HasSuffix(p, "/") { // another repository of the user is left alone
			l.Untracked = append(l.Untracked, p)
		}
	}
	slices.Sort(l.Untracked)
	return l, err
}

// take makes the tree of what goes along. A file that may hold a secret is
// refused by its name before anything is read, by its content before a commit
// names it.
func (l *Local) take(ctx context.Context, d git.Dir, head agency.OID, in Include) error {
	named, err := l.named(in.Untracked)
	if err != nil {
		return err
	}
	adds := named
	if in.Tracked {
		adds = slices.Concat(l.Tracked, named)
	} else if err := d.Index().ReadTree(ctx, head); err != nil { // what is staged stays out
		return err
	}
	if secret := secretNames(adds); len(secret) > 0 {
		return refuseSecrets(secret)
	}
	if err := d.Index().AddPaths(ctx, adds); err != nil {
		return err
	}
	staged, err := d.Index().Staged(ctx, head)
	if err != nil || len(staged) == 0 {
		return err
	}
	var secret []secretFile
	l.Paths = pathsOf(staged)
	for _, c := range staged {
		found, err := secretIn(ctx, d, c)
		if err != nil {
			return err
		}
		if found.what != "" {
			secret = append(secret, found)
		}
	}
	slices.Sort(l.Paths)
	if len(secret) > 0 {
		return refuseSecrets(secret)
	}
	l.Tree, err = d.Index().WriteTree(ctx)
	return err
}

// named are the untracked files that names of files and folders lead to.
func (l *Local) named(names []string) (out []string, err error) {
	for _, name := range names {
		folder := strings.TrimSuffix(name, "/") + "/"
		n := len(out)
		for _, p := range l.Untracked {
			if p == name || name == "." || strings.HasPrefix(p, folder) {
				out = append(out, p)
			}
		}
		if len(out) == n {
			return nil, agency.Errorf(agency.KindInvalid, "--include-untracked %s: nothing that is untracked and not ignored is there", name).
				WithMend("git status --untracked-files=all")
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Dirty makes the commit of --include-dirty: the user's local edits on top of
// head, kept in the run's private git directory. It is head itself where there
// are none. Edits of paths that a filter keeps (LFS) and files that may hold a
// secret are refused by name.
func (m *Manager) Dirty(ctx context.Context, info RunInfo, head agency.OID, in Include) (agency.OID, Local, error) {
	mirror, done, err := m.mirror(ctx, info)
	if err != nil {
		return "", Local{}, err
	}
	defer done()
	l, err := local(ctx, mirror, head)
	if err == nil {
		err = l.take(ctx, mirror, head, in)
	}
	if err != nil || len(l.Paths) == 0 {
		return head, l, err
	}
	d := m.opts.Git.Open(filepath.Join(info.dir(), "git"))
	index := filepath.Join(d.GitDir, "index.head")
	defer func() { _ = os.Remove(index) }()
	attrs := d.WithWorkTree("", index)
	if err := attrs.Index().ReadTree(ctx, head); err != nil {
		return "", l, err
	}
	filtered, err := attrs.Index().Attr(ctx, "filter", l.Paths)
	if err != nil {
		return "", l, err
	}
	if len(filtered) > 0 {
		return "", l, &Violation{Kind: Filtered, Paths: slices.Sorted(maps.Keys(filtered))}
	}
	settings, err := m.opts.Git.ReadSettings(ctx, info.Repo)
	if err != nil {
		return "", l, err
	}
	commit, err := d.Commits().Write(ctx, l.Tree, []agency.OID{head},
		"Local edits at the start of the run\n\nAgency-Run: "+string(info.Run)+"\n", settings.Identity)
	return commit, l, err
}

// Mirror gives a git directory that stands in for the user's own in commands
// that compare or write the user's files: its configuration is ours, its index
// a copy. The copy lies in folder, which done removes; AsIndex moves it
// elsewhere.
func Mirror(h *git.Program, private git.Dir, repo git.Location, settings git.Settings, folder string) (d git.Dir, done func(), err error) {
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

// secretFile is a file that may hold a secret, and what speaks for it.
type secretFile struct {
	path string
	line int // 0: its name tells
	what string
}

// refuseSecrets names the files. A person who commits one has decided; nobody
// has who only asked for local edits.
func refuseSecrets(files []secretFile) error {
	lines := make([]string, len(files))
	for i, f := range files {
		at := f.path
		if f.line > 0 {
			at = fmt.Sprintf("%s:%d", f.path, f.line)
		}
		lines[i] = fmt.Sprintf("%s (%s)", at, f.what)
	}
	return agency.Errorf(agency.KindDenied, "local edits that may hold a secret do not go into a run: %s", strings.Join(lines, ", ")).
		WithMend("leave an untracked file out of --include-untracked; for a file of git: git stash push -- %s; or commit it yourself where it is no secret", files[0].path)
}

func secretNames(paths []string) (out []secretFile) {
	for _, p := range paths {
		if what := agency.SecretName(p); what != "" {
			out = append(out, secretFile{p, 0, what})
		}
	}
	return out
}

// maxSearched bounds what is looked through of one file, in bytes.
const maxSearched = 32 << 20

// secretIn looks for a secret in what a change brings in; what the commit below
// it has already is no news.
func secretIn(ctx context.Context, d git.Dir, c git.Change) (secretFile, error) {
	if c.Status == 'D' || c.New.Mode == git.ModeGitlink {
		return secretFile{}, nil
	}
	now, err := d.Objects().Content(ctx, c.New.ID, maxSearched)
	if git.IsTooLong(err) {
		return secretFile{c.Path, 0, "too much in it to be looked through"}, nil
	}
	if err != nil {
		return secretFile{}, err
	}
	var was []byte
	for _, f := range agency.SecretsIn(c.Path, now) {
		if was == nil && c.Old.Mode != 0 {
			if was, err = d.Objects().Content(ctx, c.Old.ID, maxSearched); err != nil && !git.IsTooLong(err) {
				return secretFile{}, err
			}
		}
		if !bytes.Contains(was, []byte(f.Text)) {
			return secretFile{c.Path, f.Line, f.What + " in it"}, nil
		}
	}
	return secretFile{}, nil
}
