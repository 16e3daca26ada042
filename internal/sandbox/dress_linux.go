package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// dress makes, in a mount namespace that is one command's own, what is fresh
// for each command: /tmp, /dev/shm, terminals, the overlays in their layers, and
// again over those whatever lies in them. It returns the overlays that were
// refused.
func dress(p plan, req request) (own []string, err error) {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	v := &view{root: root, fds: map[string]int{}}
	defer v.close()
	if err := v.lift(p); err != nil {
		return nil, err
	}
	layers := req.Layers
	for i, it := range p.Items {
		var err error
		switch {
		case it.Kind == kindMemory:
			err = v.showMemory(it, req.Limits.tmpMB())
		case it.Kind == kindOverlay && len(layers) > 0:
			err = v.showOverlay(i, it, layers[0])
			layers = layers[1:]
		case it.Under >= 0 && p.Items[it.Under].Kind.fresh():
			err = v.showAgain(it)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", it.At, err)
		}
	}
	if err := v.terminals(); err != nil {
		return nil, fmt.Errorf("/dev/pts: %w", err)
	}
	if err := unhide(p); err != nil {
		return nil, err
	}
	return v.own, os.Mkdir(home, 0o700)
}

// lift looks whether what is mounted in the repository is still there, where a
// command may have moved a folder on the way to it, and takes hold of all that
// the fresh mounts are about to cover.
func (v *view) lift(p plan) error {
	for _, it := range p.Items {
		covered := it.Under >= 0 && p.Items[it.Under].Kind.fresh()
		if it.Kind.fresh() || !it.Inside && !covered {
			continue
		}
		fd, err := openBeneath(v.root, it.At[1:], how(it.Inside))
		if err != nil {
			return fmt.Errorf("%s: %w", it.At, err)
		}
		err = isMount(fd)
		if err == nil && covered {
			v.fds[bindKey(it.At)], err = unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLOEXEC)
		}
		_ = unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%s: %w", it.At, err)
		}
	}
	return nil
}

// statxMountRoot is STATX_ATTR_MOUNT_ROOT.
const statxMountRoot = 0x2000

func isMount(fd int) error {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &st); err != nil {
		return err
	}
	if st.Attributes&statxMountRoot == 0 {
		return errors.New("what was mounted there is gone")
	}
	return nil
}

func (v *view) showMemory(it item, sizeMB int) error {
	at, err := v.mountPoint(it.At, it.Inside, true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	return mountMemory(at, sizeMB, "1777", 0)
}

// showAgain mounts what a fresh mount has covered.
func (v *view) showAgain(it item) error {
	fd := v.fds[bindKey(it.At)]
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	at, err := v.mountPoint(it.At, it.Inside, st.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	return v.move(fd, at)
}

// showOverlay mounts an overlay, or, where the kernel refuses or there is
// nothing below, the cache that stands in for it.
func (v *view) showOverlay(i int, it item, name string) error {
	at, err := v.mountPoint(it.At, it.Inside, true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	layers := hiddenLayers(i)
	if it.Host != "" {
		opts := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr,index=off",
			hiddenLower(i), upperOf(layers, name), workOf(layers, name))
		// Volatile: the end of a command must not sync the host's whole disk.
		// What a power loss takes is a cache, whose readers check it.
		for _, o := range []string{opts + ",volatile", opts} {
			if unix.Mount("overlay", fdPath(at), "overlay", unix.MS_NOSUID|unix.MS_NODEV, o) == nil {
				return nil
			}
		}
	}
	v.own = append(v.own, it.At)
	fd, err := openBind(ownOf(layers))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return v.move(fd, at)
}

// unhide takes the parts of the overlays out of the command's sight.
func unhide(p plan) error {
	for i, it := range p.Items {
		if it.Kind != kindOverlay {
			continue
		}
		for _, at := range []string{hiddenLower(i), hiddenLayers(i)} {
			err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
			if err != nil && (it.Host != "" || at == hiddenLayers(i)) {
				return fmt.Errorf("parts of the overlay %s: %w", it.At, err)
			}
		}
	}
	return nil
}
