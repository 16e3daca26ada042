package land

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/git"
)

// A person's `git switch` reads the ref that it goes to, takes the lock of its
// index, writes files and index for as long as that takes, and then writes HEAD.
// A ref that moves meanwhile, which nothing seems to have checked out, would leave
// a checkout whose files and index are of another commit than its HEAD: a staged
// reversal. So nobody's git may be in the middle of one while a ref moves.
const (
	// writesHEAD is how long a git may take from its index to its HEAD.
	writesHEAD = 300 * time.Millisecond
	// takesLock is how long one may take from reading a ref to its lock.
	takesLock = 100 * time.Millisecond
)

// otherCheckouts are the checkouts of the user beside the one that moves with the ref.
func otherCheckouts(ctx context.Context, user git.Dir, in intent) (out []*checkout, err error) {
	trees, err := user.Refs().Worktrees(ctx)
	for _, w := range trees {
		if w.Gone || w.Bare || in.Checkout != nil && in.Checkout.Repo.WorkTree == w.Path {
			continue
		}
		if loc, found := git.Find(w.Path); found == nil { // else it was removed since the list was made
			out = append(out, &checkout{Repo: loc})
		}
	}
	return out, err
}

// lockOthers takes the locks of all other indexes of the user, once none was written a
// moment ago: its HEAD must be written by then, too. release gives them back.
func (u checkouts) lockOthers(ctx context.Context, in intent) (release func() error, err error) {
	for try := 0; ; try++ {
		all, err := otherCheckouts(ctx, u.run.User(), in)
		if err != nil {
			return nil, err
		}
		settle(ctx, all)
		if release, err = lockAll(ctx, all, in.Step); err != nil {
			return nil, err
		}
		if fresh(all) <= 0 {
			return release, nil
		}
		if try == lockTries { // somebody whose git never rests waits for us
			settle(ctx, all)
			return release, nil
		}
		if err := release(); err != nil {
			return nil, err
		}
	}
}

// fresh is how long it takes until a git that has just written one of these
// indexes has written its HEAD.
func fresh(all []*checkout) (left time.Duration) {
	for _, c := range all {
		if info, err := os.Stat(c.index()); err == nil {
			left = max(left, writesHEAD-time.Since(info.ModTime()))
		}
	}
	return min(left, writesHEAD) // a clock that was set back
}

// settle waits for that long.
func settle(ctx context.Context, all []*checkout) {
	if left := fresh(all); left > 0 {
		pause(ctx, left)
	}
}

func lockAll(ctx context.Context, all []*checkout, step agency.StepKey) (release func() error, err error) {
	release = func() error {
		var errs []error
		for _, c := range all {
			errs = append(errs, unlockIndex(c, step))
		}
		return errors.Join(errs...)
	}
	for _, c := range all {
		if err := lockIndex(ctx, c, step); err != nil && !errors.As(err, new(*changedMeanwhile)) { // else its worktree was removed meanwhile
			return nil, errors.Join(err, release())
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// freeOthers gives back the locks of a merge whose host was killed.
func freeOthers(ctx context.Context, user git.Dir, in intent) error {
	all, err := otherCheckouts(ctx, user, in)
	for _, c := range all {
		err = errors.Join(err, unlockIndex(c, in.Step))
	}
	return err
}

// switching tells whether somebody's git may be in the middle of a switch in one
// of the user's worktrees; it waits where one may be about to write its HEAD.
func switching(ctx context.Context, user git.Dir) (bool, error) {
	all, err := otherCheckouts(ctx, user, intent{})
	settle(ctx, all)
	for _, c := range all {
		if _, locked := os.Lstat(c.lock()); locked == nil {
			return true, err
		}
	}
	return false, err
}

// withOthersLocked moves a ref while no git of the user is at work on an index, and brings
// along what was switched to it in that moment all the same.
func (m *merge) withOthersLocked(ctx context.Context, in intent, swap func() error) (err error) {
	release, err := m.lockOthers(ctx, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	m.o.reached("merge.still")
	loc, err := m.checkedOut(ctx)
	switch {
	case err != nil:
		return err
	case (loc == nil) != (in.Checkout == nil):
		return &changedMeanwhile{m.spec.Target + " was switched to or left"}
	}
	if err := swap(); err != nil {
		return err
	}
	pause(context.WithoutCancel(ctx), takesLock)
	return m.follow(ctx, in)
}

// sameMoment is how far apart the two locks of one command of git may be.
const sameMoment = 2 * time.Second

// freeRef removes the locks that a git which was killed while it moved the ref
// of an intent left behind. The ref's own lock holds what the ref was to become:
// a commit that only this intent has made, so that nobody else can have written
// it. The lock of HEAD that goes with it is empty; it is ours where HEAD names
// the ref and the lock is of the same moment. Any other lock is left alone and
// named by whoever meets it. No git of ours may be alive.
func freeRef(commonDir string, in intent) error {
	ref := filepath.Join(commonDir, filepath.FromSlash(in.Ref))
	at, ours := time.Time{}, false
	if b, info := small(ref + ".lock"); info != nil && strings.TrimSpace(b) == string(in.New) {
		at, ours = info.ModTime(), true
	} else if b, info := small(ref); info != nil && strings.TrimSpace(b) == string(in.New) {
		at = info.ModTime() // moved, and its lock with it
	}
	if at.IsZero() {
		return nil
	}
	if in.Checkout != nil {
		head := filepath.Join(in.Checkout.Repo.GitDir, "HEAD")
		name, _ := small(head)
		b, info := small(head + ".lock")
		if info != nil && b == "" && strings.TrimSpace(name) == "ref: "+in.Ref && info.ModTime().Sub(at).Abs() <= sameMoment {
			if err := remove(head + ".lock"); err != nil {
				return err
			}
		}
	}
	if !ours {
		return nil
	}
	return remove(ref + ".lock")
}

// small is what a short plain file holds; info is nil where there is none.
func small(path string) (text string, info fs.FileInfo) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", nil
	}
	return string(b), info
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return git.Disk(err)
	}
	return nil
}

// token is what our lock holds: it tells our lock from one of the user's git.
func token(step agency.StepKey) []byte { return []byte("agency " + string(step) + "\n") }

const (
	lockTries = 20
	lockPause = 100 * time.Millisecond
)

// lockIndex takes the index's lock in one step with the token in it, as git
// would wait for a short command of the user.
func lockIndex(ctx context.Context, c *checkout, step agency.StepKey) error {
	if _, err := os.Lstat(c.Repo.GitDir); err != nil { // a linked worktree may go, and must not come back as a folder with a lock
		return &changedMeanwhile{"worktree " + c.Repo.WorkTree + " is gone"}
	}
	tmp := c.newIndex() + ".lock"
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
	if err := os.Remove(c.newIndex()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return git.Disk(err)
	}
	if !isLockOf(c, step) {
		return nil
	}
	return git.Disk(os.Remove(c.lock()))
}
