//go:build unix

package view

import (
	"io/fs"
	"syscall"
)

// onDisk is what a file takes, which is less than its size where it has holes.
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
