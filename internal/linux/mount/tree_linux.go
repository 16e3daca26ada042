// Package mount has the kernel's calls on mounts, by open files and never by a path
// that somebody could change meanwhile, and reads its table of them. What is mounted
// where, and in which order, is the caller's affair.
package mount

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// IsMount is an error where nothing is mounted at an open file.
func IsMount(fd int) error {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &st); err != nil {
		return err
	}
	if st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return errors.New("what was mounted there is gone")
	}
	return nil
}

// Clone copies the mount tree at an open file, not yet shown anywhere. Each
// use needs a copy of its own.
func Clone(fd int) (int, error) {
	return unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLOEXEC)
}

// IsFolder tells a folder from a file.
func IsFolder(fd int) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Mode&unix.S_IFMT == unix.S_IFDIR, err
}

// Overlay is an overlay of a folder that nothing can be written to, and what it
// can be told by; refused is what a kernel may say to it.
func Overlay(fd, empty int, refused bool) (mount, context int, err error) {
	if refused {
		return -1, -1, unix.EPERM
	}
	context, err = unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, -1, err
	}
	err = unix.FsconfigSetString(context, "lowerdir", FdPath(fd)+":"+FdPath(empty))
	if err == nil {
		err = unix.FsconfigSetFlag(context, "ro")
	}
	if err == nil {
		err = unix.FsconfigCreate(context)
	}
	if err == nil {
		mount, err = unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	}
	if err != nil {
		_ = unix.Close(context)
		return -1, -1, err
	}
	return mount, context, nil
}

// FdPath is the path of an open file for calls that take none.
func FdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// minInodes is what any command gets of files in memory; with more memory one for
// so many bytes.
const (
	minInodes     = 16 << 10
	bytesPerInode = 4 << 10
)

// Memory mounts an empty file system in memory at an open folder: of so many MiB, or
// with room for nothing where it is 0.
func Memory(at, sizeMB int, mode string, flags uintptr) error {
	size := "4k"
	if sizeMB > 0 {
		// An empty file takes memory, too.
		size = fmt.Sprintf("%dm,nr_inodes=%d", sizeMB, max(minInodes, sizeMB<<20/bytesPerInode))
	}
	opts := fmt.Sprintf("size=%s,mode=%s", size, mode)
	if err := unix.Mount("tmpfs", FdPath(at), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|flags, opts); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	return nil
}

// MakeNode makes a folder, which may be there, or an empty file, which may not, in an
// open folder.
func MakeNode(at int, name string, dir bool) error {
	if dir {
		if err := unix.Mkdirat(at, name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return &os.PathError{Op: "mkdir", Path: name, Err: err}
		}
		return nil
	}
	fd, err := unix.Openat(at, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return &os.PathError{Op: "create", Path: name, Err: err}
	}
	return unix.Close(fd)
}

// ClonePath copies the mount tree at a path of the calling process's own.
func ClonePath(path string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// ReadOnly makes a tree of mounts one that nothing can be written to; Writable leaves
// that. Neither has programs with the rights of their owners, nor devices.
func ReadOnly(fd int) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
}

func Writable(fd int) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
}
