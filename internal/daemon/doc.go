// Package daemon is the host as a process: which repository it serves, the
// lock that makes it the only one, its socket, the token of its start, its log, how it is started in
// the background, found, and handed over to a newer build, and how all parts
// of the program are put together.
//
// It decides nothing about runs (host) and speaks to nobody (serve). A test or
// the demo starts the same host inside of its own process.
package daemon

import (
	"os"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/beneath"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/host/settings"
	"agency/internal/preview"
)

// Place is where a repository's state lives.
type Place struct {
	Repo   git.Location `json:"repo"`
	ID     string       `json:"id"`
	State  string       `json:"state"`  // folder of this repository's state
	Socket string       `json:"socket"` // of its host
	Root   string       `json:"root"`   // the state folder of all repositories
	Config string       `json:"config"` // the user's own file
	// Own are all folders of the program itself, which no command may see.
	Own []string `json:"own"`
}

// DB is the store's file.
func (p Place) DB() string { return filepath.Join(p.State, "agency.db") }

// LockFile is held by the host while it lives.
func (p Place) LockFile() string { return filepath.Join(p.State, "host.lock") }

// TokenFile holds what the host's clients prove themselves with. No sandbox
// shows it: it is of the state folder.
func (p Place) TokenFile() string { return filepath.Join(p.State, "host.token") }

// LogFile is where the host writes what nobody asked for.
func (p Place) LogFile() string { return filepath.Join(p.State, "host.log") }

// Dial makes a client for the place's host, whether one lives or not.
func (p Place) Dial() *api.Client { return api.Dial(p.Socket, p.TokenFile()) }

// Exists tells whether the repository has a store.
func (p Place) Exists() bool {
	if p.ID == "" {
		return false
	}
	_, err := os.Stat(p.DB())
	return err == nil
}

// maxSocket is what a unix socket's address holds, without its ending zero.
const maxSocket = 103

func placeOf(repo git.Location, id string, f config.Folders) (Place, error) {
	p := Place{Repo: repo, ID: id, Root: f.State, Config: f.ConfigFile(), Own: []string{f.State, f.Socket, f.Config}}
	if id == "" {
		return p, nil
	}
	p.State = filepath.Join(f.State, "repos", id)
	p.Socket = filepath.Join(f.Socket, id+".sock")
	if len(p.Socket) > maxSocket {
		return p, agency.Errorf(agency.KindInvalid, "socket %s: the path is longer than the system allows", p.Socket).
			WithMend("export XDG_RUNTIME_DIR=a shorter folder of your own")
	}
	return p, nil
}

// Look finds the place of a repository without changing anything. ID is empty
// where no run was ever started here.
func Look(repo git.Location, f config.Folders) (Place, error) {
	id, err := readID(repo.CommonDir)
	if err != nil {
		return Place{}, err
	}
	return placeOf(repo, id, f)
}

// ErrNoRepository is why LookFrom and ClaimFrom found nothing.
var ErrNoRepository = git.ErrNone

// LookFrom is Look for the repository that holds a folder, with the folders of an
// environment.
func LookFrom(dir string, env config.Env) (Place, error) { return from(dir, env, Look) }

// ClaimFrom is Claim likewise.
func ClaimFrom(dir string, env config.Env) (Place, error) { return from(dir, env, Claim) }

func from(dir string, env config.Env, place func(git.Location, config.Folders) (Place, error)) (Place, error) {
	repo, err := git.Find(dir)
	if err != nil {
		return Place{}, err
	}
	f, err := config.FindFolders(env)
	if err != nil {
		return Place{}, err
	}
	return place(repo, f)
}

// Preview is the place's repository without its host; tell says a note to a person.
func (p Place) Preview(env config.Env, now func() time.Time, tell func(format string, args ...any)) *preview.Repo {
	return &preview.Repo{
		At: p.Repo, ID: p.ID, Files: settings.Files{User: p.Config, WorkTree: p.Repo.WorkTree, State: p.Root}, State: p.State, Hidden: p.Own,
		Schema: Migrations(), Env: env, Now: now, Tell: tell,
	}
}

// Claim finds the place of a repository and makes it where there is none: the
// id in the git common dir, the state folder and the socket's folder. As root in
// another user's checkout it is KindDenied and writes nothing, there or
// elsewhere: with the owner's HOME it would be the owner's state folder.
func Claim(repo git.Location, f config.Folders) (Place, error) {
	if at, owner := beneath.Foreign(repo.WorkTree, repo.GitDir, repo.CommonDir); at != "" {
		return Place{}, agency.Errorf(agency.KindDenied, "%s belongs to %s and this is root", at, owner).
			WithMend("run it as that user: sudo -u %s agency ...", owner)
	}
	if err := f.Make(); err != nil {
		return Place{}, err
	}
	id, err := ensureID(repo.CommonDir)
	if err != nil {
		return Place{}, err
	}
	p, err := placeOf(repo, id, f)
	if err != nil {
		return p, err
	}
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return p, agency.Errorf(agency.KindTransient, "state folder: %w", err).WithMend("export XDG_STATE_HOME=a folder of your own")
	}
	return p, nil
}
