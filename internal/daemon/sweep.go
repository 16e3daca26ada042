package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/host/resources"
	"agency/internal/sandbox"
)

// TempDir holds what a background host and its sandboxes need for a moment.
func (p Place) TempDir() string { return filepath.Join(p.State, "tmp") }

// ownTemp gives this process a folder for temporary files that a later host
// finds and clears, where it is killed.
func ownTemp(p Place) error {
	return errors.Join(os.Setenv("TMPDIR", p.TempDir()), os.Setenv("TMP", p.TempDir()), os.Setenv("TEMP", p.TempDir()))
}

// sweep clears what hosts left that were killed: processes, temporary files of this
// repository's, sockets of all. The caller holds this repository's lock.
func sweep(p Place) error {
	_ = sandbox.Sweep() // first: what still runs may write
	err := resources.RemoveTree(p.TempDir())
	if err == nil {
		err = os.Mkdir(p.TempDir(), 0o700)
	}
	if err != nil {
		err = agency.Errorf(agency.KindTransient, "the host's temporary files: %w", err).WithMend("make %s writable for this user", p.State)
	}
	return errors.Join(err, sweepSockets(p))
}

// sweepSockets removes the sockets of repositories whose lock nobody holds. A
// host listens only while it has the lock, so none is born meanwhile.
func sweepSockets(p Place) error {
	dir := filepath.Dir(p.Socket)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), ".sock")
		if !is || id == p.ID || !filepath.IsLocal(id) {
			continue
		}
		lockFile := filepath.Join(filepath.Dir(p.State), id, filepath.Base(p.LockFile()))
		f, oerr := os.OpenFile(lockFile, os.O_RDWR, 0)
		if oerr != nil { // of another state folder, which its own hosts clear
			continue
		}
		if taken, lerr := tryLock(f); lerr == nil && taken {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
		err = errors.Join(err, f.Close())
	}
	return err
}
