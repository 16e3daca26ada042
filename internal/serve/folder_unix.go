//go:build unix

package serve

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func ownFolder(dir string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return refuse(dir, "its owner cannot be told")
	case int(st.Uid) != os.Getuid():
		return refuse(dir, fmt.Sprintf("belongs to user %d, not to you", st.Uid))
	case info.Mode().Perm()&0o077 != 0:
		return refuse(dir, fmt.Sprintf("others can enter it (mode %04o, want 0700)", info.Mode().Perm()))
	}
	return nil
}
