package fingerprint

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changedAt is when a file was last changed in any way, by the kernel's word:
// unlike the time of its last writing no program can set it.
func changedAt(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return time.Time{}
}

// unsteady tells a file system that another machine or program answers for: what
// it says of times and inodes may be old or made up.
func unsteady(path string) bool {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return true
	}
	switch int64(s.Type) {
	case unix.FUSE_SUPER_MAGIC, unix.NFS_SUPER_MAGIC, unix.V9FS_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC:
		return true
	}
	return false
}
