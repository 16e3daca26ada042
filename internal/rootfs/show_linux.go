package rootfs

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"agency/internal/linux/mount"
)

// showStatic mounts one item of the plan that stays; of one that is made anew
// for each command only the place where it will be.
func (v *builder) showStatic(p Plan, i int) error {
	it := p.Items[i]
	if it.Kind == Overlay {
		if err := v.hide(i, it); err != nil {
			return err
		}
	}
	if it.Kind.fresh() && p.underFresh(i) {
		return nil
	}
	dir := true
	if it.Kind == Bind {
		var err error
		if dir, err = mount.IsFolder(v.fds[it.At]); err != nil {
			return err
		}
	}
	at, err := v.mountPoint(it.At, it.Inside, dir)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	switch {
	case it.Kind.fresh():
		return nil
	case it.Kind == Empty:
		return mount.Memory(at, 0, "555", unix.MS_RDONLY)
	default:
		return v.showBind(it, at)
	}
}

// hide mounts what an overlay will be made of where no command sees it.
func (v *builder) hide(i int, it Item) error {
	layers := hiddenLayers(i)
	for _, at := range append(it.lowers(i), layers) {
		fd := v.fds[at]
		point, err := v.mountPoint(at, false, true)
		if err != nil {
			return err
		}
		err = move(fd, point)
		_ = unix.Close(point)
		if err != nil {
			return fmt.Errorf("parts of an overlay: %w", err)
		}
		set := mount.ReadOnly
		if at == layers {
			set = mount.Writable
		}
		if err := set(fd); err != nil {
			return err
		}
	}
	return nil
}

func (v *builder) showBind(it Item, at int) error {
	fd := v.fds[it.At]
	if err := move(fd, at); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	switch {
	case it.Writable:
		return mount.Writable(fd)
	case it.Place:
		v.late = append(v.late, fd)
		return mount.Writable(fd)
	}
	if err := mount.ReadOnly(fd); err != nil {
		return err
	}
	if err := v.cover(it.At, v.sources[it.At].inner); err != nil {
		return err
	}
	if slices.Contains(v.bound, it.At) {
		return v.coverPipes(it)
	}
	return nil
}
