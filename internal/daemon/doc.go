// Package daemon is the host as a process: which repository it serves, the
// lock that makes it the only one, its socket, its log, how it is started in
// the background, found, and handed over to a newer build, and how all parts
// of the program are put together.
//
// It decides nothing about runs (host) and speaks to nobody (serve). A test or
// the demo starts the same host inside of its own process.
package daemon

import (
	"os"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/git"
)

// Place is where a repository's state lives.
type Place struct {
	Repo   git.Location `json:"repo"`
	ID     string       `json:"id"`
	State  string       `json:"state"`  // folder of this repository's state
	Socket string       `json:"socket"` // of its host
}

// DB is the store's file.
func (p Place) DB() string { return filepath.Join(p.State, "agency.db") }

// LockFile is held by the host while it lives.
func (p Place) LockFile() string { return filepath.Join(p.State, "host.lock") }

// LogFile is where the host writes what nobody asked for.
func (p Place) LogFile() string { return filepath.Join(p.State, "host.log") }

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
	p := Place{Repo: repo, ID: id}
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

// Claim finds the place of a repository and makes it where there is none: the
// id in the git common dir, the state folder and the socket's folder.
func Claim(repo git.Location, f config.Folders) (Place, error) {
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
	return p, f.MakeSocketDir()
}
