//go:build unix

package check

import (
	"io/fs"
	"strconv"
	"syscall"
)

// inode tells a file that was replaced from one that stayed.
func inode(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(s.Ino, 10)
	}
	return ""
}
