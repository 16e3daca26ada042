package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shownSystem are the parts of the host that every command sees, read-only,
// where they exist: programs, libraries, and of /etc only what holds no
// secret and names nobody.
func shownSystem() []string {
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

// hiddenProc are files of /proc that root's user id may read, or write,
// without any capability.
var hiddenProc = [...]string{
	"kcore", "keys", "key-users", "kmsg", "kpagecount", "kpageflags", "kpagecgroup", "pagetypeinfo",
	"sched_debug", "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo",
}

// skeleton fills the new root with the system: folders, links as the host has
// them, a synthetic /etc, devices.
func (v *view) skeleton(p plan) error {
	for _, dir := range []string{"/proc", "/sys", "/tmp", "/dev/pts", "/dev/shm", "/etc", "/run", "/var"} {
		if err := v.makePath(v.root, dir[1:], v.plainHow(), true); err != nil {
			return err
		}
	}
	for _, name := range shownSystem() {
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

func (v *view) plainHow() unix.OpenHow {
	return unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
}

// showSystem shows one path of the system. One that is a link on the host is
// the same link inside; what it points to is shown only if it is listed.
func (v *view) showSystem(name string) error {
	if target, ok := v.links[name]; ok {
		return v.link(name, target)
	}
	fd, ok := v.fds[bindKey(name)]
	if !ok {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	at, err := v.mountPoint(name, false, st.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	if err := unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return err
	}
	if strings.HasPrefix(name, "/dev/") {
		// Read-only does not keep anybody from writing to a device, but the
		// host's root, who owns it, from changing its mode and times.
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC}
		return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr)
	}
	return readOnly(fd)
}

func (v *view) link(name, target string) error {
	if parent := path.Dir(name); parent != "/" {
		if err := v.makePath(v.root, parent[1:], v.plainHow(), true); err != nil {
			return err
		}
	}
	return unix.Symlinkat(target, v.root, name[1:])
}

// terminals gives the command pseudo-terminals of its own.
func (v *view) terminals() error {
	at, err := v.mountPoint("/dev/pts", false, true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	return unix.Mount("devpts", fdPath(at), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
}

// syntheticEtc names the one user inside, and localhost.
func (v *view) syntheticEtc(p plan) error {
	files := [...][2]string{
		{"passwd", fmt.Sprintf("root:x:0:0:root:/:/bin/sh\nagency:x:%d:%d:agency:%s:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", p.UID, p.GID, home)},
		{"group", fmt.Sprintf("root:x:0:\nagency:x:%d:\nnogroup:x:65534:\n", p.GID)},
		{"hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"},
		{"hostname", "sandbox\n"},
		{"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"},
	}
	for _, f := range files {
		fd, err := unix.Openat(v.root, "etc/"+f[0], unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
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

func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var a, b int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

// loopbackUp starts the only interface that a new network namespace has.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	var req [40]byte // struct ifreq: a name of 16 bytes, then the flags
	copy(req[:], "lo")
	binary.NativeEndian.PutUint16(req[16:], unix.IFF_UP|unix.IFF_RUNNING)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(s), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&req[0]))); e != 0 {
		return e
	}
	return nil
}

// The kernel gives a user so many of these for all programs together, and
// charges those of a sandbox to the user's too: a command may not hold all that
// an editor outside needs. Watchers are what one process of a test runner or
// server has one or two of.
const (
	maxWatchers = 64
	maxWatched  = 65536
)

// bound lowers what the sandbox's user namespace may have of what the kernel
// counts for a user. No command can make another namespace, whatever it finds.
// A kernel without one of the counts has none to bound.
func bound() {
	for _, b := range [...]struct {
		name string
		most int
	}{
		{"max_inotify_instances", maxWatchers},
		{"max_inotify_watches", maxWatched},
		{"max_fanotify_groups", 0},
		{"max_user_namespaces", 0},
		{"max_cgroup_namespaces", 0},
		{"max_time_namespaces", 0},
	} {
		fd, err := unix.Open("/proc/sys/user/"+b.name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		_, _ = unix.Write(fd, strconv.AppendInt(nil, int64(b.most), 10))
		_ = unix.Close(fd)
	}
}
