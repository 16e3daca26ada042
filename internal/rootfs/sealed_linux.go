package rootfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/mount"
)

// What commands read is shown through overlays of which nothing can be written.
// A bind mount is the host's very folder: a socket in it answers, whatever the
// mount says of writing. An overlay has files of its own that read as those below
// it, and nobody listens at its sockets nor at the other end of its pipes.

// sealed is an overlay that stays as long as the sandbox.
type sealed struct {
	context int
	pause   time.Duration // at least so long between two looks
	looked  time.Time
}

// systemPause is how late a command may see what was installed meanwhile: a look
// at the whole system costs as much as a short command.
const systemPause = 10 * time.Second

// source is a folder or file of the host, held open before the new root covers
// anything.
type source struct {
	fd     int
	inner  []string // what is mounted below it, relative to it
	system bool
	parts  bool // of the system, and parts of it lie on other disks
}

// seal makes what is shown of every source: of a folder an overlay, of a file
// itself. Where the kernel refuses the overlay, as over what else is mounted in a
// folder, it is the folder itself, without its pipes (coverPipes); devices are
// refused by the mount, and sockets by the filter (View.Bound). Of the system,
// where only root could have put one, the sockets are covered that somebody
// listens at (Plan.Listeners).
func (v *builder) seal(p Plan) error {
	if err := v.makePath(emptyBelow[1:], how(false), true); err != nil {
		return err
	}
	empty, err := linux.OpenBeneath(v.root, emptyBelow[1:], how(false))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(empty) }()
	for at, s := range v.sources {
		dir, err := mount.IsFolder(s.fd)
		if err != nil {
			return err
		}
		if dir && !s.parts {
			if fd, context, err := mount.Overlay(s.fd, empty, p.NoSeal); err == nil {
				v.fds[at] = fd
				o := sealed{context: context, looked: time.Now()}
				if s.system {
					o.pause = systemPause
				}
				v.sealed = append(v.sealed, o)
				continue
			}
		}
		if dir && !s.system {
			v.bound = append(v.bound, at)
		}
		if v.fds[at], err = mount.Clone(s.fd); err != nil {
			return fmt.Errorf("bind:%s: %w", at, err)
		}
	}
	slices.Sort(v.bound)
	return nil
}

// emptyBelow is the second layer that an overlay must have.
const emptyBelow = Hidden + "/empty"

// look has an overlay forget what it has seen of the folder below it, which
// others may have changed since.
func (s *sealed) look() error {
	if time.Since(s.looked) < s.pause {
		return nil
	}
	s.looked = time.Now()
	err := unix.FsconfigSetFlag(s.context, "ro")
	if err == nil {
		err = unix.FsconfigReconfigure(s.context)
	}
	if err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	return nil
}

// Listeners are the sockets that have a path in the system's folders, where those
// really lie. The kernel tells them of the network of who asks, which is why the
// host does and not the sandbox.
func Listeners() (out []string) {
	b, err := os.ReadFile("/proc/self/net/unix")
	if err != nil {
		return nil
	}
	const path = 7 // behind number, references, protocol, flags, type, state, inode
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), " ", path+1)
		if at := strings.TrimLeft(f[len(f)-1], " 0123456789"); len(f) > path && strings.HasPrefix(at, "/") {
			dir, err := filepath.EvalSymlinks(filepath.Dir(at))
			if real := filepath.Join(dir, filepath.Base(at)); err == nil && slices.ContainsFunc(System(), func(s string) bool { return linux.Within(real, s) }) {
				out = append(out, real)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
