package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

func hiddenLower(i int) string  { return fmt.Sprintf("%s/lower/%d", hiddenRoot, i) }
func hiddenLayers(i int) string { return fmt.Sprintf("%s/layers/%d", hiddenRoot, i) }

// showStatic mounts one item of the plan that stays; of one that is made anew
// for each command only the place where it will be.
func (v *view) showStatic(p plan, i int) error {
	it := p.Items[i]
	if it.Kind == kindOverlay {
		if err := v.hide(i, it); err != nil {
			return err
		}
	}
	if it.Kind.fresh() && p.under(i, kind.fresh) {
		return nil
	}
	dir, err := v.isDir(it)
	if err != nil {
		return err
	}
	at, err := v.mountPoint(it.At, it.Inside, dir)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	switch {
	case it.Kind.fresh():
		return nil
	case it.Kind == kindEmpty:
		return mountMemory(at, 0, "555", unix.MS_RDONLY)
	default:
		return v.showBind(it, at)
	}
}

// under says whether what the item lies in, at whatever depth, is of a kind.
func (p plan) under(i int, is func(kind) bool) bool {
	for j := p.Items[i].Under; j >= 0; j = p.Items[j].Under {
		if is(p.Items[j].Kind) {
			return true
		}
	}
	return false
}

func (v *view) isDir(it item) (bool, error) {
	if it.Kind != kindBind {
		return true, nil
	}
	var st unix.Stat_t
	err := unix.Fstat(v.fds[bindKey(it.At)], &st)
	return st.Mode&unix.S_IFMT == unix.S_IFDIR, err
}

// hide mounts what an overlay will be made of where no command sees it.
func (v *view) hide(i int, it item) error {
	for _, at := range []string{hiddenLower(i), hiddenLayers(i)} {
		fd, ok := v.fds[bindKey(at)]
		if !ok {
			continue
		}
		point, err := v.mountPoint(at, false, true)
		if err != nil {
			return err
		}
		err = v.move(fd, point)
		_ = unix.Close(point)
		if err != nil {
			return fmt.Errorf("parts of an overlay: %w", err)
		}
		set := writable
		if at == hiddenLower(i) {
			set = readOnly
		}
		if err := set(fd); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) move(fd, at int) error {
	return unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

func (v *view) showBind(it item, at int) error {
	fd := v.fds[bindKey(it.At)]
	if err := v.move(fd, at); err != nil {
		return fmt.Errorf("mount: %w", err)
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
	how := how(inside)
	root, rel := v.root, strings.TrimPrefix(at, "/")
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

func how(inside bool) unix.OpenHow {
	h := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if inside {
		h.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	return h
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

// proc mounts PID 1's own /proc, in which it counts what its commands use. Each
// command gets another of its own over it.
func (v *view) proc() error {
	at, err := v.mountPoint("/proc", false, true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	return unix.Mount("proc", fdPath(at), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}
