package land

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/git"
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
func (c *checkout) lock() string  { return c.Repo.Index() + ".lock" }

// fresh is the new index, beside the one that it is to replace, so that a
// rename is enough.
func (c *checkout) fresh() string { return filepath.Join(c.Repo.GitDir, "index.agency") }

// token is what our lock holds: it tells our lock from one of the user's git.
func token(step agency.StepKey) []byte { return []byte("agency " + string(step) + "\n") }

const (
	lockTries = 20
	lockPause = 100 * time.Millisecond
)

// lockIndex takes the index's lock in one step with the token in it, as git
// would wait for a short command of the user.
func lockIndex(ctx context.Context, c *checkout, step agency.StepKey) error {
	tmp := c.fresh() + ".lock"
	if err := git.WriteFile(tmp, token(step)); err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }()
	for try := 0; ; try++ {
		err := os.Link(tmp, c.lock())
		if errors.Is(err, fs.ErrExist) {
			if isLockOf(c, step) {
				return nil
			}
			if try < lockTries && pause(ctx, lockPause) {
				continue
			}
			return &git.Locked{Path: c.lock(), Err: err}
		}
		if err != nil {
			return plainLock(c, step)
		}
		return nil
	}
}

// plainLock is for file systems without hard links.
func plainLock(c *checkout, step agency.StepKey) error {
	f, err := os.OpenFile(c.lock(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &git.Locked{Path: c.lock(), Err: err}
	}
	if err != nil {
		return git.Disk(err)
	}
	_, err = f.Write(token(step))
	return git.Disk(errors.Join(err, f.Close()))
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func isLockOf(c *checkout, step agency.StepKey) bool {
	info, err := os.Lstat(c.lock())
	if err != nil || info.Size() != int64(len(token(step))) {
		return false
	}
	b, err := os.ReadFile(c.lock())
	return err == nil && string(b) == string(token(step))
}

// unlockIndex gives the lock back, if it is ours, and drops the new index.
func unlockIndex(c *checkout, step agency.StepKey) error {
	if err := os.Remove(c.fresh()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return git.Disk(err)
	}
	if !isLockOf(c, step) {
		return nil
	}
	return git.Disk(os.Remove(c.lock()))
}

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
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); err == nil {
			return filepath.Join(gitDir, name)
		}
	}
	return ""
}

// rebasing is the folder of a rebase of the branch in any worktree: HEAD is
// detached meanwhile, and the end of the rebase sets the branch.
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
		}
	}
	return ""
}

// mirrorOf is the git directory that stands in for the worktree's own.
func mirrorOf(ctx context.Context, run *workspace.Run, repo git.Location) (git.Dir, func(), error) {
	settings, err := run.SettingsAt(ctx, repo)
	if err != nil {
		return git.Dir{}, nil, err
	}
	folder := filepath.Join(run.Folder(), "target")
	return workspace.Mirror(run.Dir().Host(), run.Dir(), repo, settings, folder)
}

// intoCheckout is the procedure of DESIGN 8: lock, carry the files, complete a
// copy of the index, swap the ref, put the copy in place. Any error before the
// swap puts everything back.
func (m *merge) intoCheckout(ctx context.Context, in intent) error {
	c := in.Checkout
	if err := lockIndex(ctx, c, in.Step); err != nil {
		return err
	}
	m.o.reached("merge.lock")
	d, done, err := mirrorOf(ctx, m.run, c.Repo)
	if err == nil {
		defer done()
		err = m.carry(ctx, d, &in)
	}
	if err == nil {
		err = m.swap(ctx, m.run.Dir().Host().At(c.Repo).WithConfig(m.run.Info().Settings.Neutral...), in)
	}
	if err != nil {
		// The caller's context may be what ended it; putting back must not end.
		return errors.Join(err, undo(context.WithoutCancel(ctx), m.run, in))
	}
	return m.o.install(c)
}

// carry brings the files from the target's tree to the merge and completes the
// new index.
func (m *merge) carry(ctx context.Context, d git.Dir, in *intent) error {
	c := in.Checkout
	var err error
	if c.Before, err = hashFile(c.index()); err != nil {
		return err
	}
	if c.From, err = m.prepare(ctx, d, *in); err != nil {
		c.From = ""
		return err
	}
	if err := m.save(ctx, *in); err != nil {
		return err
	}
	m.o.reached("merge.files.before")
	if err := d.Advance(ctx, c.From, c.Tree); err != nil {
		return overlapOr(err)
	}
	m.o.reached("merge.files.after")
	b, err := os.ReadFile(d.Index)
	if err != nil {
		return git.Disk(err)
	}
	if err := writeSynced(c.fresh(), b, modeOf(c.index())); err != nil {
		return err
	}
	if c.After, err = hashFile(c.fresh()); err != nil {
		return err
	}
	if err := m.save(ctx, *in); err != nil {
		return err
	}
	m.o.reached("merge.index")
	return nil
}

// install puts the new index in place: over the lock, so that nobody else can
// take it meanwhile, and then over the index.
func (o Options) install(c *checkout) error {
	if err := os.Rename(c.fresh(), c.lock()); err != nil {
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

func writeSynced(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return git.Disk(err)
	}
	_, err = f.Write(data)
	return git.Disk(errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()))
}
