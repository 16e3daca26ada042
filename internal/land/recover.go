package land

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/git"
	"agency/internal/store"
	"agency/internal/workspace"
)

// Recover finishes or undoes every merge that a process which is gone, or a run that was
// cancelled, had begun: of one run that is not at work, or of all where none is named. A lock of
// the user's git in the way is an error with the mending step; the call may be repeated.
func (t *Target) Recover(ctx context.Context, id agency.RunID) error {
	var open []intent
	if err := t.o.DB.Read(ctx, func(s *store.Snapshot) (err error) {
		open, err = openMerges(s, id)
		return err
	}); err != nil {
		return err
	}
	for _, in := range open {
		if err := t.recoverOne(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// recoverOne lets no other merge into the same branch go on beside it.
func (t *Target) recoverOne(ctx context.Context, in intent) error {
	defer t.locks.lock(strings.TrimPrefix(in.Ref, "refs/heads/"))()
	run, err := t.o.Runs.Run(ctx, in.Run)
	if err != nil {
		return err
	}
	return t.reconcile(ctx, run, in)
}

// UnderWay tells whether a run's merge into the user's branch was begun, and neither finished
// nor undone: what became of the run is not known before.
func UnderWay(q store.Querier, id agency.RunID) (bool, error) {
	open, err := openMerges(q, id)
	return len(open) > 0, err
}

// reconcile looks at the ref to learn which half of a merge has happened.
func (t *Target) reconcile(ctx context.Context, run *workspace.Run, in intent) error {
	if err := errors.Join(freeRef(run.Info().Repo.CommonDir, in), freeOthers(ctx, run.User(), in)); err != nil {
		return err
	}
	at, err := run.User().Refs().Get(ctx, in.Ref)
	if err != nil {
		return err
	}
	moved := at == in.New
	if !moved && at != "" && at != in.Old {
		if moved, err = run.Dir().Commits().IsAncestor(ctx, in.New, at); err != nil {
			return err
		}
	}
	if !moved {
		if in.Checkout != nil {
			if err := undo(ctx, run, in); err != nil {
				return err
			}
		}
		return t.o.forget(ctx, in.Step)
	}
	if in.Checkout != nil {
		if err := t.finish(ctx, run, in, at == in.New); err != nil {
			return err
		}
	}
	if at == in.New {
		if err := (checkouts{o: t.o, run: run}).follow(ctx, in); errors.As(err, new(*refusalError)) {
			return t.o.forget(ctx, in.Step) // it has gone back
		} else if err != nil {
			return err
		}
	}
	return t.o.write(ctx, func(tx *store.Tx) error {
		first, err := closeIntent(tx, in)
		if err != nil || !first {
			return err
		}
		return recordMerge(tx, in.Run, in.Ref, in.New)
	})
}

// finish puts the new index in place where the ref has moved already. exact is
// false where somebody has gone on from there: then the index is theirs.
func (t *Target) finish(ctx context.Context, run *workspace.Run, in intent, exact bool) error {
	c := in.Checkout
	index, err := hashFile(c.index())
	if err != nil {
		return err
	}
	lock, err := hashFile(c.lock())
	if err != nil {
		return err
	}
	switch {
	case index == c.After || !exact:
		return unlockIndex(c, in.Step)
	case lock == c.After: // killed between the two renames
		return git.Disk(os.Rename(c.lock(), c.index()))
	}
	head, err := run.Dir().Program().At(c.Repo).Refs().Head(ctx)
	if err != nil {
		return err
	}
	if head.Ref != in.Ref && head.Commit != in.New { // another branch was begun under the lock
		if index != c.Before {
			return unlockIndex(c, in.Step) // and worked on
		}
		return undo(ctx, run, in)
	}
	if err := lockIndex(ctx, c, in.Step); err != nil {
		return err
	}
	fresh, err := hashFile(c.newIndex())
	if err != nil {
		return err
	}
	if index == c.Before && fresh == c.After {
		return t.o.install(c)
	}
	return errors.Join(t.rebuild(ctx, run, in), unlockIndex(c, in.Step))
}

// rebuild makes the new index from the user's present one, which is another
// than the merge began with: its lock was removed by hand meanwhile.
func (t *Target) rebuild(ctx context.Context, run *workspace.Run, in intent) error {
	c := in.Checkout
	d, done, err := mirrorOf(ctx, run, c.Repo)
	if err != nil {
		return err
	}
	defer done()
	if err := d.Index().Advance(ctx, c.From, c.Tree); err != nil {
		return agency.Errorf(agency.KindConflict, "%s was merged, but the index of %s has changed since: %w", in.Ref, c.Repo.WorkTree, err).
			WithMend("git -C %s reset (keeps all files)", c.Repo.WorkTree)
	}
	if err := d.Index().Refresh(ctx); err != nil {
		return err
	}
	if err := c.renew(d); err != nil {
		return err
	}
	return t.o.install(c)
}

// undo puts the files back that a merge had carried on before its ref moved,
// and gives the lock back. A file that is neither the old one nor what the
// merge wrote is the user's since, and stays.
func undo(ctx context.Context, run *workspace.Run, in intent) error {
	c := in.Checkout
	if c.From == "" { // no file was touched
		return unlockIndex(c, in.Step)
	}
	if err := lockIndex(ctx, c, in.Step); err != nil {
		return err
	}
	d, done, err := mirrorOf(ctx, run, c.Repo)
	if err != nil {
		return err
	}
	defer done()
	changes, err := d.Diff().Changes(ctx, c.From, c.Tree)
	if err != nil {
		return err
	}
	d = d.WithWorkTree(c.Repo.WorkTree, d.IndexFile+".undo")
	defer func() { _ = os.Remove(d.IndexFile) }()
	if err := d.Index().ReadTree(ctx, c.From); err != nil {
		return err
	}
	var write []string
	for _, change := range changes {
		ours, err := writtenByUs(ctx, d, change)
		if err != nil {
			return err
		}
		switch {
		case !ours:
		case change.Old.Mode == 0:
			if err := removeFile(c.Repo.WorkTree, change.Path); err != nil {
				return err
			}
		default:
			write = append(write, change.Path)
		}
	}
	if err := d.Files().CheckoutPaths(ctx, write); err != nil {
		return err
	}
	return unlockIndex(c, in.Step)
}

// writtenByUs tells whether a file is what the merge made of it, whole or cut
// short.
func writtenByUs(ctx context.Context, d git.Dir, change git.Change) (bool, error) {
	if change.Old.Mode == git.ModeGitlink || change.New.Mode == git.ModeGitlink {
		return false, nil // folders of submodules are left alone
	}
	have, err := d.Files().Hash(ctx, change.Path)
	if err != nil {
		return false, err
	}
	switch {
	case same(have, change.Old):
		return false, nil
	case have.Mode == 0: // removed, or removed to be written anew
		return change.Old.Mode != 0, nil
	case have.ID == change.New.ID:
		return true, nil
	case change.New.Mode == 0 || have.Mode == git.ModeSymlink:
		return false, nil
	}
	got, err := bounded.OpenAt(filepath.Join(d.WorkTree, filepath.FromSlash(change.Path)))
	if err != nil {
		return false, nil // it is not there as a file
	}
	defer func() { _ = got.Close() }() // only read
	half := &beginning{of: bufio.NewReader(got)}
	if err := d.Objects().SmudgedTo(ctx, change.New.ID, change.Path, half); err != nil && !errors.Is(err, errOther) {
		return false, err
	}
	_, err = half.of.ReadByte()
	return !half.other && err != nil, nil // all of it was there
}

var errOther = errors.New("another content")

// beginning compares a file of any size with the content that is written to it:
// other, unless the file holds what the content begins with.
type beginning struct {
	of    *bufio.Reader
	ended bool
	other bool
}

func (b *beginning) Write(p []byte) (int, error) {
	if b.ended {
		return len(p), nil
	}
	have := make([]byte, len(p))
	n, err := io.ReadFull(b.of, have)
	b.ended = err != nil
	if b.other = !bytes.Equal(have[:n], p[:n]); b.other {
		return 0, errOther
	}
	return len(p), nil
}

// removeFile removes a file that a merge had added, and the folders that were
// made for it.
func removeFile(workTree, p string) error {
	root, err := os.OpenRoot(workTree)
	if err != nil {
		return git.Disk(err)
	}
	defer func() { _ = root.Close() }()
	if err := root.Remove(filepath.FromSlash(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return git.Disk(err)
	}
	for dir := path.Dir(p); dir != "." && !strings.HasPrefix(dir, ".."); dir = path.Dir(dir) {
		if root.Remove(filepath.FromSlash(dir)) != nil {
			break // not empty
		}
	}
	return nil
}
