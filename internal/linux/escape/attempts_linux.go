// Package escape has the attempts to break out of a sandbox that are made from
// inside: each tries one way and tells why it was stopped. What waits outside for
// some of them is laid out beforehand (Traps).
//
// It does not know what a sandbox promises: which attempts may get through is for
// who runs it to say.
package escape

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attempt tries to break out from inside. It returns why it could not; nil
// means that it got through.
type Attempt struct {
	Name string
	Try  func() error
}

// Inside says of the place that attempts are made in what they cannot find out.
type Inside struct {
	Init     string   // how the name of PID 1 begins, where there is a namespace of processes
	Hidden   []string // files of /proc that are covered
	Watchers int      // how many watches of files a user may have
	Scoped   bool     // the kernel can keep signals to a command's own processes
}

// Attempts are all there are. None needs anything of the host but that it is there.
func Attempts(in Inside) []Attempt {
	return slices.Concat([]Attempt{
		{"read the host's password file", func() error { return opened("/etc/shadow", os.O_RDONLY) }},
		{"see the host's processes", in.seeProcesses},
		{"write to the system", func() error { return opened("/usr/agency-escape", os.O_CREATE|os.O_WRONLY) }},
		{"write a kernel setting", func() error { return opened("/proc/sys/kernel/hostname", os.O_WRONLY) }},
		{"reach the network", func() error { return reached(unix.SOCK_STREAM, [4]byte{192, 0, 2, 1}, 443) }},
		{"send a datagram out", func() error { return reached(unix.SOCK_DGRAM, [4]byte{192, 0, 2, 1}, 53) }},
		{"reach the network by other streams", otherStreams},
		{"reach the network while sending", sendFirst},
		{"reach the network by IPv6", func() error {
			return connected(unix.AF_INET6, unix.SOCK_STREAM, 0, &unix.SockaddrInet6{Addr: [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}, Port: 443})
		}},
		{"open a socket to the hypervisor", func() error { return closed(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)) }},
		{"open a raw packet socket", func() error { return closed(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)) }},
		{"make a user namespace by unshare", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		{"make a user namespace by clone", func() error { return forked(unix.CLONE_NEWUSER, unix.SYS_GETPID) }},
		{"make a user namespace by clone3", func() error { return call(unix.SYS_CLONE3) }},
		{"enter another namespace", func() error { return call(unix.SYS_SETNS, ^uintptr(0), unix.CLONE_NEWUSER) }},
		{"mount", func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") }},
		{"change the root", func() error { return unix.Chroot("/tmp") }},
		{"mount by the new calls", func() error { return closed(unix.Fsopen("tmpfs", 0)) }},
		{"open a file by its handle", openByHandle},
		{"trace a process", func() error { return call(unix.SYS_PTRACE, unix.PTRACE_TRACEME) }},
		{"trace the supervisor", func() error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(os.Getppid())) }},
		{"read another process's memory", func() error { return opened(parent("mem"), os.O_RDONLY) }},
		{"read the supervisor's memory by call", readMemory},
		{"take a file of the supervisor", takeFile},
		{"open the supervisor's files", openFiles},
		{"enter the supervisor's root", func() error { _, err := os.ReadDir(parent("root")); return err }},
		{"end the supervisor", in.endSupervisor},
		{"use the kernel's keyring", func() error { _, err := unix.KeyctlGetKeyringID(-4, true); return err }},
		{"add a key", func() error { _, err := unix.AddKey("user", "agency", []byte("x"), -4); return err }},
		{"load a program into the kernel", func() error { return call(unix.SYS_BPF, 0) }},
		{"start io_uring", func() error { return call(unix.SYS_IO_URING_SETUP, 8) }},
		{"start userfaultfd", func() error { return call(unix.SYS_USERFAULTFD, 1) }},
		{"watch the kernel's events", func() error { return call(unix.SYS_PERF_EVENT_OPEN) }},
		{"watch every file", func() error { return call(unix.SYS_FANOTIFY_INIT, 0, 0) }},
		{"read the kernel's log", func() error { return call(unix.SYS_SYSLOG, 3, 0, 0) }},
		{"set the clock", func() error { return call(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME) }},
		{"load a module", func() error { return call(unix.SYS_INIT_MODULE) }},
		{"run a program from memory alone", func() error { return call(unix.SYS_MEMFD_CREATE) }},
		{"open a device of the host by number", openDevice},
		{"say where core dumps go", func() error { return opened("/proc/sys/kernel/core_pattern", os.O_WRONLY) }},
		{"dump core", coreLimit},
		{"talk to the kernel's audit", func() error { return closed(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)) }},
		{"listen to the kernel's devices", func() error {
			return closed(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT))
		}},
		{"change the network", changeNetwork},
		{"give a program the rights of its owner", runSetUID},
		{"inherit a file of the host", inheritedFiles},
		{"inherit a terminal", func() error { return opened("/dev/tty", os.O_RDWR) }},
		{"raise a limit", func() error {
			return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
		}},
		{"change the host's name", func() error { return unix.Sethostname([]byte("escaped")) }},
		{"type into a terminal", func() error { return typeBy(unix.TIOCSTI) }},
		{"make a device", func() error {
			return unix.Mknod("/tmp/agency-escape", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0)))
		}},
		{"make a set-user-id file", onFile(func(f *os.File) error { return unix.Fchmod(int(f.Fd()), unix.S_ISUID|0o755) })},
		{"keep a capability", capabilities},
	}, callAttempts(), fileAttempts(in), TrapAttempts(), otherAttempts(in))
}

func opened(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err == nil {
		_ = f.Close()
	}
	return err
}

// reached tries to connect to an address of the internet.
func reached(kind int, ip [4]byte, port int) error {
	return connected(unix.AF_INET, kind, 0, &unix.SockaddrInet4{Addr: ip, Port: port})
}

func connected(family, kind, protocol int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return answer(fd, unix.Connect(fd, to))
}

// otherStreams connects by protocols that are streams and not TCP.
func otherStreams() error {
	var all error
	for _, protocol := range []int{unix.IPPROTO_MPTCP, unix.IPPROTO_SCTP} {
		err := connected(unix.AF_INET, unix.SOCK_STREAM, protocol, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}, Port: 443})
		if err == nil {
			return nil
		}
		all = errors.Join(all, err)
	}
	return all
}

// sendFirst connects by sending (TCP fast open), without the call to connect.
func sendFirst() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return answer(fd, unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}, Port: 443}))
}

// answer waits for the end of a connect that began with err.
func answer(fd int, err error) error {
	if !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	const wait = 1000 // milliseconds
	if _, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, wait); err != nil {
		return err
	}
	_, err = unix.Getpeername(fd) // fails also when nothing came
	return err
}

func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	// A null argument is enough: a call that is let through answers EFAULT,
	// EINVAL or success, never EPERM.
	_, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return refusedOnly(e)
}

// refusedOnly turns an answer that is not a refusal into a success.
func refusedOnly(e syscall.Errno) error {
	if e == unix.EPERM || e == unix.EACCES || e == unix.ENOSYS {
		return e
	}
	return nil
}

// seeProcesses looks for a process that is not of the sandbox: the namespace
// begins with PID 1, this program's init.
func (in Inside) seeProcesses() error {
	b, err := os.ReadFile("/proc/1/cmdline")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(b), in.Init) {
		return nil
	}
	if err := opened("/proc/1/environ", os.O_RDONLY); err == nil {
		return nil
	}
	return errors.New("only the sandbox's own")
}

// capabilities succeeds, which is the failure, when /proc says that anything
// is left of them, or that a lock is open.
func capabilities() error {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for _, want := range []string{
		"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000",
		"CapAmb:\t0000000000000000", "CapInh:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
	} {
		if !strings.Contains(string(b), want+"\n") {
			return nil
		}
	}
	// Without a namespace only root can empty the bounding set, and
	// no_new_privs makes it worth nothing.
	if os.Getppid() == 1 && !strings.Contains(string(b), "CapBnd:\t0000000000000000\n") {
		return nil
	}
	return errors.New("none, no_new_privs, seccomp filter")
}
