package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// show mounts one item of the plan.
func (v *view) show(it item) error {
	dir := true
	if it.Kind == kindBind {
		var st unix.Stat_t
		if err := unix.Fstat(v.fds[bindKey(it.At)], &st); err != nil {
			return err
		}
		dir = st.Mode&unix.S_IFMT == unix.S_IFDIR
	}
	at, err := v.mountPoint(it.At, it.Inside, dir)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	switch it.Kind {
	case kindMemory:
		return mountMemory(at, it.SizeMB, "1777", 0)
	case kindEmpty:
		return mountMemory(at, 0, "555", unix.MS_RDONLY)
	case kindOverlay:
		return v.showOverlay(it, at)
	default:
		return v.showBind(it, at)
	}
}

func (v *view) showBind(it item, at int) error {
	fd := v.fds[bindKey(it.At)]
	if err := unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if it.Place {
		place, err := unix.Openat(fd, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		v.place = place
	}
	switch {
	case it.Writable:
		return writable(fd)
	case it.Place:
		v.late = append(v.late, fd)
		return writable(fd)
	default:
		return readOnly(fd)
	}
}

// showOverlay mounts an overlay, or, where the kernel refuses or there is
// nothing below, the cache that stands in for it.
func (v *view) showOverlay(it item, at int) error {
	if it.Host != "" {
		opts := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr,index=off",
			fdPath(v.fds[pathKey(it.Host)]), fdPath(v.fds[pathKey(it.Layer.Upper)]), fdPath(v.fds[pathKey(it.Layer.Work)]))
		// Volatile: the end of a command must not sync the host's whole disk.
		// What a power loss takes is a cache, whose readers check it.
		for _, o := range []string{opts + ",volatile", opts} {
			if unix.Mount("overlay", fdPath(at), "overlay", unix.MS_NOSUID|unix.MS_NODEV, o) == nil {
				return nil
			}
		}
	}
	v.own = append(v.own, it.At)
	return v.showBind(it, at)
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func mountMemory(at, sizeMB int, mode string, flags uintptr) error {
	size := "4k"
	if sizeMB > 0 {
		size = fmt.Sprintf("%dm", sizeMB)
	}
	opts := fmt.Sprintf("size=%s,mode=%s", size, mode)
	if err := unix.Mount("tmpfs", fdPath(at), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|flags, opts); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	return nil
}

// mountPoint opens the path at in the new root, making what is missing. Below
// the repository no symbolic link on the way is followed: its content is not
// the user's.
func (v *view) mountPoint(at string, inside, dir bool) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	root, rel := v.root, strings.TrimPrefix(at, "/")
	if inside && v.place > 0 {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	fd, err := openBeneath(root, rel, how)
	if errors.Is(err, unix.ENOENT) {
		if err := v.makePath(root, rel, how, dir); err != nil {
			return -1, err
		}
		fd, err = openBeneath(root, rel, how)
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	if isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR; isDir != dir {
		_ = unix.Close(fd)
		return -1, errors.New("a file where a folder must be, or the reverse")
	}
	return fd, nil
}

// openBeneath is openat2, again when the tree moved underneath.
func openBeneath(root int, rel string, how unix.OpenHow) (int, error) {
	for {
		fd, err := unix.Openat2(root, rel, &how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// makePath makes the folders of rel and its last element.
func (v *view) makePath(root int, rel string, how unix.OpenHow, dir bool) error {
	parent, name := path.Split(rel)
	parent = strings.TrimSuffix(parent, "/")
	at, err := root, error(nil)
	if parent != "" {
		if at, err = openBeneath(root, parent, how); errors.Is(err, unix.ENOENT) {
			if err := v.makePath(root, parent, how, true); err != nil {
				return err
			}
			at, err = openBeneath(root, parent, how)
		}
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(at) }()
	}
	return makeNode(at, name, dir)
}

func makeNode(at int, name string, dir bool) error {
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

// proc mounts a /proc of the new pid namespace, read-only: as the host's root
// one could otherwise write kernel settings that ask for no capability. Files
// that show the kernel's or the host's memory are covered.
func (v *view) proc(p plan) error {
	at, err := v.mountPoint("/proc", false, true)
	if err != nil {
		return err
	}
	err = unix.Mount("proc", fdPath(at), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	_ = unix.Close(at)
	if err != nil {
		return err
	}
	limitTasks(v.root, p.Limits.tasks())
	if at, err = v.mountPoint("/proc", false, true); err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	for _, name := range hiddenProc {
		if err := v.cover(filepath.Join("/proc", name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	return unix.MountSetattr(at, "", unix.AT_EMPTY_PATH, &attr)
}

// cover lays the null device over a file, if it is there.
func (v *view) cover(name string) error {
	at, err := v.mountPoint(name, false, false)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(at) }()
	null, err := v.mountPoint("/dev/null", false, false)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(null) }()
	fd, err := openBind(fdPath(null))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}
