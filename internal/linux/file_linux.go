package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OpenFile opens a path of the host that was followed to its end: it is the file
// that was judged, or none.
func OpenFile(at string, want FileID) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := OpenBeneath(unix.AT_FDCWD, at, how)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: at, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && want != (FileID{uint64(st.Dev), st.Ino}) {
		err = errors.New("is another file than it was")
		_ = unix.Close(fd)
		return -1, &os.PathError{Op: "open", Path: at, Err: err}
	}
	return fd, nil
}

// OpenBeneath is openat2, again when the tree moved underneath.
func OpenBeneath(root int, rel string, how unix.OpenHow) (int, error) {
	for {
		fd, err := unix.Openat2(root, rel, &how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// FileID is device and inode of a file.
type FileID [2]uint64
