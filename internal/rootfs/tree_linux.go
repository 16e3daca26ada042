package rootfs

import (
	"errors"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/mount"
)

// tree is the new root, on which everything is mounted by open files.
type tree struct{ root int }

// mountPoint opens the path at in the new root, making what is missing. Below
// the repository no symbolic link on the way is followed: its content is not
// the user's.
func (t tree) mountPoint(at string, inside, dir bool) (int, error) {
	how, rel := how(inside), strings.TrimPrefix(at, "/")
	fd, err := linux.OpenBeneath(t.root, rel, how)
	if errors.Is(err, unix.ENOENT) {
		if err := t.makePath(rel, how, dir); err != nil {
			return -1, err
		}
		fd, err = linux.OpenBeneath(t.root, rel, how)
	}
	if err != nil {
		return -1, err
	}
	isDir, err := mount.IsFolder(fd)
	if err == nil && isDir != dir {
		err = errors.New("a file where a folder must be, or the reverse")
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// makePath makes the folders of rel and its last element.
func (t tree) makePath(rel string, how unix.OpenHow, dir bool) error {
	parent, name := path.Split(rel)
	parent = strings.TrimSuffix(parent, "/")
	at, err := t.root, error(nil)
	if parent != "" {
		if at, err = linux.OpenBeneath(t.root, parent, how); errors.Is(err, unix.ENOENT) {
			if err := t.makePath(parent, how, true); err != nil {
				return err
			}
			at, err = linux.OpenBeneath(t.root, parent, how)
		}
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(at) }()
	}
	return mount.MakeNode(at, name, dir)
}

// how opens what lies in the new root; inside the repository, and of what is covered,
// through no link.
func how(inside bool) unix.OpenHow {
	h := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if inside {
		h.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	return h
}

// move mounts a copied tree of mounts.
func move(fd, at int) error {
	return unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}
