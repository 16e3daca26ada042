package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agency/internal/agency"
)

// Diff compares trees and commits, and searches them. What it shows of a change is
// compared in an empty directory over the same objects.
type Diff struct{ dir Dir }

// Change is one path that differs between two trees. Renames are a removal
// and an addition.
type Change struct {
	Path     string
	Status   byte // 'A', 'M', 'D' or 'T' (another type)
	Old, New Entry
}

// Changes lists what differs from tree a to tree b. Either may be a commit.
func (f Diff) Changes(ctx context.Context, a, b agency.OID) ([]Change, error) {
	if err := checkOID(a, b); err != nil {
		return nil, err
	}
	return f.changes(ctx, string(a), string(b))
}

// Changed lists what a commit of one parent changed.
func (f Diff) Changed(ctx context.Context, commit agency.OID) ([]Change, error) {
	if err := checkOID(commit); err != nil {
		return nil, err
	}
	return f.changes(ctx, "--no-commit-id", string(commit))
}

func (f Diff) changes(ctx context.Context, args ...string) ([]Change, error) {
	args = append([]string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", "--no-abbrev"}, args...)
	out, err := f.dir.program.run(ctx, command{dir: &f.dir, args: args, settled: true})
	if err != nil {
		return nil, err
	}
	return changesOf(fields(out))
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

// CommitChanges is a commit with what it changed against its parent; a merge changes
// nothing that its parents have not.
type CommitChanges struct {
	Commit, Tree agency.OID
	Changes      []Change
}

// LogChanges lists the commits that head reaches and not does not, newest
// first, each with what it changed.
func (f Diff) LogChanges(ctx context.Context, head, not agency.OID) ([]CommitChanges, error) {
	if err := checkOID(head, not); err != nil {
		return nil, err
	}
	out, err := f.dir.run(ctx, "log", "-z", "--raw", "--diff-merges=off", "--no-renames", "--full-index", "--no-abbrev", "--no-show-signature",
		"--no-color", "--no-notes", "--format=%x01%H%T", string(head), "^"+string(not), "--")
	if err != nil {
		return nil, err
	}
	var all []CommitChanges
	parts := fields(out)
	for i := 0; i < len(parts); {
		ids, ok := strings.CutPrefix(parts[i], "\x01")
		if !ok {
			return nil, agency.Errorf(agency.KindInternal, "git log wrote %q for a commit", parts[i])
		}
		l := CommitChanges{Commit: agency.OID(ids[:len(ids)/2]), Tree: agency.OID(ids[len(ids)/2:])}
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

// changesOf reads changes in their raw form.
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
func (f Diff) Patch(ctx context.Context, a, b agency.OID, most int64, opts PatchOptions) (patch []byte, cut bool, err error) {
	if err := checkOID(a, b); err != nil {
		return nil, false, err
	}
	patch, err = f.dir.program.run(ctx, command{dir: &f.dir, args: opts.args(a, b), most: most, noAttributes: true, width: len(a), settled: true})
	if IsTooLong(err) {
		return patch[:bytes.LastIndexByte(patch, '\n')+1], true, nil
	}
	return patch, false, err
}

// PatchPath is the path that a line "+++ b/PATH" of a patch names: git puts quotes
// around one that holds quotes, backslashes or control characters, and a tab
// behind one with blanks. It is empty where the file is gone.
func PatchPath(line string) string {
	name := strings.TrimPrefix(line, "+++ ")
	if quoted, ok := strings.CutPrefix(name, `"`); ok {
		name, _ = unquoteC(strings.TrimSuffix(quoted, `"`)) // git writes no other
	} else {
		name = strings.TrimSuffix(name, "\t")
	}
	if p, ok := strings.CutPrefix(name, "b/"); ok {
		return p
	}
	return ""
}

// PatchTo writes the whole diff to w, however long it is. An error of w ends
// it.
func (f Diff) PatchTo(ctx context.Context, a, b agency.OID, opts PatchOptions, w io.Writer) error {
	if err := checkOID(a, b); err != nil {
		return err
	}
	return f.dir.streamed(ctx, w, command{args: opts.args(a, b), noAttributes: true, width: len(a), settled: true})
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
func (f Diff) Stats(ctx context.Context, a, b agency.OID) ([]Stat, error) {
	if err := checkOID(a, b); err != nil {
		return nil, err
	}
	out, err := f.dir.program.run(ctx, command{
		dir: &f.dir, noAttributes: true, width: len(a), settled: true,
		args: []string{"diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", string(a), string(b)},
	})
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

// Mentions are the files of a tree that hold one of the texts, as it stands.
// Binary files are passed over. A text that is empty or holds a line break, as
// the name of a file may, stands in no line.
func (f Diff) Mentions(ctx context.Context, tree agency.OID, texts ...string) ([]string, error) {
	if err := checkOID(tree); err != nil {
		return nil, err
	}
	args := []string{"grep", "-l", "-z", "-I", "-F", "--no-textconv"}
	few := len(args)
	for _, text := range texts {
		if text != "" && !strings.ContainsAny(text, "\n\x00") {
			args = append(args, "-e", text)
		}
	}
	if len(args) == few {
		return nil, nil
	}
	out, err := f.dir.program.run(ctx, command{dir: &f.dir, noAttributes: true, width: len(tree), args: append(args, string(tree), "--")})
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return nil, nil // it stands nowhere
	}
	if err != nil {
		return nil, err
	}
	files := fields(out)
	for i, f := range files { // each is TREE:PATH
		files[i] = strings.TrimPrefix(f, string(tree)+":")
	}
	return files, nil
}

// Touching are the paths whose difference from tree a to tree b has a line, in or
// out, that matches a basic regular expression. Binary files count as text.
func (f Diff) Touching(ctx context.Context, a, b agency.OID, form string) ([]string, error) {
	if err := checkOID(a, b); err != nil {
		return nil, err
	}
	return f.dir.paths(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--text", "-G"+form, string(a), string(b))
}

// withoutAttributes stands in for a directory where a change is shown or searched: it has
// the same objects and nothing else. Attributes say which files are compared as
// text, and how; whoever writes them, in a checkout, an index, a tree that is
// shown or the repository's own folder, would decide what a person gets to see,
// and so would the configuration. An empty directory for one command needs no
// option of git's that older ones lack (--attr-source), and none that forgets a
// place (it keeps info/attributes). Width is that of the ids, in letters.
func withoutAttributes(d *Dir, width int) (*Dir, func(), error) {
	objects := d.objects
	switch {
	case objects != "":
	case d.common != "":
		objects = filepath.Join(d.common, "objects")
	default:
		objects = filepath.Join(d.GitDir, "objects")
	}
	at, err := os.MkdirTemp("", "agency-plain-")
	if err != nil {
		return nil, nil, Disk(err)
	}
	done := func() { _ = os.RemoveAll(at) } // nobody else writes there; the host sweeps what stays
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if width == 64 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n"
	}
	err = errors.Join(os.Mkdir(filepath.Join(at, "refs"), 0o700), os.Mkdir(filepath.Join(at, "objects"), 0o700),
		os.WriteFile(filepath.Join(at, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
		os.WriteFile(filepath.Join(at, "config"), []byte(config), 0o600))
	if err != nil {
		done()
		return nil, nil, Disk(err)
	}
	return &Dir{program: d.program, GitDir: at, objects: objects}, done, nil
}
