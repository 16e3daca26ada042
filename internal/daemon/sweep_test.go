//go:build unix

package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agency/internal/api"
	"agency/internal/config"
)

// A host that starts clears what killed hosts left, and nothing of those that
// live.
func TestLeftoversOfKilledHostsAreCleared(t *testing.T) {
	loc, f := aRepo(t)
	p, err := Claim(loc, f)
	if err != nil {
		t.Fatal(err)
	}
	dead, living := sibling(t, p, f, "dead"), sibling(t, p, f, "living")
	l, err := takeLock(living.LockFile(), self(api.Build{}, time.Unix(1000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.release() }()
	foreign := filepath.Join(f.Socket, "of-another-state-folder.sock")
	gone := []string{
		dead.Socket,
		filepath.Join(p.State, "tmp", "agency-try-1", "deep", "file"),
		filepath.Join(p.State, "cache", "scratch", "s1", "file"),
		filepath.Join(p.State, "cache", "reports", "r-1", "file"),
		filepath.Join(p.State, "runs", "never-recorded", "work", "file"),
	}
	stays := []string{living.Socket, foreign, filepath.Join(p.State, "cache", "agents", "file")}
	for _, path := range append(gone, stays...) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(p.State, "tmp", "agency-try-1", "deep"), 0o500); err != nil { // as a command may leave it
		t.Fatal(err)
	}
	d, err := Start(t.Context(), options(p))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, path := range gone {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range stays {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

// sibling is the place of another repository.
func sibling(t *testing.T, p Place, f config.Folders, id string) Place {
	t.Helper()
	other, err := placeOf(p.Repo, id, f)
	if err == nil {
		err = os.MkdirAll(other.State, 0o700)
	}
	if err == nil {
		err = os.WriteFile(other.LockFile(), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return other
}
