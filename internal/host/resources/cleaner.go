package resources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/verdicts"
	"agency/internal/workspace"
)

// Cleaner clears what runs leave on disk and in the store.
type Cleaner struct {
	Runs *Runs
	// Merges finishes or undoes the merges that were begun, of a run or of all.
	Merges func(context.Context, agency.RunID) error
}

var _ host.Cleaner = (*Cleaner)(nil)

// Recover clears what a killed host left on disk: halves of merges, checkouts
// that nobody works in, folders of runs that never began.
func (c *Cleaner) Recover(ctx context.Context, runs []agency.Run) error {
	var errs []error
	if err := c.follow(ctx, runs); err != nil {
		errs = append(errs, fmt.Errorf("the repository's new path: %w", err))
	}
	if err := c.Merges(ctx, ""); err != nil {
		errs = append(errs, fmt.Errorf("a merge that was begun: %w", err))
	}
	keep := make([]agency.RunID, 0, len(runs))
	for _, run := range runs {
		keep = append(keep, run.ID)
		if run.State.Final() {
			continue
		}
		if err := errors.Join(c.unlockBranch(ctx, run), c.sweep(ctx, run.ID), check.SweepInstalled(installDir(c.Runs.o.StateDir, run.ID))); err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", run.ID, err))
		}
	}
	orphans, err := workspace.Orphans(c.Runs.o.StateDir, keep)
	errs = append(errs, err)
	for _, dir := range orphans {
		errs = append(errs, RemoveTree(dir))
	}
	errs = append(errs, check.Sweep(layersOf(c.Runs.o.StateDir), time.Now()))
	return errors.Join(errs...)
}

// Finish finishes or undoes the merge that a run which is not at work had begun.
func (c *Cleaner) Finish(ctx context.Context, id agency.RunID) error { return c.Merges(ctx, id) }

// follow points runs to their repository's new path where its folder was moved
// since, or to another worktree where their own is gone.
func (c *Cleaner) follow(ctx context.Context, runs []agency.Run) error {
	if c.Runs.o.Repo.CommonDir == "" {
		return nil
	}
	moved := map[agency.RunID]git.Location{}
	err := c.Runs.o.DB.Read(ctx, func(q *store.Snapshot) error {
		for _, run := range runs {
			home, away, err := workspace.Home(q, run.ID, c.Runs.o.Repo)
			switch {
			case agency.KindOf(err) == agency.KindNotFound:
			case err != nil:
				return err
			case away:
				moved[run.ID] = home
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, home := range moved {
		c.Runs.o.Log.Info("a run goes on at another path", "run", id, "path", home.WorkTree)
		err := c.Runs.spaces.MoveTo(ctx, id, home, func(tx *store.Tx) error { return registry.SetRepo(tx, id, home.WorkTree) })
		if err != nil {
			return fmt.Errorf("run %s: %w", id, err)
		}
	}
	return nil
}

// unlockBranch removes the lock that a git which died with its host left on
// the run's own branch. Nobody else moves that branch, and git's processes of
// the earlier host are gone with it; locks of other branches are not touched.
func (c *Cleaner) unlockBranch(ctx context.Context, run agency.Run) error {
	loc, err := c.locate(ctx, run)
	if err != nil {
		return nil //nolint:nilerr // the repository is gone, and its locks with it
	}
	refs, err := os.OpenRoot(filepath.Join(loc.CommonDir, "refs", "heads"))
	if err != nil {
		return nil //nolint:nilerr // refs are kept in another form
	}
	defer func() { _ = refs.Close() }() // nothing was written
	err = refs.Remove(filepath.FromSlash(run.Branch) + ".lock")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweep removes checkouts that are made anew each time they are needed.
func (c *Cleaner) sweep(ctx context.Context, id agency.RunID) error {
	run, err := c.Runs.spaces.Run(ctx, id)
	if agency.KindOf(err) == agency.KindNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	refs, err := run.List()
	if err != nil {
		return err
	}
	var keep []workspace.Ref
	for _, r := range refs {
		if r.Kind == workspace.Work {
			keep = append(keep, r)
		}
	}
	_, err = run.Sweep(ctx, keep)
	return err
}

// Remove deletes a run's branch and files. A branch that somebody has checked
// out stays, and is named.
func (c *Cleaner) Remove(ctx context.Context, run agency.Run) error {
	if err := c.removeBranch(ctx, run); err != nil {
		return err
	}
	c.Runs.release(run.ID)
	return c.Runs.spaces.Forget(ctx, run.ID)
}

func (c *Cleaner) locate(ctx context.Context, run agency.Run) (loc git.Location, err error) {
	err = c.Runs.o.DB.Read(ctx, func(q *store.Snapshot) error {
		loc, err = workspace.Locate(q, run, c.Runs.o.Repo)
		return err
	})
	return loc, err
}

func (c *Cleaner) removeBranch(ctx context.Context, run agency.Run) error {
	loc, err := c.locate(ctx, run)
	if err != nil {
		if _, serr := os.Stat(run.Repo); errors.Is(serr, os.ErrNotExist) {
			return nil // the repository is gone, and so is what could be mended here
		}
		return err
	}
	user := c.Runs.o.Git.At(loc)
	ref := "refs/heads/" + run.Branch
	at, err := user.Refs().Get(ctx, ref)
	if err != nil || at == "" {
		return err
	}
	if err := checkedOut(ctx, user, run, ref); err != nil {
		return err
	}
	settings, err := c.Runs.o.Git.ReadSettings(ctx, loc)
	if err != nil {
		return err
	}
	if err := user.Refs().Update(ctx, ref, "", at, "agency rm "+string(run.ID), settings.Identity); err != nil {
		return err
	}
	// Somebody may have switched to it in that moment, to a branch without commits.
	if err := checkedOut(ctx, user, run, ref); err != nil {
		return errors.Join(err, user.Refs().Update(ctx, ref, at, "", "agency rm: it is checked out", settings.Identity))
	}
	return nil
}

// checkedOut refuses a branch that a worktree is on.
func checkedOut(ctx context.Context, user git.Dir, run agency.Run, ref string) error {
	trees, err := user.Refs().Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, t := range trees {
		if t.Branch == ref {
			return agency.Errorf(agency.KindConflict, "the branch %s is checked out in %s", run.Branch, t.Path).
				WithMend("git -C %s switch %s", t.Path, run.Target)
		}
	}
	return nil
}

// Forget deletes the rows that the run's steps kept.
func (c *Cleaner) Forget(tx *store.Tx, id agency.RunID) error {
	for _, forget := range []func(*store.Tx, agency.RunID) error{record.Forget, verdicts.Forget, check.Forget, land.DeleteRun} {
		if err := forget(tx, id); err != nil {
			return err
		}
	}
	return nil
}

// RemoveTree deletes a folder, whatever a command left in it.
func RemoveTree(dir string) error { return git.Disk(beneath.Remove(dir)) }
