package sandbox

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fork starts the first process of a command's own pid namespace and returns
// its number in this one.
func (s *script) fork() (pid int, err error) {
	defer s.keep()
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
func forkFirst(s *script) (pid uintptr, e syscall.Errno) {
	pid, _, e = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|s.flags, 0, 0, 0, 0, 0)
	if e != 0 || pid != 0 {
		return pid, e
	}
	steps(s, s.shared, 0)
	command, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		tell(s, tellNoStart, 0, e)
	}
	if command == 0 {
		steps(s, s.command, len(s.shared)+len(s.guard))
		execute(s)
	}
	steps(s, s.guard, len(s.shared))
	for {
		got, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&s.record.Value)), 0, 0, 0, 0)
		if e != 0 && e != unix.EINTR {
			tell(s, tellFailed, -1, e)
		}
		if e == 0 && got == command {
			tell(s, tellEnded, 0, syscall.Errno(s.record.Value))
		}
	}
}

// steps goes through a list; the process ends at the first that fails.
//
//go:norace
//go:nocheckptr
//go:nosplit
func steps(s *script, list []step, first int) {
	for i := range list {
		st := &list[i]
		_, _, e := syscall.RawSyscall6(st.call, st.args[0], st.args[1], st.args[2], st.args[3], st.args[4], st.args[5])
		if e != 0 && st.may != anyError && st.may != uintptr(e) {
			tell(s, tellFailed, int32(first+i), e)
		}
	}
}

// execute becomes the first of the programs that can be executed.
//
//go:norace
//go:nocheckptr
//go:nosplit
func execute(s *script) {
	last := unix.ENOENT
	for i := range s.programs {
		_, _, e := syscall.RawSyscall6(unix.SYS_EXECVE, s.programs[i], s.argv, s.envp, 0, 0, 0)
		switch e {
		case unix.ENOENT, unix.ENOTDIR:
		case unix.EACCES:
			last = e
		default:
			tell(s, tellNoStart, 0, e)
		}
	}
	tell(s, tellNoStart, 0, last)
}

// tell writes a record and ends the process; with it, where it is the first,
// the namespace.
//
//go:norace
//go:nocheckptr
//go:nosplit
func tell(s *script, what, which int32, value syscall.Errno) {
	s.record.What, s.record.Which, s.record.Value = what, which, int32(value)
	_, _, _ = syscall.RawSyscall6(unix.SYS_WRITE, fdStatus, uintptr(unsafe.Pointer(s.record)), uintptr(recordSize), 0, 0, 0)
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 1, 0, 0, 0, 0, 0)
	}
}
