package sandbox

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// buildView makes what stays the same for all commands of a sandbox, in the
// order: system, then the plan's items parents first, then PID 1's own /proc,
// and moves into it. What is shown is opened before the new root covers
// anything, so that no path of the host is looked up after.
func buildView(p plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	v := &view{fds: map[string]int{}, links: map[string]string{}}
	defer v.close()
	if err := v.openSources(p); err != nil {
		return err
	}
	if err := v.newRoot(); err != nil {
		return err
	}
	if err := v.skeleton(p); err != nil {
		return err
	}
	for i, it := range p.Items {
		if err := v.showStatic(p, i); err != nil {
			return fmt.Errorf("%s: %w", it.At, err)
		}
	}
	if err := v.proc(); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if err := v.enter(); err != nil {
		return err
	}
	// A name that tells nothing of the host's.
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	return nil
}

// view is a root file system under construction.
type view struct {
	root  int            // the new root
	fds   map[string]int // path inside to the opened copy of what is shown there
	late  []int          // mounts that become read-only at the end
	own   []string
	links map[string]string // paths of the system that are links on the host
}

func (v *view) close() {
	for _, fd := range v.fds {
		_ = unix.Close(fd)
	}
	if v.root > 0 {
		_ = unix.Close(v.root)
	}
}

// bindKey names the opened copy of what is shown at a path.
func bindKey(p string) string { return "bind:" + p }

// openBind copies the mount tree at a host path, not yet shown anywhere. Each
// use needs a copy of its own.
func openBind(path string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

func (v *view) openSources(p plan) error {
	for _, path := range shownSystem() {
		if target, err := os.Readlink(path); err == nil && !strings.HasPrefix(path, "/etc/") {
			v.links[path] = target
			continue
		}
		fd, err := openBind(path)
		if err == nil {
			v.fds[bindKey(path)] = fd
		} else if !os.IsNotExist(err) && !os.IsPermission(err) {
			return err
		}
	}
	for i, it := range p.Items {
		if err := v.openItem(i, it); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) openItem(i int, it item) error {
	hosts := map[string]string{it.At: it.Host}
	if it.Kind == kindOverlay {
		hosts = map[string]string{hiddenLower(i): it.Host, hiddenLayers(i): it.Layers}
	}
	for at, host := range hosts {
		if host == "" {
			continue
		}
		fd, err := openBind(host)
		if err != nil {
			return err
		}
		v.fds[bindKey(at)] = fd
	}
	return nil
}

// stages are folders of the host of which one is there on any machine; the new
// root is mounted over it, in this namespace only.
var stages = [...]string{"/tmp", "/mnt", "/dev", "/usr"}

func (v *view) newRoot() error {
	var last error
	for _, dir := range stages {
		last = unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=16m,nr_inodes=16k,mode=755")
		if last != nil {
			continue
		}
		if err := os.Chdir(dir); err != nil {
			return err
		}
		fd, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		v.root = fd
		return nil
	}
	return fmt.Errorf("new root: %w", last)
}

// enter makes the new root read-only, moves into it and forgets the old one.
func (v *view) enter() error {
	for _, fd := range v.late {
		if err := readOnly(fd); err != nil {
			return fmt.Errorf("read-only repository: %w", err)
		}
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(v.root, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return fmt.Errorf("read-only root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("old root: %w", err)
	}
	return os.Chdir("/")
}

func readOnly(fd int) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
}

func writable(fd int) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
}
