package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"agency/internal/agency"
)

// Change is one path that differs between two trees. Renames are a removal
// and an addition.
type Change struct {
	Path     string
	Status   byte // 'A', 'M', 'D' or 'T' (another type)
	Old, New Entry
}

// Changes lists what differs from tree a to tree b. Either may be a commit.
func (d Dir) Changes(ctx context.Context, a, b agency.OID) ([]Change, error) {
	if err := checkOID(a, b); err != nil {
		return nil, err
	}
	out, err := d.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", "--no-abbrev", string(a), string(b))
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

// Changed lists what a commit of one parent changed.
func (d Dir) Changed(ctx context.Context, commit agency.OID) ([]Change, error) {
	if err := checkOID(commit); err != nil {
		return nil, err
	}
	out, err := d.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-commit-id", "--no-renames", "--full-index", "--no-abbrev", string(commit))
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

// FilesOf names the files of changes by what became of them.
func FilesOf(changes []Change) (f agency.Files) {
	for _, c := range changes {
		switch c.Status {
		case 'A':
			f.Created = append(f.Created, c.Path)
		case 'D':
			f.Deleted = append(f.Deleted, c.Path)
		default:
			f.Modified = append(f.Modified, c.Path)
		}
	}
	return f
}

// Staged lists what differs from a tree to the index.
func (d Dir) Staged(ctx context.Context, tree agency.OID) ([]Change, error) {
	if err := checkOID(tree); err != nil {
		return nil, err
	}
	out, err := d.run(ctx, "diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none", string(tree))
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

// Landed is a commit with what it changed against its parent.
type Landed struct {
	Commit, Tree agency.OID
	Changes      []Change
}

// LogChanges lists the commits that head reaches and not does not, newest
// first, each with what it changed. Merges are left out.
func (d Dir) LogChanges(ctx context.Context, head, not agency.OID) ([]Landed, error) {
	if err := checkOID(head, not); err != nil {
		return nil, err
	}
	out, err := d.run(ctx, "log", "-z", "--raw", "--no-merges", "--no-renames", "--full-index", "--no-abbrev", "--no-show-signature",
		"--no-color", "--no-notes", "--format=%x01%H%T", string(head), "^"+string(not), "--")
	if err != nil {
		return nil, err
	}
	var all []Landed
	parts := fields(out)
	for i := 0; i < len(parts); {
		ids, ok := strings.CutPrefix(parts[i], "\x01")
		if !ok {
			return nil, agency.Errorf(agency.KindInternal, "git log wrote %q for a commit", parts[i])
		}
		l := Landed{Commit: agency.OID(ids[:len(ids)/2]), Tree: agency.OID(ids[len(ids)/2:])}
		from := i + 1
		for i = from; i < len(parts) && !strings.HasPrefix(parts[i], "\x01"); i += 2 { // a path stands behind each change
			parts[i] = strings.TrimPrefix(parts[i], "\n")
		}
		if l.Changes, err = changesOf(parts[from:min(i, len(parts))]); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func parseRaw(out []byte) ([]Change, error) { return changesOf(fields(out)) }

func changesOf(parts []string) ([]Change, error) {
	changes := make([]Change, 0, len(parts)/2)
	for i := 0; i+1 < len(parts); i += 2 {
		c := Change{Path: parts[i+1]}
		var status string
		n, err := fmt.Sscanf(parts[i], ":%o %o %s %s %s", &c.Old.Mode, &c.New.Mode, &c.Old.ID, &c.New.ID, &status)
		if n != 5 || status == "" {
			return nil, agency.Errorf(agency.KindInternal, "git wrote the change %q: %w", parts[i], err)
		}
		c.Status = status[0]
		c.Old.Path, c.New.Path = c.Path, c.Path
		c.Old.clear()
		c.New.clear()
		changes = append(changes, c)
	}
	return changes, nil
}

// clear makes an absent side the zero Entry but for its path.
func (e *Entry) clear() {
	if e.Mode == 0 {
		e.ID = ""
	}
}

// PatchOptions shape a patch.
type PatchOptions struct {
	Paths   []string // only these; empty: all
	Context int      // lines of context; 0: three
	Renames bool     // show renames as such
	Text    bool     // show every file as text, binary ones too
}

// Patch is the unified diff from tree a to tree b, without external drivers
// and without colour: its first most bytes, to the end of a line, and whether
// there are more.
func (d Dir) Patch(ctx context.Context, a, b agency.OID, most int64, opts PatchOptions) (patch []byte, cut bool, err error) {
	if err := checkOID(a, b); err != nil {
		return nil, false, err
	}
	patch, err = d.host.run(ctx, command{dir: &d, args: opts.args(a, b), most: most})
	if IsTooLong(err) {
		return patch[:bytes.LastIndexByte(patch, '\n')+1], true, nil
	}
	return patch, false, err
}

// PatchTo writes the whole diff to w, however long it is. An error of w ends
// it.
func (d Dir) PatchTo(ctx context.Context, a, b agency.OID, opts PatchOptions, w io.Writer) error {
	if err := checkOID(a, b); err != nil {
		return err
	}
	return d.stream(ctx, w, opts.args(a, b)...)
}

func (opts PatchOptions) args(a, b agency.OID) []string {
	args := []string{"diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"}
	if opts.Context > 0 {
		args = append(args, "-U"+strconv.Itoa(opts.Context))
	}
	if opts.Renames {
		args = append(args, "-M")
	} else {
		args = append(args, "--no-renames")
	}
	if opts.Text {
		args = append(args, "--text")
	}
	args = append(args, string(a), string(b), "--")
	return append(args, opts.Paths...)
}

// Stat counts the changed lines of a file.
type Stat struct {
	Path           string
	Added, Deleted int
	Binary         bool
}

// Stats counts the lines that differ from tree a to tree b.
func (d Dir) Stats(ctx context.Context, a, b agency.OID) ([]Stat, error) {
	if err := checkOID(a, b); err != nil {
		return nil, err
	}
	out, err := d.run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", string(a), string(b))
	if err != nil {
		return nil, err
	}
	var stats []Stat
	for _, rec := range fields(out) {
		parts := strings.SplitN(rec, "\t", 3)
		if len(parts) != 3 {
			return nil, agency.Errorf(agency.KindInternal, "git diff-tree --numstat wrote %q", rec)
		}
		s := Stat{Path: parts[2], Binary: parts[0] == "-"}
		if !s.Binary {
			if s.Added, err = strconv.Atoi(parts[0]); err == nil {
				s.Deleted, err = strconv.Atoi(parts[1])
			}
			if err != nil {
				return nil, err
			}
		}
		stats = append(stats, s)
	}
	return stats, nil
}

// Worktree is a checkout of a repository, as `git worktree list` has it.
type Worktree struct {
	Path   string
	Branch string // full ref name; empty on a detached head
	Bare   bool
	Gone   bool // prunable: its folder is not there
}

// Worktrees lists the checkouts of a user's repository.
func (d Dir) Worktrees(ctx context.Context) ([]Worktree, error) {
	out, err := d.run(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var trees []Worktree
	for _, line := range strings.Split(string(out), "\x00") {
		key, value, _ := strings.Cut(line, " ")
		if key == "worktree" {
			trees = append(trees, Worktree{Path: value})
			continue
		}
		if len(trees) == 0 {
			continue
		}
		t := &trees[len(trees)-1]
		switch key {
		case "branch":
			t.Branch = value
		case "bare":
			t.Bare = true
		case "prunable":
			t.Gone = true
		}
	}
	return trees, nil
}
