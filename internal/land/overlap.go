package land

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/regexp"
	"agency/internal/store"
)

func (u checkouts) save(ctx context.Context, in intent) error {
	return u.o.write(ctx, func(tx *store.Tx) error { return putIntent(tx, in) })
}

// prepare compares what the merge would change with what the user has changed
// since the last commit. A file that both change is an overlap, unless the
// user's version is that of --include-dirty or of the merge itself: such a
// file is adopted, in the index and in the tree that it gives back, so that the
// two-tree merge sees it unchanged. Nothing of the user's is touched here.
func (u checkouts) prepare(ctx context.Context, d git.Dir, in intent) (agency.OID, error) {
	changes, err := d.Diff().Changes(ctx, in.Old, in.Checkout.Tree)
	if err != nil {
		return "", err
	}
	c, err := newComparison(ctx, d, changes)
	if err != nil {
		return "", err
	}
	if u.run.Info().Dirty != "" {
		if c.start, err = entriesOf(ctx, d, u.run.BaseTree(), changes); err != nil {
			return "", err
		}
	}
	for _, change := range changes {
		if err := c.look(ctx, change); err != nil {
			return "", err
		}
	}
	if len(c.overlaps) > 0 {
		return "", overlap(c.overlaps)
	}
	if err := d.Index().SetEntries(ctx, c.adopted); err != nil {
		return "", err
	}
	if err := d.Index().Refresh(ctx); err != nil {
		return "", err
	}
	return treeWith(ctx, d, in.Old, c.adopted)
}

func overlap(paths []string) error {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return refuse(CauseOverlap, paths, "local edits are in the way: "+strings.Join(paths, ", "),
		"commit or stash them and approve again, or approve with the note \"branch\" to keep the work on its branch")
}

// comparison is the user's checkout seen from the paths that a merge changes.
type comparison struct {
	d        git.Dir
	entries  map[string]git.Entry
	unmerged map[string]bool
	dirty    map[string]bool
	changed  map[string]git.Change
	start    map[string]git.Entry // of the local edits that the run started from
	adopted  []git.Entry
	overlaps []string
}

func newComparison(ctx context.Context, d git.Dir, changes []git.Change) (*comparison, error) {
	c := &comparison{
		d: d, entries: map[string]git.Entry{}, unmerged: map[string]bool{}, dirty: map[string]bool{}, changed: map[string]git.Change{},
	}
	if err := d.Index().Refresh(ctx); err != nil {
		return nil, err
	}
	entries, err := d.Index().Entries(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Stage != 0 {
			c.unmerged[e.Path] = true
			continue
		}
		c.entries[e.Path] = e
	}
	dirty, err := d.Files().Differing(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range dirty {
		c.dirty[p] = true
	}
	for _, change := range changes {
		c.changed[change.Path] = change
	}
	return c, nil
}

// entriesOf are the entries of a tree at the changed paths.
func entriesOf(ctx context.Context, d git.Dir, tree agency.OID, changes []git.Change) (map[string]git.Entry, error) {
	wanted := map[string]bool{}
	for _, c := range changes {
		wanted[c.Path] = true
	}
	all, err := d.Objects().Tree(ctx, tree)
	if err != nil {
		return nil, err
	}
	found := map[string]git.Entry{}
	for _, e := range all {
		if wanted[e.Path] {
			found[e.Path] = e
		}
	}
	return found, nil
}

// look judges one path.
func (c *comparison) look(ctx context.Context, change git.Change) error {
	p := change.Path
	idx := c.entries[p]
	switch {
	case c.unmerged[p]:
		c.overlaps = append(c.overlaps, p)
		return nil
	case same(idx, change.Old) && idx.Mode != 0 && !c.dirty[p]:
		return nil // as committed
	case change.Old.Mode == git.ModeGitlink || change.New.Mode == git.ModeGitlink:
		if !same(idx, change.Old) {
			c.overlaps = append(c.overlaps, p)
		}
		return nil
	}
	if above := c.obstacleAbove(p); above != "" {
		c.overlaps = append(c.overlaps, above)
		return nil
	}
	if below, isDir := c.below(p); isDir {
		c.overlaps = append(c.overlaps, below...)
		return nil
	}
	have, err := c.d.Files().Hash(ctx, p)
	if err != nil {
		return err
	}
	if same(have, git.Entry{}) && same(idx, git.Entry{}) && change.Old.Mode == 0 {
		return nil // new, and nothing there
	}
	mine := same(have, change.New) || c.start != nil && same(have, c.start[p])
	if !mine || !same(idx, change.Old) && !same(idx, have) {
		c.overlaps = append(c.overlaps, p)
		return nil
	}
	have.Path = p
	c.adopted = append(c.adopted, have)
	return nil
}

func same(a, b git.Entry) bool { return a.Mode == b.Mode && a.ID == b.ID }

// obstacleAbove is a file that stands where the path needs a folder and that
// the merge does not remove.
func (c *comparison) obstacleAbove(p string) string {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		info, err := os.Lstat(filepath.Join(c.d.WorkTree, filepath.FromSlash(dir)))
		if err != nil || info.IsDir() {
			continue
		}
		if change, ok := c.changed[dir]; ok && change.New.Mode == 0 && same(c.entries[dir], change.Old) && !c.dirty[dir] {
			continue
		}
		return dir
	}
	return ""
}

// below lists what lies in a folder that stands where the merge wants a file,
// apart from what the merge removes.
func (c *comparison) below(p string) (files []string, isDir bool) {
	full := filepath.Join(c.d.WorkTree, filepath.FromSlash(p))
	info, err := os.Lstat(full)
	if err != nil || !info.IsDir() {
		return nil, false
	}
	if c.changed[p].New.Mode == 0 {
		return []string{p}, true // a file of the target that the user made a folder
	}
	_ = filepath.WalkDir(full, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // a folder that cannot be read stays in git's own way
		}
		rel, err := filepath.Rel(c.d.WorkTree, at)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		change, ok := c.changed[rel]
		if !ok || change.New.Mode != 0 || !same(c.entries[rel], change.Old) || c.dirty[rel] {
			files = append(files, rel)
		}
		return nil
	})
	return files, true
}

// treeWith is a commit's tree with some entries replaced; mode 0 removes one.
func treeWith(ctx context.Context, d git.Dir, commit agency.OID, entries []git.Entry) (agency.OID, error) {
	tree, err := d.Refs().ResolveTree(ctx, commit)
	if err != nil || len(entries) == 0 {
		return tree, err
	}
	return d.Index().TreeWith(ctx, tree, d.IndexFile+".scratch", entries)
}

var notUpToDate = regexp.MustCompile(`(?m)(?:Entry|working tree file) '([^'\n]+)'|^\t(.+)$`)

// overlapOr names the files for which git itself refused to carry on: a second
// look at the same question, for what changed in between.
func overlapOr(err error) error {
	f := (*git.Failure)(nil)
	if !errors.As(err, &f) {
		return err
	}
	var paths []string
	for _, match := range notUpToDate.FindAllStringSubmatch(f.Stderr, -1) {
		paths = append(paths, match[1]+match[2])
	}
	if len(paths) == 0 {
		return err
	}
	return overlap(paths)
}
