package git

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"agency/internal/agency"
)

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
func (d Dir) Head(ctx context.Context) (Head, error) {
	var h Head
	out, err := d.run(ctx, "symbolic-ref", "--quiet", "HEAD")
	switch f := (*Failure)(nil); {
	case err == nil:
		h.Ref = strings.TrimSpace(string(out))
	case !errors.As(err, &f) || f.Status != 1:
		return h, err
	}
	h.Commit, err = d.resolve(ctx, "HEAD^{commit}")
	if agency.KindOf(err) == agency.KindNotFound && h.Ref != "" {
		return h, nil
	}
	return h, err
}

// ResolveCommit finds the commit that a person has named: a branch, a tag, an
// id or anything else of gitrevisions(7). KindNotFound where there is none.
func (d Dir) ResolveCommit(ctx context.Context, rev string) (agency.OID, error) {
	if rev == "" || strings.HasPrefix(rev, "-") || strings.ContainsAny(rev, "\x00\n") {
		return "", agency.Errorf(agency.KindInvalid, "%q names no commit", rev)
	}
	return d.resolve(ctx, rev+"^{commit}")
}

// ResolveTree is the tree of a commit, or of a tree itself.
func (d Dir) ResolveTree(ctx context.Context, id agency.OID) (agency.OID, error) {
	if err := checkOID(id); err != nil {
		return "", err
	}
	return d.resolve(ctx, string(id)+"^{tree}")
}

func (d Dir) resolve(ctx context.Context, rev string) (agency.OID, error) {
	out, err := d.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev)
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
func (d Dir) Type(ctx context.Context, id agency.OID) (string, error) {
	if err := checkOID(id); err != nil {
		return "", err
	}
	out, err := d.run(ctx, "cat-file", "-t", string(id))
	if f := (*Failure)(nil); errors.As(err, &f) {
		return "", agency.Errorf(agency.KindNotFound, "object %s: %w", id, err)
	}
	return strings.TrimSpace(string(out)), err
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

// Ref is the object that a full ref name points to, "" where it does not
// exist.
func (d Dir) Ref(ctx context.Context, ref string) (agency.OID, error) {
	if err := CheckRef(ref); err != nil {
		return "", err
	}
	out, err := d.run(ctx, "show-ref", "--verify", "--quiet", "--hash", "--", ref)
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if len(out) > 0 {
		return parseOID(out)
	}
	out, err = d.run(ctx, "show-ref", "--verify", "--hash", "--", ref) // --quiet prints nothing
	if err != nil {
		return "", err
	}
	return parseOID(out)
}

// Refs lists full ref names below a prefix such as "refs/heads/agency" with
// what they point to. The ref that is the prefix itself is included.
func (d Dir) Refs(ctx context.Context, prefix string) (map[string]agency.OID, error) {
	if err := CheckRef(prefix + "/x"); err != nil {
		return nil, err
	}
	out, err := d.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
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

// UpdateRef moves a ref from old to new in one compare-and-swap. An empty old
// means that the ref must not exist, an empty new deletes it. Where it is
// elsewhere the error is *Moved, where another ref's name is in the way it is
// *Blocked, where new is not in the repository (any more) *Vanished. Reason
// stands in the reflog, by is who moved it.
func (d Dir) UpdateRef(ctx context.Context, ref string, new, old agency.OID, reason string, by Identity) error {
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
	_, err := d.host.run(ctx, command{
		dir: &d, env: by.env(d.host.opts.Now()),
		config: []string{"core.fsync=committed,loose-object,reference", "core.fsyncMethod=fsync"},
		args:   []string{"update-ref", "--no-deref", "-m", oneLine(reason), "--end-of-options", ref, string(new), string(old)},
	})
	if f := (*Failure)(nil); err == nil || !errors.As(err, &f) {
		return err
	}
	return d.whyNotMoved(ctx, ref, string(new), string(old), zero, err)
}

// whyNotMoved asks the repository, not the message, why a swap was refused.
func (d Dir) whyNotMoved(ctx context.Context, ref, new, old, zero string, cause error) error {
	if old == zero {
		old = ""
	}
	got, err := d.Ref(ctx, ref)
	if err != nil {
		return errors.Join(cause, err)
	}
	if got != agency.OID(old) {
		return &Moved{Ref: ref, Want: agency.OID(old), Got: got}
	}
	if by, err := d.blocker(ctx, ref); err != nil || by != "" {
		return errors.Join(err, &Blocked{Ref: ref, By: by})
	}
	if _, err := d.Type(ctx, agency.OID(new)); new != zero && agency.KindOf(err) == agency.KindNotFound {
		return &Vanished{ID: agency.OID(new)}
	}
	return cause
}

// Blocker is the existing ref, if any, whose name is a folder of ref or has
// ref for a folder, so that ref cannot be created.
func (d Dir) Blocker(ctx context.Context, ref string) (string, error) {
	if err := CheckRef(ref); err != nil {
		return "", err
	}
	return d.blocker(ctx, ref)
}

func (d Dir) blocker(ctx context.Context, ref string) (string, error) {
	parts := strings.Split(ref, "/")
	for i := 3; i < len(parts); i++ { // refs/heads/X at the shortest
		above := strings.Join(parts[:i], "/")
		if id, err := d.Ref(ctx, above); err != nil || id != "" {
			return above, err
		}
	}
	below, err := d.Refs(ctx, ref)
	for name := range below {
		if name != ref {
			return name, err
		}
	}
	return "", err
}

// oneLine keeps a text from outside in one line of a reflog.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
}
