//go:build unix

package doctor

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func freeMB(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize) >> 20, nil //nolint:unconvert // the types differ by system
}

// writable tells whether this user may make files in a folder.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// existing is the nearest folder above that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
