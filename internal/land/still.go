package land

import (
	"context"
	"errors"
	"os"
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

// others are the checkouts of the user beside the one that moves with the ref.
func others(ctx context.Context, user git.Dir, in intent) (out []*checkout, err error) {
	trees, err := user.Worktrees(ctx)
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

// still takes the locks of all other indexes of the user, once none was written a
// moment ago: its HEAD must be written by then, too. release gives them back.
func (m *merge) still(ctx context.Context, in intent) (release func() error, err error) {
	for try := 0; ; try++ {
		all, err := others(ctx, m.run.User(), in)
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
		if err := lockIndex(ctx, c, step); err != nil && !errors.As(err, new(*shifted)) { // else its worktree was removed meanwhile
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
	all, err := others(ctx, user, in)
	for _, c := range all {
		err = errors.Join(err, unlockIndex(c, in.Step))
	}
	return err
}

// switching tells whether somebody's git may be in the middle of a switch in one
// of the user's worktrees; it waits where one may be about to write its HEAD.
func switching(ctx context.Context, user git.Dir) (bool, error) {
	all, err := others(ctx, user, intent{})
	settle(ctx, all)
	for _, c := range all {
		if _, locked := os.Lstat(c.lock()); locked == nil {
			return true, err
		}
	}
	return false, err
}

// inStill moves a ref while no git of the user is at work on an index, and brings
// along what was switched to it in that moment all the same.
func (m *merge) inStill(ctx context.Context, in intent, swap func() error) (err error) {
	release, err := m.still(ctx, in)
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
		return &shifted{m.spec.Target + " was switched to or left"}
	}
	if err := swap(); err != nil {
		return err
	}
	pause(ctx, takesLock)
	return m.follow(ctx, in)
}
