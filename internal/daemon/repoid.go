package daemon

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/regexp"
)

// idFile stands in the git common dir: all worktrees of a repository share it,
// and `git clean` does not reach it.
const idFile = "agency-id"

// maxID is far more than an id has, with the longest path that Linux knows.
const maxID = 64 << 10

// identity is what idFile holds: the id, and the folder that it was given to.
// A copy of a repository is another folder and gets an id of its own. Device
// numbers may change when a machine starts again, so the same inode at the
// same path is the same folder too.
type identity struct {
	ID    string `json:"id"`
	Dev   uint64 `json:"dev"`
	Inode uint64 `json:"inode"`
	Path  string `json:"path"`
}

var idForm = regexp.MustCompile(`^[a-z2-7]{12}$`)

func (a identity) sameFolder(b identity) bool {
	return a.Inode == b.Inode && (a.Dev == b.Dev || a.Path == b.Path)
}

// readID is the id of the repository whose common dir this is, or "".
func readID(common string) (string, error) {
	here, err := folderOf(common)
	if err != nil {
		return "", err
	}
	have, err := loadID(common)
	if err != nil || !have.sameFolder(here) {
		return "", err
	}
	return have.ID, nil
}

func loadID(common string) (identity, error) {
	var have identity
	path := filepath.Join(common, idFile)
	b, err := bounded.ReadAt(path, maxID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return have, nil
	case errors.Is(err, fs.ErrPermission):
		return have, agency.Errorf(agency.KindDenied, "the repository's id, which is not readable for this user: %w", err).
			WithMend("sudo chmod a+r %s; or, where no run of yours is to be kept, rm -f %[1]s", path)
	case errors.Is(err, bounded.ErrNotPlain):
		return have, agency.Errorf(agency.KindInvalid, "the repository's id: %w", err).WithMend("rm -rf %s", path)
	case errors.Is(err, bounded.ErrTooLarge):
		return have, nil
	case err != nil:
		return have, agency.Errorf(agency.KindTransient, "the repository's id: %w", err)
	}
	// A file that is cut or edited is no id; the next run gives a new one.
	if json.Unmarshal(b, &have) != nil || !idForm.MatchString(have.ID) {
		return identity{}, nil
	}
	return have, nil
}

// ensureID gives the repository an id where it has none. Two processes that do
// so at once agree on one.
func ensureID(common string) (string, error) {
	unlock, err := lockFolder(common)
	if err != nil {
		return "", agency.Errorf(agency.KindTransient, "the repository's id: %w", err)
	}
	defer unlock()
	if id, err := readID(common); err != nil || id != "" {
		return id, err
	}
	here, err := folderOf(common)
	if err != nil {
		return "", err
	}
	if here.ID, err = newID(); err != nil {
		return "", err
	}
	b, err := json.Marshal(here)
	if err != nil {
		return "", err
	}
	return here.ID, notOurs(common, writeWhole(filepath.Join(common, idFile), append(b, '\n')))
}

// notOurs says of a repository that may not be written what else can be done:
// its run's branch could not be made there either.
func notOurs(common string, err error) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return err
	}
	return agency.Errorf(agency.KindTransient, "a run writes its branch into %s, and this user may not: %w", common, err).
		WithMend("run it as the user who owns the repository, or in a clone of your own: git clone %s", shown(common))
}

// shown is the path by which people know a repository.
func shown(common string) string {
	return strings.TrimSuffix(common, string(filepath.Separator)+".git")
}

func newID() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))[:12], nil
}

// writeWhole replaces a file so that a reader sees the old or the new one. Who
// may enter its folder may read it: where users share a repository, none shuts
// the others out by being the first.
func writeWhole(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".agency-*")
	if err != nil {
		return agency.Errorf(agency.KindTransient, "%s: %w", path, err)
	}
	_ = f.Chmod(0o644) // a file system without modes shows it to whom it likes
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error is already on its way
		return agency.Errorf(agency.KindTransient, "%s: %w", path, err)
	}
	return nil
}
