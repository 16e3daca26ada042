package rootfs

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/mount"
	"agency/internal/linux/overlay"
)

// ForCommand mounts, in a mount namespace that is one command's own, what is fresh
// for each command: /tmp and /dev/shm of tmpMB each, terminals, the overlays in their
// layers, and again over those whatever lies in them. One that looks on cannot write the
// repository, but for what is mounted in it. It returns the overlays that were refused.
func (v *View) ForCommand(layers []string, tmpMB int, looksOn bool) (own []string, err error) {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &commandMounts{tree: tree{root}, covered: map[string]int{}}
	defer c.close()
	if err := c.capture(v.plan); err != nil {
		return nil, err
	}
	for i, it := range v.plan.Items {
		var err error
		switch {
		case it.Kind == Memory:
			err = c.showMemory(it, tmpMB)
		case it.Kind == Overlay && len(layers) > 0:
			err = c.showOverlay(i, it, layers[0])
			layers = layers[1:]
		case it.Under >= 0 && v.plan.Items[it.Under].Kind.fresh():
			err = c.showAgain(it)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", it.At, err)
		}
	}
	if err := c.mountKernel("devpts", "/dev/pts", 0, "newinstance,ptmxmode=0666,mode=620"); err != nil {
		return nil, err
	}
	if err := unhide(v.plan); err != nil {
		return nil, err
	}
	if looksOn {
		if err := c.lookOn(v.plan); err != nil {
			return nil, fmt.Errorf("read-only repository: %w", err)
		}
	}
	return c.own, os.Mkdir(Home, 0o700)
}

// lookOn has nothing written through the mount of the repository; those in it stay as they
// are. In the command's own namespace nobody else sees that.
func (c *commandMounts) lookOn(p Plan) error {
	for _, it := range p.Items {
		if !it.Place {
			continue
		}
		fd, err := linux.OpenBeneath(c.root, it.At[1:], how(it.Inside))
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr)
	}
	return nil
}

// commandMounts are those of one command, under construction.
type commandMounts struct {
	tree
	covered map[string]int // path inside to the opened copy of what the fresh mounts cover there
	own     []string       // the overlays that were refused
}

func (c *commandMounts) close() {
	for _, fd := range c.covered {
		_ = unix.Close(fd)
	}
	_ = unix.Close(c.root)
}

// capture looks whether what is mounted in the repository is still there, where a
// command may have moved a folder on the way to it, and takes hold of all that
// the fresh mounts are about to cover.
func (c *commandMounts) capture(p Plan) error {
	for _, it := range p.Items {
		covered := it.Under >= 0 && p.Items[it.Under].Kind.fresh()
		if it.Kind.fresh() || !it.Inside && !covered {
			continue
		}
		fd, err := linux.OpenBeneath(c.root, it.At[1:], how(it.Inside))
		if err != nil {
			return fmt.Errorf("%s: %w", it.At, err)
		}
		err = mount.IsMount(fd)
		if err == nil && covered {
			c.covered[it.At], err = mount.Clone(fd)
		}
		_ = unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%s: %w", it.At, err)
		}
	}
	return nil
}

func (c *commandMounts) showMemory(it Item, sizeMB int) error {
	at, err := c.mountPoint(it.At, it.Inside, true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	return mount.Memory(at, sizeMB, "1777", 0)
}

// showAgain mounts what a fresh mount has covered.
func (c *commandMounts) showAgain(it Item) error {
	fd := c.covered[it.At]
	dir, err := mount.IsFolder(fd)
	if err != nil {
		return err
	}
	at, err := c.mountPoint(it.At, it.Inside, dir)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	return move(fd, at)
}

// showOverlay mounts an overlay, or, where the kernel refuses or there is
// nothing below, the cache that stands in for it.
func (c *commandMounts) showOverlay(i int, it Item, name string) error {
	at, err := c.mountPoint(it.At, it.Inside, true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	layers := hiddenLayers(i)
	if lowers := it.lowers(i); len(lowers) > 0 {
		opts := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr,index=off",
			strings.Join(lowers, ":"), overlay.Upper(layers, name), overlay.Work(layers, name))
		// Volatile: the end of a command must not sync the host's whole disk.
		// What a power loss takes is a cache, whose readers check it.
		for _, o := range []string{opts + ",volatile", opts} {
			if unix.Mount("overlay", mount.FdPath(at), "overlay", unix.MS_NOSUID|unix.MS_NODEV, o) == nil {
				return nil
			}
		}
	}
	c.own = append(c.own, it.At)
	fd, err := mount.ClonePath(overlay.Own(layers))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return move(fd, at)
}

// unhide takes the parts of the overlays out of the command's sight.
func unhide(p Plan) error {
	for i, it := range p.Items {
		if it.Kind != Overlay {
			continue
		}
		for _, at := range append(it.lowers(i), hiddenLayers(i)) {
			if err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
				return fmt.Errorf("parts of the overlay %s: %w", it.At, err)
			}
		}
	}
	return nil
}
