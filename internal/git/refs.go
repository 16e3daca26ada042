package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/regexp"
	"agency/internal/text"
)

// Refs reads and moves branches and other refs, and tells where HEAD and the
// worktrees stand.
type Refs struct{ dir Dir }

// Head is what HEAD of a worktree says.
type Head struct {
	// Ref is the full name of the branch; empty on a detached head.
	Ref string
	// Commit is empty where the branch has no commit yet.
	Commit agency.OID
}

// Detached tells whether HEAD names a commit instead of a branch.
func (h Head) Detached() bool { return h.Ref == "" }

// Unborn tells whether the branch has no commit yet.
func (h Head) Unborn() bool { return h.Commit == "" }

// Head reads HEAD of the directory.
func (r Refs) Head(ctx context.Context) (Head, error) {
	if h, known := r.looseHead(r.dir.GitDir); known {
		return h, nil
	}
	var h Head
	out, err := r.dir.run(ctx, "symbolic-ref", "--quiet", "HEAD")
	switch f := (*Failure)(nil); {
	case err == nil:
		h.Ref = strings.TrimSpace(string(out))
	case !errors.As(err, &f) || f.Status != 1:
		return h, err
	}
	h.Commit, err = r.resolve(ctx, "HEAD^{commit}")
	if agency.KindOf(err) == agency.KindNotFound && h.Ref != "" {
		return h, nil
	}
	return h, err
}

// ResolveTree is the tree of a commit, or of a tree itself.
func (r Refs) ResolveTree(ctx context.Context, id agency.OID) (agency.OID, error) {
	if err := checkOID(id); err != nil {
		return "", err
	}
	tree, err := r.dir.answered("tree", id, func() (string, error) {
		tree, err := r.resolve(ctx, string(id)+"^{tree}")
		return string(tree), err
	})
	return agency.OID(tree), err
}

func (r Refs) resolve(ctx context.Context, rev string) (agency.OID, error) {
	out, err := r.dir.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev)
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 || err == nil && len(out) == 0 {
		return "", agency.Errorf(agency.KindNotFound, "%s does not exist in this repository", strings.TrimSuffix(rev, "^{commit}"))
	}
	if err != nil {
		return "", err
	}
	// Some versions echo --end-of-options before the id.
	parts := strings.Fields(string(out))
	return parseOID([]byte(parts[len(parts)-1]))
}

// Type is the type of an object: commit, tree, blob or tag.
func (o Objects) Type(ctx context.Context, id agency.OID) (string, error) {
	if err := checkOID(id); err != nil {
		return "", err
	}
	kind, err := o.dir.answered("type", id, func() (string, error) {
		out, err := o.dir.run(ctx, "cat-file", "-t", string(id))
		return strings.TrimSpace(string(out)), err
	})
	if f := (*Failure)(nil); errors.As(err, &f) {
		return "", agency.Errorf(agency.KindNotFound, "object %s: %w", id, err)
	}
	return kind, err
}

var badRef = regexp.MustCompile(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|[./]$`)

// CheckRef refuses what is not a full ref name as git-check-ref-format(1) has
// it. Only full names are used, so that no tag or remote can stand in for a
// branch.
func CheckRef(ref string) error {
	if !strings.HasPrefix(ref, "refs/") || badRef.MatchString(ref) {
		return agency.Errorf(agency.KindInvalid, "%q is not a full ref name", ref)
	}
	return nil
}

// Get is the object that a full ref name points to, "" where it does not
// exist.
func (r Refs) Get(ctx context.Context, ref string) (agency.OID, error) {
	if err := CheckRef(ref); err != nil {
		return "", err
	}
	if id, known := r.loose(ref); known {
		return id, nil
	}
	out, err := r.dir.run(ctx, "show-ref", "--verify", "--quiet", "--hash", "--", ref)
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if len(out) > 0 {
		return parseOID(out)
	}
	out, err = r.dir.run(ctx, "show-ref", "--verify", "--hash", "--", ref) // --quiet prints nothing
	if err != nil {
		return "", err
	}
	return parseOID(out)
}

// loose reads a branch, or a ref of ours, from its own file, as git keeps those that have
// moved lately. Not known: it is packed, names another ref, or is kept in another way, and git
// must be asked. Who packs refs writes the pack first.
func (r Refs) loose(ref string) (id agency.OID, known bool) {
	if !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/agency/") {
		return "", false // of some others each worktree has its own
	}
	at := cmp.Or(r.dir.common, r.dir.GitDir)
	said, err := bounded.ReadAt(filepath.Join(at, filepath.FromSlash(ref)), 128)
	if err == nil {
		id, err = parseOID(said)
		return id, err == nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	for _, name := range []string{"packed-refs", "reftable"} {
		if _, err := os.Lstat(filepath.Join(at, name)); !errors.Is(err, fs.ErrNotExist) {
			return "", false
		}
	}
	_, err = os.Stat(filepath.Join(at, "refs")) // else there is no repository
	return "", err == nil
}

// Below lists full ref names below a prefix such as "refs/heads/agency" with
// what they point to. The ref that is the prefix itself is included.
func (r Refs) Below(ctx context.Context, prefix string) (map[string]agency.OID, error) {
	if err := CheckRef(prefix + "/x"); err != nil {
		return nil, err
	}
	out, err := r.dir.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		return nil, err
	}
	refs := map[string]agency.OID{}
	for line := range strings.Lines(string(out)) {
		id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok {
			refs[name] = agency.OID(id)
		}
	}
	return refs, nil
}

// looseHead reads the HEAD of a git directory, and the branch that it names, from their own
// files. Not known: it is detached, or what it names is not to be read so (loose).
func (r Refs) looseHead(gitDir string) (h Head, known bool) {
	said, err := bounded.ReadAt(filepath.Join(gitDir, "HEAD"), 4096)
	ref, symbolic := strings.CutPrefix(strings.TrimSuffix(string(said), "\n"), "ref: ")
	if err != nil || !symbolic || CheckRef(ref) != nil {
		return h, false
	}
	id, known := r.loose(ref)
	return Head{Ref: ref, Commit: id}, known && id != ""
}

// Update moves a ref from old to new in one compare-and-swap. An empty old
// means that the ref must not exist, an empty new deletes it. Where it is
// elsewhere the error is *Moved, where another ref's name is in the way it is
// *Blocked, where new is not in the repository (any more) *Vanished. Reason
// stands in the reflog, by is who moved it.
func (r Refs) Update(ctx context.Context, ref string, new, old agency.OID, reason string, by Identity) error {
	if err := CheckRef(ref); err != nil {
		return err
	}
	for _, id := range []agency.OID{new, old} {
		if err := checkOID(id); id != "" && err != nil {
			return err
		}
	}
	zero := strings.Repeat("0", max(len(new), len(old)))
	if new == "" {
		new = agency.OID(zero)
	}
	if old == "" {
		old = agency.OID(zero)
	}
	_, err := r.dir.program.run(ctx, command{
		dir: &r.dir, env: by.env(r.dir.program.opts.Now()),
		config: []string{"core.fsync=committed,loose-object,reference", "core.fsyncMethod=fsync"},
		args:   []string{"update-ref", "--no-deref", "-m", text.OneLine(reason, 1000), "--end-of-options", ref, string(new), string(old)},
	})
	if f := (*Failure)(nil); err == nil || !errors.As(err, &f) {
		return err
	}
	return r.whyNotMoved(ctx, ref, string(new), string(old), zero, err)
}

// whyNotMoved asks the repository, not the message, why a swap was refused.
func (r Refs) whyNotMoved(ctx context.Context, ref, new, old, zero string, cause error) error {
	if old == zero {
		old = ""
	}
	got, err := r.Get(ctx, ref)
	if err != nil {
		return errors.Join(cause, err)
	}
	if got != agency.OID(old) {
		return &Moved{Ref: ref, Want: agency.OID(old), Got: got}
	}
	if by, err := r.blocker(ctx, ref); err != nil || by != "" {
		return errors.Join(err, &Blocked{Ref: ref, By: by})
	}
	if _, err := r.dir.Objects().Type(ctx, agency.OID(new)); new != zero && agency.KindOf(err) == agency.KindNotFound {
		return &Vanished{ID: agency.OID(new)}
	}
	return cause
}

// Blocker is the existing ref, if any, whose name is a folder of ref or has
// ref for a folder, so that ref cannot be created.
func (r Refs) Blocker(ctx context.Context, ref string) (string, error) {
	if err := CheckRef(ref); err != nil {
		return "", err
	}
	return r.blocker(ctx, ref)
}

func (r Refs) blocker(ctx context.Context, ref string) (string, error) {
	parts := strings.Split(ref, "/")
	for i := 3; i < len(parts); i++ { // refs/heads/X at the shortest
		above := strings.Join(parts[:i], "/")
		if id, err := r.Get(ctx, above); err != nil || id != "" {
			return above, err
		}
	}
	below, err := r.Below(ctx, ref)
	for name := range below {
		if name != ref {
			return name, err
		}
	}
	return "", err
}

// Worktree is a checkout of a repository, as `git worktree list` has it.
type Worktree struct {
	Path   string
	Branch string // full ref name; empty on a detached head
	Bare   bool
	Gone   bool // prunable: its folder is not there
}

// Worktrees lists the checkouts of a user's repository.
func (r Refs) Worktrees(ctx context.Context) ([]Worktree, error) {
	if only, known := r.onlyWorktree(); known {
		return []Worktree{only}, nil
	}
	out, err := r.dir.run(ctx, "worktree", "list", "--porcelain", "-z")
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

// onlyWorktree is the checkout of a repository that has no other, which is the usual case, and
// is asked about at each step of a landing. Not known: git must be asked.
func (r Refs) onlyWorktree() (only Worktree, known bool) {
	d := r.dir
	if !d.user || d.GitDir != d.common || d.common != filepath.Join(d.WorkTree, ".git") {
		return only, false
	}
	if _, err := os.Lstat(filepath.Join(d.common, "worktrees")); !errors.Is(err, fs.ErrNotExist) {
		return only, false
	}
	if _, err := os.Lstat(filepath.Join(d.GitDir, "index")); err != nil {
		return only, false // it may be bare
	}
	h, known := r.looseHead(d.GitDir)
	return Worktree{Path: d.WorkTree, Branch: h.Ref}, known
}
