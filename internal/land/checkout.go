package land

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/store"
	"agency/internal/workspace"
)

// checkout is what of a merge into a checked-out branch must be known to
// finish or to undo it: part of the intent row.
type checkout struct {
	Repo git.Location `json:"repo"`
	// From is the tree that the files are carried from: the target's, with the
	// local edits that equal either side taken as given. Empty: no file has
	// been touched.
	From agency.OID `json:"from,omitempty"`
	Tree agency.OID `json:"tree"`
	// Before and After are hashes of the index file; After is set when the new
	// index is complete.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

func (c *checkout) index() string { return c.Repo.Index() }

func (c *checkout) lock() string { return c.Repo.Index() + ".lock" }

// newIndex is the new index, beside the one that it is to replace, so that a
// rename is enough.
func (c *checkout) newIndex() string { return filepath.Join(c.Repo.GitDir, "index.agency") }

// hashFile is "" for a file that does not exist.
func hashFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", git.Disk(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// underWay is the file that says that a worktree is in the middle of a merge
// or the like, "" where it is not.
func underWay(gitDir string) string {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG"} {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); err == nil {
			return filepath.Join(gitDir, name)
		}
	}
	return ""
}

// rebasing is the folder of a rebase in any worktree that sets the branch at its
// end: it is what is rebased, with HEAD detached meanwhile, or moves along
// (--update-refs).
func rebasing(commonDir, ref string) string {
	dirs := []string{commonDir}
	if entries, err := os.ReadDir(filepath.Join(commonDir, "worktrees")); err == nil {
		for _, e := range entries {
			dirs = append(dirs, filepath.Join(commonDir, "worktrees", e.Name()))
		}
	}
	for _, dir := range dirs {
		for _, kind := range []string{"rebase-merge", "rebase-apply"} {
			b, err := os.ReadFile(filepath.Join(dir, kind, "head-name"))
			if err == nil && strings.TrimSpace(string(b)) == ref {
				return filepath.Join(dir, kind)
			}
			b, err = os.ReadFile(filepath.Join(dir, kind, "update-refs"))
			if err == nil && slices.Contains(strings.Split(string(b), "\n"), ref) {
				return filepath.Join(dir, kind)
			}
		}
	}
	return ""
}

// checkouts are the worktrees of the user that a move of a ref concerns: their
// files and indexes are carried with it, or put back.
type checkouts struct {
	o   Options
	run *workspace.Run
}

// mirrorOf is the git directory that stands in for the worktree's own.
func mirrorOf(ctx context.Context, run *workspace.Run, repo git.Location) (git.Dir, func(), error) {
	settings, err := run.SettingsAt(ctx, repo)
	if err != nil {
		return git.Dir{}, nil, err
	}
	folder := filepath.Join(run.Folder(), "target")
	return workspace.Mirror(run.Dir().Program(), run.Dir(), repo, settings, folder)
}

// unfinished is a merge that stopped where it could neither go on nor put all of
// it back: its intent stays, and the next call, or the next host, finishes it.
type unfinished struct{ error }

func (h *unfinished) Unwrap() error { return h.error }

func stopped(in intent, err error) error {
	return &unfinished{agency.Errorf(agency.KindTransient, "the merge into %s stopped halfway and is finished by the next try: %w", strings.TrimPrefix(in.Ref, "refs/heads/"), err).
		WithMend("%s", cmp.Or(agency.MendOf(err), "agency resume "+string(in.Run)))}
}

// intoCheckout moves a target that is checked out: lock, look again, carry the files,
// complete a copy of the index, swap the ref, put the copy in place. Any error
// before the swap puts everything back.
func (m *merge) intoCheckout(ctx context.Context, in intent) error {
	c := in.Checkout
	m.o.reached("merge.lock.before")
	if err := lockIndex(ctx, c, in.Step); err != nil {
		return err
	}
	m.o.reached("merge.lock")
	err := m.unchanged(ctx, in)
	if err == nil {
		err = m.carried(ctx, &in)
	}
	if err == nil {
		err = m.swap(ctx, m.user(c.Repo), in)
	}
	if err == nil {
		return m.settle(ctx, in)
	}
	// The caller's context may be what ended it; putting back must not end.
	if back := undo(context.WithoutCancel(ctx), m.run, in); back != nil {
		return stopped(in, errors.Join(err, back))
	}
	return err
}

func (u checkouts) carried(ctx context.Context, in *intent) error {
	d, done, err := mirrorOf(ctx, u.run, in.Checkout.Repo)
	if err != nil {
		return err
	}
	defer done()
	return u.carry(ctx, d, in)
}

// user is the user's repository as one of its worktrees has it.
func (u checkouts) user(at git.Location) git.Dir {
	return u.run.Dir().Program().At(at).WithConfig(u.run.Info().Settings.Neutral...)
}

// unchanged looks again under the lock at what the merge was begun for: between
// the look and the lock a person may have switched branches, committed, added a
// worktree, or begun a merge or a rebase.
func (m *merge) unchanged(ctx context.Context, in intent) error {
	at, err := m.run.User().Refs().Get(ctx, in.Ref)
	if err != nil {
		return err
	}
	if at != in.Old {
		return &git.Moved{Ref: in.Ref, Want: in.Old, Got: at}
	}
	loc, err := m.checkedOut(ctx)
	switch {
	case err != nil:
		return err
	case loc == nil:
		return &changedMeanwhile{m.spec.Target + " was left in " + in.Checkout.Repo.WorkTree}
	case *loc != in.Checkout.Repo:
		return &changedMeanwhile{m.spec.Target + " went to another worktree"}
	}
	return nil
}

// settle ends a merge whose ref has moved. A branch made at the old commit takes
// HEAD away without the lock of the index (git switch -c): then files and index
// are as that branch has them, and go back.
func (u checkouts) settle(ctx context.Context, in intent) error {
	ctx = context.WithoutCancel(ctx)
	head, err := u.user(in.Checkout.Repo).Refs().Head(ctx)
	switch {
	case err != nil:
	case head.Ref == in.Ref || head.Commit == in.New:
		err = u.o.install(in.Checkout)
	default:
		err = undo(ctx, u.run, in)
	}
	if err != nil {
		return stopped(in, err)
	}
	return nil
}

// carry brings the files from the target's tree to the merge and completes the
// new index.
func (u checkouts) carry(ctx context.Context, d git.Dir, in *intent) error {
	c := in.Checkout
	var err error
	if c.Before, err = hashFile(c.index()); err != nil {
		return err
	}
	if c.From, err = u.prepare(ctx, d, *in); err != nil {
		c.From = ""
		return err
	}
	if err := u.save(ctx, *in); err != nil {
		return err
	}
	u.o.reached("merge.files.before")
	if err := d.Files().Advance(ctx, c.From, c.Tree); err != nil {
		return overlapOr(err)
	}
	u.o.reached("merge.files.after")
	if err := c.renew(d); err != nil {
		return err
	}
	if c.After, err = hashFile(c.newIndex()); err != nil {
		return err
	}
	if err := u.save(ctx, *in); err != nil {
		return err
	}
	u.o.reached("merge.index")
	return nil
}

// install puts the new index in place: over the lock, so that nobody else can
// take it meanwhile, and then over the index.
func (o Options) install(c *checkout) error {
	if err := os.Rename(c.newIndex(), c.lock()); err != nil {
		return git.Disk(err)
	}
	o.reached("merge.lock.renamed")
	if err := os.Rename(c.lock(), c.index()); err != nil {
		return git.Disk(err)
	}
	o.reached("merge.index.renamed")
	return nil
}

func modeOf(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// renew makes the new index, on disk, from that of the mirror.
func (c *checkout) renew(mirror git.Dir) error {
	data, err := os.ReadFile(mirror.IndexFile)
	if err != nil {
		return git.Disk(err)
	}
	mode := modeOf(c.index())
	f, err := os.OpenFile(c.newIndex(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return git.Disk(err)
	}
	_, err = f.Write(data)
	return git.Disk(errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()))
}

// follow looks once more when a ref has moved. A checkout of it that a person
// made in the moment of the move, by a switch, a new worktree or a new branch,
// has files and index of another commit than its HEAD says, which git would show
// as a staged reversal: it is brought along. Where local edits are in the way
// the ref goes back instead, and the refusal says so.
func (u checkouts) follow(ctx context.Context, in intent) error {
	ctx = context.WithoutCancel(ctx)
	err := u.updateCheckouts(ctx, in)
	if err == nil {
		return nil
	}
	if !errors.As(err, new(*refusalError)) {
		return stopped(in, err)
	}
	if in.Checkout != nil { // the checkout that moved with the ref stays where it is
		text := "a second checkout of " + strings.TrimPrefix(in.Ref, "refs/heads/") + " could not be brought along: " + err.Error()
		return u.o.write(ctx, func(tx *store.Tx) error {
			return appendEvent(tx, agency.NewEvent(in.Run, agency.SeverityWarning, text, agency.Log{Text: text}), "")
		})
	}
	back := u.run.User().Refs().Update(ctx, in.Ref, in.Old, in.New, "agency: back, a checkout could not follow", identity(u.run))
	if back == nil {
		in.Old, in.New = in.New, in.Old
		back = u.updateCheckouts(ctx, in) // what was brought along before
	}
	if back != nil {
		return stopped(in, errors.Join(err, back))
	}
	return err
}

// updateCheckouts does so for each checkout that the move concerns: those of the ref,
// and the one that moved with it, wherever its HEAD is by now.
func (u checkouts) updateCheckouts(ctx context.Context, in intent) error {
	trees, err := u.run.User().Refs().Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range trees {
		if w.Gone || w.Bare {
			continue
		}
		mine := in.Checkout != nil && in.Checkout.Repo.WorkTree == w.Path
		if mine == (w.Branch == in.Ref) {
			continue // of another branch, or in place already
		}
		loc, err := git.Find(w.Path)
		if err != nil {
			continue //nolint:nilerr // it was removed since the list was made
		}
		if err := u.updateCheckout(ctx, loc, in); err != nil {
			return err
		}
	}
	return nil
}

// updateCheckout carries one checkout to the side of the move that its HEAD has, where
// its index has the other one. Anything between the two is the person's own.
func (u checkouts) updateCheckout(ctx context.Context, at git.Location, in intent) error {
	from, to, err := u.behind(ctx, at, in)
	if err != nil || from == "" {
		return err
	}
	tree, err := u.run.Dir().Refs().ResolveTree(ctx, to)
	if err != nil {
		return err
	}
	c := &checkout{Repo: at, Tree: tree}
	if err := lockIndex(ctx, c, in.Step); err != nil {
		return err
	}
	u.o.reached("merge.follow")
	err = func() error {
		if from, _, err = u.behind(ctx, at, in); err != nil || from == "" {
			return err
		}
		d, done, err := mirrorOf(ctx, u.run, at)
		if err != nil {
			return err
		}
		defer done()
		if c.From, err = u.prepare(ctx, d, intent{Old: from, Checkout: c}); err != nil {
			return err
		}
		if err := d.Files().Advance(ctx, c.From, c.Tree); err != nil {
			return overlapOr(err)
		}
		if err := c.renew(d); err != nil {
			return err
		}
		return u.o.install(c)
	}()
	return errors.Join(err, unlockIndex(c, in.Step))
}

// behind tells from which commit of a move to which a checkout is to be carried:
// "" where its HEAD and its index are of the same side, or of neither.
func (u checkouts) behind(ctx context.Context, at git.Location, in intent) (from, to agency.OID, err error) {
	head, err := u.user(at).Refs().Head(ctx)
	if err != nil {
		return "", "", err
	}
	switch head.Commit {
	case in.New:
		from, to = in.Old, in.New
	case in.Old:
		from, to = in.New, in.Old
	default:
		return "", "", nil
	}
	changes, err := u.run.Dir().Diff().Changes(ctx, from, to)
	if err != nil || len(changes) == 0 {
		return "", "", err
	}
	entries, err := u.entries(ctx, at)
	if err != nil {
		return "", "", err
	}
	for _, change := range changes {
		if !same(entries[change.Path], change.Old) {
			return "", "", nil
		}
	}
	return from, to, nil
}

// entries are those of a worktree's index.
func (u checkouts) entries(ctx context.Context, at git.Location) (map[string]git.Entry, error) {
	d, done, err := mirrorOf(ctx, u.run, at)
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := d.Index().Entries(ctx)
	out := make(map[string]git.Entry, len(list))
	for _, e := range list {
		if e.Stage == 0 {
			out[e.Path] = e
		}
	}
	return out, err
}
