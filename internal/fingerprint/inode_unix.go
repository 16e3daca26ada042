//go:build unix

package fingerprint

import (
	"io/fs"
	"strconv"
	"syscall"
)

// Inode tells a file that was replaced from one that stayed.
func Inode(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(s.Ino, 10)
	}
	return ""
}
