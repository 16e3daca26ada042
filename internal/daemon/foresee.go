package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/host/workshop"
	"agency/internal/llm/catalog"
	"agency/internal/store"
	"agency/internal/workspace"
)

// Foresee prepares a run that is not started, by the host's own code: what a
// start refuses it refuses with the same error, and it has a start's notes.
// All that this makes lies in a temporary folder that is gone afterwards; state
// and checkout are not written. It only differs where something was fetched into
// the repository's caches by commands that may reach hosts: its caches are empty.
func Foresee(ctx context.Context, p Place, stateDir string, getenv func(string) (string, bool), r api.RunRequest) (got host.Prepared, err error) {
	if err := workspace.CheckState(stateDir, p.Repo.WorkTree); err != nil {
		return got, err
	}
	dir, err := foreseeDir(p.Repo.WorkTree)
	if err != nil {
		return got, err
	}
	defer func() {
		if rerr := workshop.RemoveTree(dir); rerr != nil && err == nil {
			err = fmt.Errorf("files of the dry run: %w", rerr)
		}
	}()
	g, err := git.NewHost(ctx, git.Options{Getenv: func(name string) string { v, _ := getenv(name); return v }})
	if err != nil {
		return got, err
	}
	known, err := catalog.Load()
	if err != nil {
		return got, err
	}
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "agency.db"), Sets: Migrations()})
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	vault := host.NewVault(p.Repo.WorkTree, p.Repo.CommonDir)
	db.SetRedact(vault.Redact)
	shop := workshop.New(workshop.Options{DB: db, Git: g, Vault: vault, Catalog: known, Repo: p.Repo, StateDir: dir})
	return host.Foresee(ctx, shop, vault, r)
}

// foreseeDir makes the temporary folder, outside of the repository.
func foreseeDir(repo string) (string, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err == nil && workspace.CheckState(temp, repo) != nil {
		return "", agency.Errorf(agency.KindInvalid, "the folder for temporary files %s lies inside the repository %s", temp, repo).
			WithMend("export TMPDIR=FOLDER outside of the repository")
	}
	if err == nil {
		temp, err = os.MkdirTemp(temp, "agency-dry-")
	}
	if err != nil {
		return "", agency.Errorf(agency.KindTransient, "a folder for the dry run: %w", err).WithMend("export TMPDIR=a folder of your own")
	}
	return temp, nil
}
