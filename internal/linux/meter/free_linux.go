package meter

import "golang.org/x/sys/unix"

// A disk is the user's, and often that of the store: a command may not fill it. It
// must leave room, and may in no case take more than half of what was free.

// keepFree is what a command must leave free, in bytes, of a disk of this size.
func keepFree(size uint64) uint64 { return max(1<<30, size/20) }

// keepFiles is the same for files, of a disk that has room for so many.
func keepFiles(all uint64) uint64 { return max(10_000, all/20) }

// Disks are what a command can fill, each by an open folder on it.
type Disks []int

// space is what a disk has free for everybody, in bytes and in files. A disk that
// does not count files has none and needs none.
type space struct{ bytes, files uint64 }

// floors are what must stay free of each, from now on.
func (d Disks) floors() []space {
	out := make([]space, len(d))
	for i, fd := range d {
		if free, all, ok := room(fd); ok {
			out[i] = space{min(keepFree(all.bytes), free.bytes/2), min(keepFiles(all.files), free.files/2)}
		}
	}
	return out
}

// below says whether one of them has less free than its floor.
func (d Disks) below(floors []space) bool {
	for i, fd := range d {
		if free, _, ok := room(fd); ok && (free.bytes < floors[i].bytes || free.files < floors[i].files) {
			return true
		}
	}
	return false
}

// room is what a disk has free, and in all; false for one that does not tell.
func room(fd int) (free, all space, ok bool) {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil || st.Blocks == 0 {
		return space{}, space{}, false
	}
	block := uint64(st.Bsize)
	return space{st.Bavail * block, st.Ffree}, space{st.Blocks * block, st.Files}, true
}
