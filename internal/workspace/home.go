package workspace

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/store"
)

// Locate finds the user's repository of a run. Where the worktree in which it
// was started is gone, the repository that it belonged to still is where the
// run found it, or here, where somebody moved it: its branches and objects can
// be used, its files cannot.
func Locate(q store.Querier, run agency.Run, here git.Location) (git.Location, error) {
	loc, err := git.Find(run.Repo)
	if err == nil {
		return loc, nil
	}
	if info, lerr := readInfo(q, run.ID); lerr == nil {
		if _, serr := os.Stat(info.Repo.CommonDir); serr == nil {
			return info.Repo, nil
		}
	}
	if here.CommonDir == "" {
		return loc, err
	}
	return here, nil
}

// Home is where a run's repository is now, by what the run recorded and where
// its host stands. Moved tells that this is another path than the recorded one:
// the folder was moved, or the worktree in which the run began is gone and
// another one stands in for it.
func Home(q store.Querier, id agency.RunID, here git.Location) (home git.Location, moved bool, err error) {
	info, err := readInfo(q, id)
	if err != nil {
		return home, false, err
	}
	if info.Repo.CommonDir == here.CommonDir {
		if _, err := os.Lstat(filepath.Join(info.Repo.WorkTree, ".git")); err == nil {
			return info.Repo, false, nil
		}
	}
	if loc, err := git.Find(info.Repo.WorkTree); err == nil && loc.WorkTree == info.Repo.WorkTree && loc.CommonDir == here.CommonDir {
		return loc, loc != info.Repo, nil
	}
	home = standIn(info.Repo, here)
	return home, home != info.Repo, nil
}

// standIn is the worktree of a repository that takes the place of one that is
// no longer where it was: the same worktree at its new path, else the main one,
// else the one that its host stands in.
func standIn(gone, here git.Location) git.Location {
	main := filepath.Dir(here.CommonDir)
	if gone.Linked() {
		note := filepath.Join(here.CommonDir, "worktrees", filepath.Base(gone.GitDir), "gitdir")
		if b, err := os.ReadFile(note); err == nil {
			if loc, err := git.Find(filepath.Dir(strings.TrimSpace(string(b)))); err == nil && loc.CommonDir == here.CommonDir {
				return loc
			}
		}
	}
	if loc, err := git.Find(main); err == nil && loc.CommonDir == here.CommonDir {
		return loc
	}
	return here
}

// MoveTo records that a run's repository is at another path now, and removes
// what held the old one, which is made anew when a checkout is opened. Also is
// what else must be written with it.
func (m *Manager) MoveTo(ctx context.Context, id agency.RunID, home git.Location, also func(*store.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := m.load(ctx, id)
	if err != nil {
		return err
	}
	delete(m.runs, id)
	if err := removeAll(filepath.Join(info.dir(), "synthetic")); err != nil { // first: cut short, it is done again
		return err
	}
	info.Repo = home
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return m.opts.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec("UPDATE workspace_run SET info = ? WHERE run_id = ?", string(text), string(id)); err != nil {
			return err
		}
		return also(tx)
	})
}
