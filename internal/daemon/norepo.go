package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/git"
)

// noRepo ends the name of the folder for work on text alone, beside the state folder.
const noRepo = "-no-repo"

// IsNone tells whether a repository is that for work on text alone.
func IsNone(repo string) bool { return strings.HasSuffix(repo, noRepo) }

// LookNone is Look for work on text alone; ok says that there has been some.
func LookNone(env config.Env) (p Place, ok bool) {
	f, err := config.FindFolders(env)
	if err != nil {
		return p, false
	}
	repo, err := git.Find(filepath.Clean(f.State) + noRepo)
	if err != nil || !IsNone(repo.WorkTree) {
		return p, false
	}
	p, err = Look(repo, f)
	return p, err == nil && p.Exists()
}

// ClaimNone is Claim for work on text alone: the place of an empty repository of the
// program's own, beside the state folder, which is made where there is none.
func ClaimNone(ctx context.Context, env config.Env) (Place, error) {
	f, err := config.FindFolders(env)
	if err != nil {
		return Place{}, err
	}
	dir := filepath.Clean(f.State) + noRepo
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Place{}, agency.Errorf(agency.KindTransient, "folder for work without a repository: %w", err).WithMend("export XDG_STATE_HOME=a folder of your own")
	}
	program, err := git.NewProgram(ctx, git.Options{})
	if err == nil {
		err = program.Init(ctx, dir)
	}
	if err != nil {
		return Place{}, err
	}
	repo, err := git.Find(dir)
	if err != nil {
		return Place{}, err
	}
	return Claim(repo, f)
}
