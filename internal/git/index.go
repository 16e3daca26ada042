package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
)

// Index is the index of a directory: what the next tree is written from.
type Index struct{ dir Dir }

// Files are the files of a directory's work tree, against its index.
type Files struct{ dir Dir }

// ReadTree fills the index from a tree and touches no file.
func (x Index) ReadTree(ctx context.Context, tree agency.OID) error {
	if err := checkOID(tree); err != nil {
		return err
	}
	_, err := x.dir.run(ctx, "read-tree", string(tree))
	return err
}

// Checkout makes index and work tree equal to a tree. Files that the index
// knows and the tree lacks are removed, all others stay.
func (w Files) Checkout(ctx context.Context, tree agency.OID) error {
	if err := checkOID(tree); err != nil {
		return err
	}
	return w.dir.WithConfig("checkout.workers=0").write(ctx, nil, "read-tree", "--reset", "-u", string(tree))
}

// Advance carries index and work tree from one tree to another, as a fast-
// forward does: files that differ from the old tree and from the new one make
// it fail as a whole, with nothing touched (git-read-tree(1), two-tree merge).
func (w Files) Advance(ctx context.Context, from, to agency.OID) error {
	if err := checkOID(from, to); err != nil {
		return err
	}
	return w.dir.write(ctx, nil, "read-tree", "-m", "-u", string(from), string(to))
}

// Advance is Files.Advance without touching files.
func (x Index) Advance(ctx context.Context, from, to agency.OID) error {
	if err := checkOID(from, to); err != nil {
		return err
	}
	_, err := x.dir.run(ctx, "read-tree", "-m", "-i", string(from), string(to))
	return err
}

// WriteTree writes the index as a tree.
func (x Index) WriteTree(ctx context.Context) (agency.OID, error) {
	out, err := x.dir.run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	id, err := parseOID(out)
	if err == nil {
		x.dir.wrote("tree", id, id)
	}
	return id, err
}

// Added is what AddAll did: the paths whose entry was written and those whose
// entry was removed. Exact is false where a path was seen to hold a line break, so
// that the lists cannot be trusted; one that was made for it may look like two.
type Added struct {
	Paths, Removed []string
	Exact          bool
}

// AddAll brings the index up to the work tree, obeying the ignore files that
// lie in the work tree.
func (x Index) AddAll(ctx context.Context) (Added, error) {
	out, err := x.dir.run(ctx, "add", "--all", "--verbose")
	a := Added{Exact: true}
	if err != nil {
		return a, err
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		verb, path, _ := strings.Cut(line, " '")
		path, whole := strings.CutSuffix(path, "'")
		switch {
		case whole && verb == "add":
			a.Paths = append(a.Paths, path)
		case whole && verb == "remove":
			a.Removed = append(a.Removed, path)
		default:
			a.Exact = false
		}
	}
	return a, nil
}

// AddPaths brings the index up to the work tree for exactly these paths,
// whatever ignore rules say. Paths that are gone leave the index.
func (x Index) AddPaths(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := x.dir.feed(ctx, lines(paths), "update-index", "--add", "--remove", "-z", "--stdin")
	return err
}

// Untracked lists the files that the index does not know, obeying only the
// ignore rules in the file excludes, which are anchored at the work tree, and
// no ignore file of the work tree. A folder that is a repository of its own is
// listed with a slash at its end. Beside an error that IsTooLong stand the first
// of them, the last one cut off.
func (w Files) Untracked(ctx context.Context, excludes string) ([]string, error) {
	return w.dir.paths(ctx, "ls-files", "-z", "--others", "--exclude-from="+excludes)
}

// Ignored gives what the rules in the file excludes ignore and the index does
// not know, a folder of which nothing else is known as one name with a slash at
// its end, one after the other until more is false.
func (w Files) Ignored(ctx context.Context, excludes string, more func(path string) bool) error {
	err := w.dir.stream(ctx, &items{each: more}, "ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-from="+excludes)
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// items takes names that are ended by NUL, and holds one at a time.
type items struct {
	rest []byte
	each func(string) bool
}

func (i *items) Write(p []byte) (int, error) {
	all := append(i.rest, p...)
	for {
		end := bytes.IndexByte(all, 0)
		if end < 0 {
			i.rest = append(i.rest[:0:0], all...)
			return len(p), nil
		}
		if !i.each(string(all[:end])) {
			return 0, errOver
		}
		all = all[end+1:]
	}
}

// UntrackedStandard lists the files that the index does not know, obeying the
// ignore files of the work tree: for the user's own checkout, whose rules count.
func (w Files) UntrackedStandard(ctx context.Context) ([]string, error) {
	return w.dir.paths(ctx, "ls-files", "-z", "--others", "--exclude-standard")
}

// TrackedIgnored lists the files of the index that the rules in the file
// excludes match.
func (x Index) TrackedIgnored(ctx context.Context, excludes string) ([]string, error) {
	return x.dir.paths(ctx, "ls-files", "-z", "--cached", "--ignored", "--exclude-from="+excludes)
}

// Differing lists the files of the work tree that differ from the index or
// are gone.
func (w Files) Differing(ctx context.Context) ([]string, error) {
	return w.dir.paths(ctx, "diff-files", "-z", "--name-only", "--ignore-submodules=all")
}

// Refresh looks again at the files whose times differ from the index.
func (x Index) Refresh(ctx context.Context) error {
	_, err := x.dir.run(ctx, "update-index", "-q", "--refresh")
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return nil // some differ; Differing names them
	}
	return err
}

// Paths lists the paths of the index.
func (x Index) Paths(ctx context.Context) ([]string, error) {
	return x.dir.paths(ctx, "ls-files", "-z")
}

// Entries lists the index.
func (x Index) Entries(ctx context.Context) ([]Entry, error) {
	out, err := x.dir.run(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, rec := range fields(out) {
		e, err := parseStage(rec)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// SetEntries puts entries into the index as they are; Mode 0 removes one.
func (x Index) SetEntries(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var set bytes.Buffer
	var drop []string
	for _, e := range entries {
		if e.Mode == 0 {
			drop = append(drop, e.Path)
			continue
		}
		if err := checkOID(e.ID); err != nil {
			return err
		}
		fmt.Fprintf(&set, "%o %s 0\t%s\x00", e.Mode, e.ID, e.Path)
	}
	if len(drop) > 0 {
		if _, err := x.dir.feed(ctx, lines(drop), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return err
		}
	}
	if set.Len() == 0 {
		return nil
	}
	_, err := x.dir.feed(ctx, &set, "update-index", "-z", "--index-info")
	return err
}

// SkipWorktree marks paths so that commands never look at them on disk.
func (x Index) SkipWorktree(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := x.dir.feed(ctx, lines(paths), "update-index", "--skip-worktree", "-z", "--stdin")
	return err
}

// Hash is mode and id that a file of the work tree would have in the
// index, with line endings converted as the directory's settings say. The
// zero Entry means that there is no file.
func (w Files) Hash(ctx context.Context, path string) (Entry, error) {
	full := filepath.Join(w.dir.WorkTree, filepath.FromSlash(path))
	info, err := os.Lstat(full)
	if err != nil || info.IsDir() {
		return Entry{}, nil // absent, or below something that is no folder
	}
	e := Entry{Mode: ModeFile, Path: path}
	var out []byte
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(full)
		if err != nil {
			return Entry{}, err
		}
		e.Mode = ModeSymlink
		out, err = w.dir.feed(ctx, strings.NewReader(target), "hash-object", "--stdin")
		if err != nil {
			return Entry{}, err
		}
	case !info.Mode().IsRegular():
		return Entry{Mode: 1, Path: path}, nil // a socket or pipe: equal to nothing
	default:
		if info.Mode()&0o100 != 0 {
			e.Mode = ModeExec
		}
		out, err = w.dir.run(ctx, "hash-object", "--", path)
		if err != nil {
			return Entry{}, err
		}
	}
	e.ID, err = parseOID(out)
	return e, err
}

// CheckoutPaths writes the index's version of these files into the work tree,
// over what is there.
func (w Files) CheckoutPaths(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	return w.dir.write(ctx, lines(paths), "checkout-index", "--force", "--quiet", "-z", "--stdin")
}

// Attr gives, for the paths that have it set, the value of an attribute, by
// the .gitattributes files in the index.
func (x Index) Attr(ctx context.Context, name string, paths []string) (map[string]string, error) {
	set := map[string]string{}
	if len(paths) == 0 {
		return set, nil
	}
	out, err := x.dir.feed(ctx, lines(paths), "check-attr", "--cached", "-z", "--stdin", name)
	if err != nil {
		return nil, err
	}
	parts := fields(out)
	for i := 0; i+2 < len(parts); i += 3 {
		if v := parts[i+2]; v != "unspecified" && v != "unset" {
			set[parts[i]] = v
		}
	}
	return set, nil
}

// Staged lists what differs from a tree to the index.
func (x Index) Staged(ctx context.Context, tree agency.OID) ([]Change, error) {
	if err := checkOID(tree); err != nil {
		return nil, err
	}
	out, err := x.dir.run(ctx, "diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none", string(tree))
	if err != nil {
		return nil, err
	}
	return changesOf(fields(out))
}

// TreeWith is a tree with some of its files replaced. The index file is used
// and removed; two calls at a time need two of them.
func (x Index) TreeWith(ctx context.Context, tree agency.OID, index string, entries []Entry) (agency.OID, error) {
	x.dir = x.dir.WithWorkTree("", index)
	defer func() { _ = os.Remove(index) }()
	if err := x.ReadTree(ctx, tree); err != nil {
		return "", err
	}
	if err := x.SetEntries(ctx, entries); err != nil {
		return "", err
	}
	return x.WriteTree(ctx)
}
