//go:build unix

package daemon

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/git/gittest"
)

func foldersOf(t *testing.T) (config.Folders, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ag") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	return config.Folders{Config: at("config"), State: at("state"), Cache: at("cache"), Socket: at("s")}, dir
}

// TestRootLeavesNothing: what root is refused leaves no trace in the checkout
// of another user, whichever part of it is the other's, nor in the folders that
// the environment names, which may be the owner's too.
func TestRootLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write what is not its own")
	}
	for _, theirs := range []string{".", ".git", "all"} {
		loc := locate(t, gittest.New(t, "README", "x\n").Dir)
		err := filepath.WalkDir(loc.WorkTree, func(p string, _ fs.DirEntry, err error) error {
			if err == nil && (theirs == "all" || p == filepath.Join(loc.WorkTree, theirs)) {
				err = os.Lchown(p, 65534, 65534)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		before := gittest.Fingerprint(t, loc.WorkTree, nil)
		f, dir := foldersOf(t)
		if _, err = Claim(loc, f); agency.KindOf(err) != agency.KindDenied || !strings.Contains(agency.MendOf(err), "sudo -u nobody") {
			t.Errorf("%s: %v; %s", theirs, err, agency.MendOf(err))
		}
		if after := gittest.Fingerprint(t, loc.WorkTree, nil); !maps.Equal(after, before) {
			t.Errorf("%s: the checkout changed:\n%s\n%s", theirs, before, after)
		}
		if made, err := os.ReadDir(dir); err != nil || len(made) != 0 {
			t.Errorf("%s: %v was made, %v", theirs, made, err)
		}
	}
}

func locate(t *testing.T, dir string) git.Location {
	t.Helper()
	loc, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// TestIDOfAllUsers: the id that one user gave is for all who may enter the
// repository, and one that cannot be read says what mends it.
func TestIDOfAllUsers(t *testing.T) {
	loc := locate(t, gittest.New(t, "README", "x\n").Dir)
	f, _ := foldersOf(t)
	if _, err := Claim(loc, f); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(loc.CommonDir, idFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	refused := func(kind agency.Kind, prepare func() error) {
		t.Helper()
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		if _, err := Look(loc, f); agency.KindOf(err) != kind || !strings.Contains(agency.MendOf(err), path) {
			t.Errorf("%v; %s", err, agency.MendOf(err))
		}
	}
	refused(agency.KindInvalid, func() error { return os.Mkdir(path, 0o700) })
	refused(agency.KindInvalid, func() error { return syscall.Mkfifo(path, 0o600) }) // and waits for no writer
	if os.Geteuid() != 0 {
		refused(agency.KindDenied, func() error { return os.WriteFile(path, nil, 0) })
	}
}
