package workshop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/verify"
	"agency/internal/workspace"
)

func (s *Shop) record(ctx context.Context, id agency.RunID) (run agency.Run, err error) {
	err = s.o.DB.Read(ctx, func(q *store.Snapshot) error {
		run, err = registry.Run(q, id)
		return err
	})
	return run, err
}

// contracts are those that a run has already.
func (s *Shop) contracts(ctx context.Context, id agency.RunID) (all []agency.Contract, err error) {
	err = s.o.DB.Read(ctx, func(q *store.Snapshot) error {
		all, err = registry.Contracts(q, id)
		return err
	})
	return all, err
}

// Recover clears what a killed host left on disk: halves of merges, checkouts
// that nobody works in, folders of runs that never began.
func (s *Shop) Recover(ctx context.Context, runs []agency.Run) error {
	var errs []error
	if err := s.follow(ctx, runs); err != nil {
		errs = append(errs, fmt.Errorf("the repository's new path: %w", err))
	}
	if s.o.Recover != nil {
		if err := s.o.Recover(ctx); err != nil {
			errs = append(errs, fmt.Errorf("a merge that was begun: %w", err))
		}
	}
	keep := make([]agency.RunID, 0, len(runs))
	for _, run := range runs {
		keep = append(keep, run.ID)
		if run.State.Final() {
			continue
		}
		if err := errors.Join(s.unlockBranch(ctx, run), s.sweep(ctx, run.ID), check.SweepInstalled(installDir(s.o.StateDir, run.ID))); err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", run.ID, err))
		}
	}
	orphans, err := workspace.Orphans(s.o.StateDir, keep)
	errs = append(errs, err)
	for _, dir := range orphans {
		errs = append(errs, RemoveTree(dir))
	}
	errs = append(errs, check.Sweep(s.layers(), time.Now()))
	return errors.Join(errs...)
}

// follow points runs to their repository's new path where its folder was moved
// since, or to another worktree where their own is gone.
func (s *Shop) follow(ctx context.Context, runs []agency.Run) error {
	if s.o.Repo.CommonDir == "" {
		return nil
	}
	moved := map[agency.RunID]git.Location{}
	err := s.o.DB.Read(ctx, func(q *store.Snapshot) error {
		for _, run := range runs {
			home, away, err := workspace.Home(q, run.ID, s.o.Repo)
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
		s.o.Log.Info("a run goes on at another path", "run", id, "path", home.WorkTree)
		err := s.spaces.MoveTo(ctx, id, home, func(tx *store.Tx) error { return registry.SetRepo(tx, id, home.WorkTree) })
		if err != nil {
			return fmt.Errorf("run %s: %w", id, err)
		}
	}
	return nil
}

// unlockBranch removes the lock that a git which died with its host left on
// the run's own branch. Nobody else moves that branch, and git's processes of
// the earlier host are gone with it; locks of other branches are not touched.
func (s *Shop) unlockBranch(ctx context.Context, run agency.Run) error {
	loc, err := s.locate(ctx, run)
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
func (s *Shop) sweep(ctx context.Context, id agency.RunID) error {
	run, err := s.spaces.Run(ctx, id)
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
func (s *Shop) Remove(ctx context.Context, run agency.Run) error {
	if err := s.removeBranch(ctx, run); err != nil {
		return err
	}
	s.forget(run.ID)
	return s.spaces.Forget(ctx, run.ID)
}

func (s *Shop) locate(ctx context.Context, run agency.Run) (loc git.Location, err error) {
	err = s.o.DB.Read(ctx, func(q *store.Snapshot) error {
		loc, err = workspace.Locate(q, run, s.o.Repo)
		return err
	})
	return loc, err
}

func (s *Shop) removeBranch(ctx context.Context, run agency.Run) error {
	loc, err := s.locate(ctx, run)
	if err != nil {
		if _, serr := os.Stat(run.Repo); errors.Is(serr, os.ErrNotExist) {
			return nil // the repository is gone, and so is what could be mended here
		}
		return err
	}
	user := s.o.Git.At(loc)
	ref := "refs/heads/" + run.Branch
	at, err := user.Ref(ctx, ref)
	if err != nil || at == "" {
		return err
	}
	if err := checkedOut(ctx, user, run, ref); err != nil {
		return err
	}
	settings, err := s.o.Git.ReadSettings(ctx, loc)
	if err != nil {
		return err
	}
	if err := user.UpdateRef(ctx, ref, "", at, "agency rm "+string(run.ID), settings.Identity); err != nil {
		return err
	}
	// Somebody may have switched to it in that moment, to a branch without commits.
	if err := checkedOut(ctx, user, run, ref); err != nil {
		return errors.Join(err, user.UpdateRef(ctx, ref, at, "", "agency rm: it is checked out", settings.Identity))
	}
	return nil
}

// checkedOut refuses a branch that a worktree is on.
func checkedOut(ctx context.Context, user git.Dir, run agency.Run, ref string) error {
	trees, err := user.Worktrees(ctx)
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
func (s *Shop) Forget(tx *store.Tx, id agency.RunID) error {
	for _, forget := range []func(*store.Tx, agency.RunID) error{session.Forget, verify.Forget, check.Forget, land.DeleteRun} {
		if err := forget(tx, id); err != nil {
			return err
		}
	}
	return nil
}

// RemoveTree deletes a folder, also where folders in it were made read-only.
func RemoveTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error { // the removal below is what counts
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
