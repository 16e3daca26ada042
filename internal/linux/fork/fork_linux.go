package fork

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fork starts the first process of a command's own pid namespace and returns
// its number in this one.
func (s *Script) Fork() (pid int, err error) {
	defer runtime.KeepAlive(s)
	got, e := forkFirst(s)
	if e != 0 {
		return 0, e
	}
	return int(got), nil
}

// forkFirst forks the first process, as a rule of a namespace, which in turn forks the
// command, waits for it and for every orphan that it leaves, and tells how the
// command ended. Below the fork there are only system calls and numbers: no
// allocation, no growing stack, no pointer is stored, nothing that a thread of
// the runtime would be needed for.
//
//go:norace
//go:nocheckptr
//go:noinline
func forkFirst(s *Script) (pid uintptr, e syscall.Errno) {
	pid, _, e = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|s.Flags, 0, 0, 0, 0, 0)
	if e != 0 || pid != 0 {
		return pid, e
	}
	steps(s, s.parts[Shared], 0)
	if s.Parent != 0 {
		checkScope(s)
	}
	command, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		tell(s, NotStarted, 0, e)
	}
	if command == 0 {
		steps(s, s.parts[Command], len(s.parts[Shared])+len(s.parts[Guard]))
		execute(s)
	}
	steps(s, s.parts[Guard], len(s.parts[Shared]))
	if s.Scoped {
		awaitScoped(s, command)
	}
	for {
		got, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&s.record.Value)), 0, 0, 0, 0)
		if e != 0 && e != unix.EINTR {
			tell(s, tellFailed, -1, e)
		}
		if e == 0 && got == command {
			tell(s, Ended, 0, syscall.Errno(s.record.Value))
		}
	}
}

// EndScope tells a command's first process that is scoped to end all that
// is left and itself; it gets it also when its subreaper ends.
const EndScope = unix.SIGTERM

// checkScope ends the process where its subreaper has ended before it could be told
// so, and where it could send a signal to its subreaper: what is not held to its own
// processes must never send one to all.
//
//go:norace
//go:nocheckptr
//go:nosplit
func checkScope(s *Script) {
	if parent, _, _ := syscall.RawSyscall6(unix.SYS_GETPPID, 0, 0, 0, 0, 0, 0); parent != s.Parent {
		tell(s, tellFailed, -1, unix.ESRCH)
	}
	if !s.Scoped {
		return
	}
	if _, _, e := syscall.RawSyscall6(unix.SYS_KILL, s.Parent, 0, 0, 0, 0, 0); e != unix.EPERM {
		tell(s, tellFailed, -1, unix.ENOTSUP)
	}
}

// awaitScoped waits for the command, as forkFirst does, and for the word to end
// before it. It tells only when nothing is left.
//
//go:norace
//go:nocheckptr
//go:nosplit
func awaitScoped(s *Script, command uintptr) {
	for {
		got, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&s.record.Value)), unix.WNOHANG|unix.WALL, 0, 0, 0)
		switch {
		case e != 0 && e != unix.EINTR:
			clearScope(s)
			tell(s, tellFailed, -1, e)
		case e == 0 && got == command:
			clearScope(s)
			tell(s, Ended, 0, syscall.Errno(s.record.Value))
		case e != 0 || got != 0:
			continue
		}
		sig, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, s.Wakes, 0, 0, SignalSet, 0, 0)
		if e == 0 && sig == uintptr(EndScope) {
			clearScope(s)
			tell(s, tellFailed, -1, unix.EINTR)
		}
	}
}

// clearScope ends all that this process, which is held to its own (checkScope),
// may send a signal to, and waits until it is gone. What a fork was about to
// make goes with it: the kernel looks for the signal before it lets it be.
//
//go:norace
//go:nocheckptr
//go:nosplit
func clearScope(s *Script) {
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_KILL, ^uintptr(0), uintptr(unix.SIGKILL), 0, 0, 0, 0)
		_, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), 0, unix.WALL, 0, 0, 0)
		if e == unix.ECHILD {
			return
		}
	}
}

// steps goes through a list; the process ends at the first that fails.
//
//go:norace
//go:nocheckptr
//go:nosplit
func steps(s *Script, list []step, first int) {
	for i := range list {
		st := &list[i]
		_, _, e := syscall.RawSyscall6(st.call, st.args[0], st.args[1], st.args[2], st.args[3], st.args[4], st.args[5])
		if e != 0 && st.may != AnyError && st.may != uintptr(e) {
			tell(s, tellFailed, int32(first+i), e)
		}
	}
}

// execute becomes the first of the programs that can be executed.
//
//go:norace
//go:nocheckptr
//go:nosplit
func execute(s *Script) {
	last := unix.ENOENT
	for i := range s.Programs {
		_, _, e := syscall.RawSyscall6(unix.SYS_EXECVE, s.Programs[i], s.Argv, s.Envp, 0, 0, 0)
		switch e {
		case unix.ENOENT, unix.ENOTDIR:
		case unix.EACCES:
			last = e
		default:
			tell(s, NotStarted, 0, e)
		}
	}
	tell(s, NotStarted, 0, last)
}

// tell writes a record and ends the process; with it, where it is the first,
// the namespace.
//
//go:norace
//go:nocheckptr
//go:nosplit
func tell(s *Script, what, which int32, value syscall.Errno) {
	s.record.What, s.record.Which, s.record.Value = what, which, int32(value)
	_, _, _ = syscall.RawSyscall6(unix.SYS_WRITE, FdStatus, uintptr(unsafe.Pointer(s.record)), uintptr(RecordSize), 0, 0, 0)
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 1, 0, 0, 0, 0, 0)
	}
}
