package git

import "golang.org/x/sys/unix"

// noRoom is the free space in bytes below which a failure that does not name
// its cause is taken for a full disk.
const noRoom = 64 << 10

// roomless tells whether the disk of a folder is full.
func roomless(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	return int64(st.Bavail)*int64(st.Bsize) < noRoom || st.Files > 0 && st.Ffree == 0 //nolint:unconvert // the types differ by platform
}
