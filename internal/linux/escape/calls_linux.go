package escape

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// callAttempts go through the kernel's calls, one by one and by other numbers.
func callAttempts() []Attempt {
	return append([]Attempt{
		{"administer the machine", anyOf(unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
			unix.SYS_QUOTACTL_FD, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
			unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP)},
		{"set the clock by other calls", anyOf(unix.SYS_SETTIMEOFDAY, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME)},
		{"change mounts by other calls", anyOf(unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
			unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR)},
		{"reach another process's memory by other calls", anyOf(unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
			unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PIDFD_GETFD)},
		{"use io_uring that is there", anyOf(unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)},
		{"hold memory that nobody can count", anyOf(unix.SYS_MEMFD_SECRET, unix.SYS_MEMFD_CREATE)},
		{"hold the machine's asynchronous I/O", func() error {
			var context uintptr
			_, _, e := unix.Syscall(unix.SYS_IO_SETUP, 1024, uintptr(unsafe.Pointer(&context)), 0)
			return refusedOnly(e)
		}},
		{"hold the machine's huge pages", hugePages},
		{"change how the kernel runs programs", func() error { return call(unix.SYS_PERSONALITY, 0x0400000) }}, // READ_IMPLIES_EXEC
		{"type into a terminal by a longer number", func() error { return typeBy(unix.TIOCSTI | 1<<32) }},
		{"command the console", func() error { return typeBy(unix.TIOCLINUX) }},
		{"open a socket of another family", otherSockets},
		{"open a socket whose memory no list tells", unlistedSockets},
		{"give a socket a program", socketProgram},
		{"open a raw socket", func() error { return closed(unix.Socket(unix.AF_INET, unix.SOCK_RAW, 0)) }},
		{"be another user", otherUser},
		{"give a file to another user", onFile(func(f *os.File) error { return f.Chown(12345, 12345) })},
		{"give a file capabilities", onFile(func(f *os.File) error {
			return unix.Fsetxattr(int(f.Fd()), "security.capability", append([]byte{1, 0, 0, 2}, make([]byte, 16)...), 0)
		})},
		{"make a file that nobody can remove", onFile(func(f *os.File) error {
			return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable)
		})},
		{"make a set-user-id file by other calls", otherSetUIDs},
		{"run before others", runFirst},
		{"outlive the others when memory is short", func() error {
			return os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
		}},
	}, archAttempts()...)
}

// immutable is FS_IMMUTABLE_FL.
const immutable = 0x10

// noneOf is nil, which is the failure, when one of several ways got through.
func noneOf(answers ...error) error {
	for _, err := range answers {
		if err == nil {
			return nil
		}
	}
	return answers[0]
}

// anyOf makes calls of which each must be refused.
func anyOf(calls ...uintptr) func() error {
	return func() error {
		for _, nr := range calls {
			if call(nr) == nil {
				return nil
			}
		}
		return fmt.Errorf("%d calls: %w", len(calls), unix.EPERM)
	}
}

func hugePages() error {
	const size = 2 << 20
	_, _, e := unix.Syscall6(unix.SYS_MMAP, 0, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB, ^uintptr(0), 0)
	if e == unix.ENOMEM {
		return nil // asked, and there was none
	}
	return refusedOnly(e)
}

func typeBy(request uintptr) error {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	c := byte('x')
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&c)))
	return refusedOnly(e)
}

// otherSockets tries every family that a program has no use for, and those of
// the hypervisor and of raw packets by a number that is longer than the kernel
// reads.
func otherSockets() error {
	families := []int{unix.AF_VSOCK | 1<<32, unix.AF_PACKET | 1<<32}
	for f := range unix.AF_MAX {
		if f != unix.AF_UNIX && f != unix.AF_INET && f != unix.AF_INET6 && f != unix.AF_NETLINK && f != unix.AF_UNSPEC {
			families = append(families, f)
		}
	}
	for _, f := range families {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			_, _, e := unix.Syscall(unix.SYS_SOCKET, uintptr(f), uintptr(kind|unix.SOCK_CLOEXEC), 0)
			if refusedOnly(e) == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("%d families: %w", len(families), unix.EPERM)
}

func unlistedSockets() error {
	return noneOf(
		closed(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)), closed(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)),
		closed(unix.Socket(unix.AF_INET6, unix.SOCK_SEQPACKET, 0)), closed(unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_SCTP)))
}

// socketProgram has a socket take everything, by a program.
func socketProgram() error {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(p[0]), unix.Close(p[1]) }()
	all := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 16}
	return unix.SetsockoptSockFprog(p[0], unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &all})
}

// otherUser tries to become one, on a thread that ends with the attempt.
func otherUser() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- noneOf(
			rawCall(unix.SYS_SETRESUID, 12345, 12345, 12345), rawCall(unix.SYS_SETRESGID, 12345, 12345, 12345),
			rawCall(unix.SYS_SETGROUPS, 0, 0, 0), rawCall(unix.SYS_SETFSUID, 12345, 0, 0))
	}()
	return <-done
}

func rawCall(nr, a, b, c uintptr) error {
	_, _, e := unix.RawSyscall(nr, a, b, c)
	if nr == unix.SYS_SETFSUID { // never fails; asked for what cannot be, it says what is
		if got, _, _ := unix.RawSyscall(nr, ^uintptr(0), 0, 0); got != a {
			return unix.EPERM
		}
		return nil
	}
	return errnoOf(0, 0, e)
}

// onFile makes an attempt on a file of one's own.
func onFile(try func(*os.File) error) func() error {
	return func() error {
		f, err := os.CreateTemp("", "agency-attempt-")
		if err != nil {
			return err
		}
		defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
		return try(f)
	}
}

// otherSetUIDs makes a file with the bit, or gives it to one, by every call that
// takes a mode.
func otherSetUIDs() error {
	dir, err := os.MkdirTemp("", "agency-setuid-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	unix.Umask(0)
	at, mode := dir+"/f", uint32(unix.S_ISUID|0o755)
	for _, try := range []func() error{
		func() error { return closed(unix.Open(at, unix.O_CREAT|unix.O_WRONLY, mode)) },
		func() error { return closed(unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, mode)) },
		func() error { return closed(unix.Creat(at, mode)) },
		func() error { return unix.Mknod(at, unix.S_IFREG|mode, 0) },
		func() error { return errors.Join(os.WriteFile(at, nil, 0o700), unix.Chmod(at, mode)) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, at, mode, 0) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, at, mode, unix.AT_SYMLINK_NOFOLLOW) },
		func() error { return unix.Chmod(at, unix.S_ISGID|0o755) },
	} {
		if err := try(); err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("could not be tried: %w", err)
		}
		if fi, err := os.Stat(at); err == nil && fi.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			return nil
		}
	}
	return unix.EPERM
}

func closed(fd int, err error) error {
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// runFirst asks for a better place among ordinary processes, and for one before
// them all.
func runFirst() error {
	param := int32(1)
	return noneOf(
		unix.Setpriority(unix.PRIO_PROCESS, 0, -5),
		errnoOf(unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&param)))))
}

func errnoOf(_, _ uintptr, e syscall.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// forked makes a child that does nothing but one call, and gives how it ended.
func forked(flags, nr uintptr) error {
	pid, _, e := unix.RawSyscall(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		_, _, _ = unix.RawSyscall(nr, 0, 0, 0)
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return endOf(int(pid))
}

// endOf is nil for a child that came to its own end, which has status 0.
func endOf(pid int) error {
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &ws, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if ws.Signaled() {
		return fmt.Errorf("killed: %s", strings.TrimSpace(syscall.Signal(ws.Signal()).String()))
	}
	if ws.ExitStatus() != 0 {
		return fmt.Errorf("ended by a fault, with status %d", ws.ExitStatus())
	}
	return nil
}
