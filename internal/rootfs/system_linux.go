package rootfs

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"agency/internal/linux/mount"
)

// System are the parts of the host that every command sees, read-only,
// where they exist: programs, libraries, and of /etc only what holds no
// secret and names nobody.
func System() []string {
	return append([]string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
		"/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/protocols", "/etc/services",
	}, devices[:]...)
}

// devices are all there are; the terminal is the command's own, if it makes
// one.
var devices = [...]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// HiddenProc are files of /proc that root's user id may read, or write,
// without any capability.
var HiddenProc = [...]string{
	"kcore", "keys", "key-users", "kmsg", "kpagecount", "kpageflags", "kpagecgroup", "pagetypeinfo",
	"sched_debug", "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo",
}

// skeleton fills the new root with the system: folders, links as the host has
// them, a synthetic /etc, devices.
func (v *builder) skeleton(p Plan) error {
	for _, dir := range []string{"/proc", "/sys", "/tmp", "/dev/pts", "/dev/shm", "/etc", "/run", "/var"} {
		if err := v.makePath(dir[1:], how(false), true); err != nil {
			return err
		}
	}
	for _, name := range System() {
		if err := v.showSystem(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, l := range [...][2]string{
		{"/proc/self/fd", "dev/fd"},
		{"/proc/self/fd/0", "dev/stdin"},
		{"/proc/self/fd/1", "dev/stdout"},
		{"/proc/self/fd/2", "dev/stderr"},
		{"pts/ptmx", "dev/ptmx"},
		{"/tmp", "var/tmp"},
	} {
		if err := unix.Symlinkat(l[0], v.root, l[1]); err != nil {
			return fmt.Errorf("/%s: %w", l[1], err)
		}
	}
	return v.syntheticEtc(p)
}

// showSystem shows one path of the system. One that is a link on the host is
// the same link inside; what it points to is shown only if it is listed.
func (v *builder) showSystem(name string) error {
	if target, ok := v.links[name]; ok {
		return v.link(name, target)
	}
	fd, ok := v.fds[name]
	if !ok {
		return nil
	}
	dir, err := mount.IsFolder(fd)
	if err != nil {
		return err
	}
	at, err := v.mountPoint(name, false, dir)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	if err := move(fd, at); err != nil {
		return err
	}
	if strings.HasPrefix(name, "/dev/") {
		// Read-only does not keep anybody from writing to a device, but the
		// host's root, who owns it, from changing its mode and times.
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC}
		return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr)
	}
	if err := mount.ReadOnly(fd); err != nil {
		return err
	}
	return v.cover(name, v.sources[name].inner)
}

func (t tree) link(name, target string) error {
	if parent := path.Dir(name); parent != "/" {
		if err := t.makePath(parent[1:], how(false), true); err != nil {
			return err
		}
	}
	return unix.Symlinkat(target, t.root, name[1:])
}

// mountKernel mounts a file system of the kernel's own: PID 1's /proc, in which it
// counts what its commands use and over which each command gets another, and the
// command's pseudo-terminals.
func (t tree) mountKernel(kind, where string, flags uintptr, opts string) error {
	at, err := t.mountPoint(where, false, true)
	if err == nil {
		defer func() { _ = unix.Close(at) }()
		err = unix.Mount(kind, mount.FdPath(at), kind, unix.MS_NOSUID|unix.MS_NOEXEC|flags, opts)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// syntheticEtc names the one user inside, and localhost.
func (t tree) syntheticEtc(p Plan) error {
	files := [...][2]string{
		{"passwd", fmt.Sprintf("root:x:0:0:root:/:/bin/sh\nagency:x:%d:%d:agency:%s:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", p.UID, p.GID, Home)},
		{"group", fmt.Sprintf("root:x:0:\nagency:x:%d:\nnogroup:x:65534:\n", p.GID)},
		{"hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"},
		{"hostname", "sandbox\n"},
		{"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"},
	}
	for _, f := range files {
		fd, err := unix.Openat(t.root, "etc/"+f[0], unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return fmt.Errorf("/etc/%s: %w", f[0], err)
		}
		_, err = unix.Write(fd, []byte(f[1]))
		if err = errors.Join(err, unix.Close(fd)); err != nil {
			return fmt.Errorf("/etc/%s: %w", f[0], err)
		}
	}
	return nil
}
