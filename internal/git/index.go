package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agency/internal/agency"
)

// ReadTree fills the index from a tree and touches no file.
func (d Dir) ReadTree(ctx context.Context, tree agency.OID) error {
	if err := checkOID(tree); err != nil {
		return err
	}
	_, err := d.run(ctx, "read-tree", string(tree))
	return err
}

// ReadTreeKeep fills the index from a tree, keeping what it knows about files
// whose content is the same. It touches no file.
func (d Dir) ReadTreeKeep(ctx context.Context, tree agency.OID) error {
	if err := checkOID(tree); err != nil {
		return err
	}
	_, err := d.run(ctx, "read-tree", "--reset", string(tree))
	return err
}

// Checkout makes index and work tree equal to a tree. Files that the index
// knows and the tree lacks are removed, all others stay.
func (d Dir) Checkout(ctx context.Context, tree agency.OID) error {
	if err := checkOID(tree); err != nil {
		return err
	}
	_, err := d.WithConfig("checkout.workers=0").run(ctx, "read-tree", "--reset", "-u", string(tree))
	return err
}

// Advance carries index and work tree from one tree to another, as a fast-
// forward does: files that differ from the old tree and from the new one make
// it fail as a whole, with nothing touched (git-read-tree(1), two-tree merge).
func (d Dir) Advance(ctx context.Context, from, to agency.OID) error {
	if err := checkOID(from, to); err != nil {
		return err
	}
	_, err := d.run(ctx, "read-tree", "-m", "-u", string(from), string(to))
	return err
}

// AdvanceIndex is Advance without touching files.
func (d Dir) AdvanceIndex(ctx context.Context, from, to agency.OID) error {
	if err := checkOID(from, to); err != nil {
		return err
	}
	_, err := d.run(ctx, "read-tree", "-m", "-i", string(from), string(to))
	return err
}

// WriteTree writes the index as a tree.
func (d Dir) WriteTree(ctx context.Context) (agency.OID, error) {
	out, err := d.run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	return parseOID(out)
}

// Added is what AddAll did: the paths whose entry was written and those whose
// entry was removed. Exact is false where a path holds a line break, so that
// the lists cannot be trusted.
type Added struct {
	Paths, Removed []string
	Exact          bool
}

// AddAll brings the index up to the work tree, obeying the ignore files that
// lie in the work tree.
func (d Dir) AddAll(ctx context.Context) (Added, error) {
	out, err := d.run(ctx, "add", "--all", "--verbose")
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
func (d Dir) AddPaths(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := d.feed(ctx, lines(paths), "update-index", "--add", "--remove", "-z", "--stdin")
	return err
}

// Untracked lists the files that the index does not know, obeying only the
// ignore rules in the file excludes, which are anchored at the work tree, and
// no ignore file of the work tree. A folder that is a repository of its own is
// listed with a slash at its end.
func (d Dir) Untracked(ctx context.Context, excludes string) ([]string, error) {
	out, err := d.run(ctx, "ls-files", "-z", "--others", "--exclude-from="+excludes)
	return fields(out), err
}

// UntrackedStandard lists the files that the index does not know, obeying the
// ignore files of the work tree: for the user's own checkout, whose rules count.
func (d Dir) UntrackedStandard(ctx context.Context) ([]string, error) {
	out, err := d.run(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	return fields(out), err
}

// TrackedIgnored lists the files of the index that the rules in the file
// excludes match.
func (d Dir) TrackedIgnored(ctx context.Context, excludes string) ([]string, error) {
	out, err := d.run(ctx, "ls-files", "-z", "--cached", "--ignored", "--exclude-from="+excludes)
	return fields(out), err
}

// Differing lists the files of the work tree that differ from the index or
// are gone.
func (d Dir) Differing(ctx context.Context) ([]string, error) {
	out, err := d.run(ctx, "diff-files", "-z", "--name-only", "--ignore-submodules=all")
	return fields(out), err
}

// Refresh looks again at the files whose times differ from the index.
func (d Dir) Refresh(ctx context.Context) error {
	_, err := d.run(ctx, "update-index", "-q", "--refresh")
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return nil // some differ; Differing names them
	}
	return err
}

// Entry is a file of an index or a tree.
type Entry struct {
	Mode  uint32 // as git writes it: 0o100644, 0o100755, 0o120000, 0o160000
	ID    agency.OID
	Stage int // other than 0: unmerged
	Path  string
}

// Modes of entries.
const (
	ModeFile    = 0o100644
	ModeExec    = 0o100755
	ModeSymlink = 0o120000
	ModeGitlink = 0o160000
	ModeTree    = 0o040000
)

// Files lists the paths of the index.
func (d Dir) Files(ctx context.Context) ([]string, error) {
	out, err := d.run(ctx, "ls-files", "-z")
	return fields(out), err
}

// Entries lists the index.
func (d Dir) Entries(ctx context.Context) ([]Entry, error) {
	out, err := d.run(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, rec := range fields(out) {
		meta, path, _ := strings.Cut(rec, "\t")
		mode, rest, _ := strings.Cut(meta, " ")
		id, stage, _ := strings.Cut(rest, " ")
		m, modeErr := strconv.ParseUint(mode, 8, 32)
		n, stageErr := strconv.Atoi(stage)
		if modeErr != nil || stageErr != nil || path == "" {
			return nil, agency.Errorf(agency.KindInternal, "ls-files wrote %q", rec)
		}
		entries = append(entries, Entry{Mode: uint32(m), ID: agency.OID(id), Stage: n, Path: path})
	}
	return entries, nil
}

// SetEntries puts entries into the index as they are; Mode 0 removes one.
func (d Dir) SetEntries(ctx context.Context, entries []Entry) error {
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
		if _, err := d.feed(ctx, lines(drop), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return err
		}
	}
	if set.Len() == 0 {
		return nil
	}
	_, err := d.feed(ctx, &set, "update-index", "-z", "--index-info")
	return err
}

// SkipWorktree marks paths so that commands never look at them on disk.
func (d Dir) SkipWorktree(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := d.feed(ctx, lines(paths), "update-index", "--skip-worktree", "-z", "--stdin")
	return err
}

// HashFile is mode and id that a file of the work tree would have in the
// index, with line endings converted as the directory's settings say. The
// zero Entry means that there is no file.
func (d Dir) HashFile(ctx context.Context, path string) (Entry, error) {
	full := filepath.Join(d.WorkTree, filepath.FromSlash(path))
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
		out, err = d.feed(ctx, strings.NewReader(target), "hash-object", "--stdin")
		if err != nil {
			return Entry{}, err
		}
	case !info.Mode().IsRegular():
		return Entry{Mode: 1, Path: path}, nil // a socket or pipe: equal to nothing
	default:
		if info.Mode()&0o100 != 0 {
			e.Mode = ModeExec
		}
		out, err = d.run(ctx, "hash-object", "--", path)
		if err != nil {
			return Entry{}, err
		}
	}
	e.ID, err = parseOID(out)
	return e, err
}

// CheckoutPaths writes the index's version of these files into the work tree,
// over what is there.
func (d Dir) CheckoutPaths(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := d.feed(ctx, lines(paths), "checkout-index", "--force", "--quiet", "-z", "--stdin")
	return err
}

// Attr gives, for the paths that have it set, the value of an attribute, by
// the .gitattributes files in the index.
func (d Dir) Attr(ctx context.Context, name string, paths []string) (map[string]string, error) {
	set := map[string]string{}
	if len(paths) == 0 {
		return set, nil
	}
	out, err := d.feed(ctx, lines(paths), "check-attr", "--cached", "-z", "--stdin", name)
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
