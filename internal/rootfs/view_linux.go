package rootfs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/mount"
)

// View is the root file system of a sandbox, in which this process is.
type View struct {
	plan   Plan
	sealed []sealed
	// Bound are the paths inside of folders over which the kernel refused an overlay:
	// in them sockets of the host would answer.
	Bound []string
}

// Build makes what stays the same for all commands of a sandbox, in the order:
// system, then the plan's items parents first, then PID 1's own /proc, and moves
// into it. What is shown is opened before the new root covers anything, so that no
// path of the host is looked up after.
func Build(p Plan) (*View, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("private mounts: %w", err)
	}
	v := &builder{fds: map[string]int{}, sources: map[string]source{}, links: map[string]string{}}
	defer v.close()
	if err := v.openSources(p); err != nil {
		return nil, err
	}
	if err := v.newRoot(); err != nil {
		return nil, err
	}
	if err := v.seal(p); err != nil {
		return nil, err
	}
	if err := v.skeleton(p); err != nil {
		return nil, err
	}
	for i, it := range p.Items {
		if err := v.showStatic(p, i); err != nil {
			return nil, fmt.Errorf("%s: %w", it.At, err)
		}
	}
	if err := v.mountKernel("proc", "/proc", unix.MS_NODEV, ""); err != nil {
		return nil, err
	}
	if err := v.enter(); err != nil {
		return nil, err
	}
	// A name that tells nothing of the host's.
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return nil, fmt.Errorf("host name: %w", err)
	}
	return &View{plan: p, sealed: v.sealed, Bound: v.bound}, nil
}

// Refresh has the view show what others have changed on the host since.
func (v *View) Refresh() error {
	for i := range v.sealed {
		if err := v.sealed[i].look(); err != nil {
			return err
		}
	}
	return nil
}

// builder is a root file system under construction.
type builder struct {
	tree
	fds   map[string]int    // path inside to the opened copy of what is shown there
	late  []int             // mounts that become read-only at the end
	links map[string]string // paths of the system that are links on the host

	sources map[string]source // what is to be sealed, by the same names
	sealed  []sealed
	bound   []string // paths inside of folders that could not be sealed
}

func (v *builder) close() {
	for _, fd := range v.fds {
		_ = unix.Close(fd)
	}
	for _, s := range v.sources {
		_ = unix.Close(s.fd)
	}
	if v.root > 0 {
		_ = unix.Close(v.root)
	}
}

// openSources opens all that is shown of the host: what can be written at once as
// it is, the rest to be sealed.
func (v *builder) openSources(p Plan) error {
	all, err := mount.All()
	if err != nil {
		return err
	}
	heard := slices.Clone(all)
	for _, at := range p.Listeners {
		heard = append(heard, mount.Mounted{At: at, Kind: mount.Socket})
	}
	for _, path := range System() {
		if target, err := os.Readlink(path); err == nil && !strings.HasPrefix(path, "/etc/") {
			v.links[path] = target
			continue
		}
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			inner := mount.Below(heard, path, true)
			parts := slices.ContainsFunc(mount.Below(all, path, false), func(rel string) bool { return !slices.Contains(inner, rel) })
			v.sources[path] = source{fd: fd, inner: inner, system: true, parts: parts}
		} else if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.EACCES) {
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
	for i, it := range p.Items {
		if err := v.openItem(i, it, all); err != nil {
			return err
		}
	}
	return nil
}

func (v *builder) openItem(i int, it Item, all []mount.Mounted) error {
	at := it.At
	if it.Kind == Overlay {
		at = hiddenLower(i)
		fd, err := linux.OpenFile(it.Layers, it.LayersID)
		if err != nil {
			return err
		}
		if v.fds[hiddenLayers(i)], err = take(fd); err != nil {
			return err
		}
		if err := v.openWarm(i, it); err != nil {
			return err
		}
	}
	if it.Host == "" {
		return nil
	}
	fd, err := linux.OpenFile(it.Host, it.HostID)
	if err != nil {
		return err
	}
	if it.Kind == Bind && !it.Writable && !it.Place {
		v.sources[at] = source{fd: fd, inner: mount.Below(all, it.Host, false)}
		return nil
	}
	v.fds[at], err = take(fd)
	return err
}

func (v *builder) openWarm(i int, it Item) error {
	if it.Warm == "" {
		return nil
	}
	fd, err := linux.OpenFile(it.Warm, it.WarmID)
	if err == nil {
		v.fds[hiddenWarm(i)], err = take(fd)
	}
	return err
}

// take copies the mount tree at an open file, which it closes.
func take(fd int) (int, error) {
	defer func() { _ = unix.Close(fd) }()
	return mount.Clone(fd)
}

// stages are folders of the host of which one is there on any machine; the new
// root is mounted over it, in this namespace only.
var stages = [...]string{"/tmp", "/mnt", "/dev", "/usr"}

func (v *builder) newRoot() (err error) {
	for _, dir := range stages {
		if err = unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=16m,nr_inodes=16k,mode=755"); err != nil {
			continue
		}
		if err := os.Chdir(dir); err != nil {
			return err
		}
		v.root, err = unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	}
	return fmt.Errorf("new root: %w", err)
}

// enter makes the new root read-only, moves into it and forgets the old one.
func (v *builder) enter() error {
	for _, fd := range v.late {
		if err := mount.ReadOnly(fd); err != nil {
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
