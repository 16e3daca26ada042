package supervisor

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/fork"
	"agency/internal/linux/seccomp"
	"agency/internal/rootfs"
)

// script is what a command's processes do before its program runs.
type script struct {
	*fork.Script
	next         uintptr // the number that the next file gets
	dir, program string
}

func socketsOf(p Plan, req Request) seccomp.Sockets {
	switch {
	case !p.Landlock && !p.NoUnix:
		return seccomp.SocketsAll
	case !p.Landlock || p.Loopback:
		return seccomp.SocketsInet
	case req.Port != 0:
		return seccomp.SocketsProxy
	}
	return seccomp.SocketsPairs
}

// writeScript writes down one command. fds are the command's three streams and where records go, all above the
// numbers that they get.
func writeScript(p Plan, req Request, fds [4]int, l locks) *script {
	s := &script{Script: fork.New(), dir: req.Dir, program: req.Argv[0]}
	s.takeFiles(fds, l)
	tasks := uint64(req.Limits.Tasks)
	if p.Landlock {
		tasks += linux.MachineTasks() // the kernel counts all of the user's
		s.keepWithout(l)
	} else {
		s.Flags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
		s.freshProc(req.Limits.Tasks)
	}
	s.limits(req.Limits, tasks)
	if req.Limits.Nice > 0 {
		s.Add(fork.Shared, "priority", fork.AnyError, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(req.Limits.Nice))
	}
	// Of a huge page one byte is enough to hold all, and what a process has put
	// away of it the kernel counts nowhere.
	s.Add(fork.Shared, "huge pages", fork.AnyError, unix.SYS_PRCTL, unix.PR_SET_THP_DISABLE, 1, 0, 0, 0)
	s.Add(fork.Shared, stepChdir, 0, unix.SYS_CHDIR, s.Text(req.Dir))
	s.giveUp(p.Landlock)
	what, args := seccomp.Arguments(socketsOf(p, req), p.Landlock, s.Bytes)
	s.Add(fork.Shared, what, 0, unix.SYS_SECCOMP, args...)
	if l.scope >= 0 {
		s.Add(fork.Shared, "scope", 0, unix.SYS_LANDLOCK_RESTRICT_SELF, fdScope, 0)
	}
	s.Add(fork.Command, "session", 0, unix.SYS_SETSID)
	if l.rules >= 0 {
		s.Add(fork.Command, "landlock", 0, unix.SYS_LANDLOCK_RESTRICT_SELF, fdRules, 0)
	}
	s.defaultSignals()
	none := s.Bytes(make([]byte, fork.SignalSet))
	s.Add(fork.Command, "signals", 0, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, none, 0, fork.SignalSet)
	s.Add(fork.Guard, "streams", 0, unix.SYS_CLOSE_RANGE, 0, 2, 0)
	s.Argv, s.Envp = s.Texts(req.Argv), s.Texts(req.Env)
	for _, p := range req.Programs {
		s.Programs = append(s.Programs, s.Text(p))
	}
	return s
}

// keepWithout is what takes the place of a pid namespace: the first process
// gets the orphans, ends what is left with its subreaper, and all below it bear a
// mark by which a later host knows them, should nobody be left to end them.
func (s *script) keepWithout(l locks) {
	s.Parent, s.Scoped = uintptr(os.Getpid()), l.scope >= 0
	set := uint64(1)<<(unix.SIGCHLD-1) | 1<<(fork.EndScope-1)
	s.Wakes = s.Bytes(binary.NativeEndian.AppendUint64(nil, set))
	last := unix.SIGKILL
	if s.Scoped {
		last = fork.EndScope
	}
	s.Add(fork.Shared, "orphans", 0, unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	s.Add(fork.Shared, "death signal", 0, unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(last), 0, 0, 0)
	s.Add(fork.Command, "death signal", 0, unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	s.mark()
}

// defaultSignals undoes what a host that was started by nohup, or in the
// background, ignores; all else that is ignored or caught ends with exec.
func (s *script) defaultSignals() {
	none := s.Bytes(make([]byte, 64)) // struct sigaction: SIG_DFL, no flags, an empty mask
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT} {
		s.Add(fork.Command, "signals", 0, unix.SYS_RT_SIGACTION, uintptr(sig), none, 0, fork.SignalSet)
	}
}

// stepChdir is the one step whose failing is the caller's affair.
const stepChdir = "chdir"

// The numbers of the files of a command's first process; the command itself
// has only the streams.
const (
	fdRules = 4
	fdScope = 5
)

func (s *script) takeFiles(fds [4]int, l locks) {
	all := make([]byte, fork.SignalSet)
	for i := range all {
		all[i] = 0xff
	}
	// What the command sends its first process must not run a handler there.
	s.Add(fork.Shared, "signals", 0, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, s.Bytes(all), 0, fork.SignalSet)
	for to, fd := range fds {
		flags := uintptr(0)
		if to == fork.FdStatus {
			flags = unix.O_CLOEXEC
		}
		s.Add(fork.Shared, "streams", 0, unix.SYS_DUP3, uintptr(fd), uintptr(to), flags)
	}
	s.next = fork.FdStatus + 1
	for i, fd := range [...]int{l.rules, l.scope} {
		if fd >= 0 {
			s.Add(fork.Shared, "rules", 0, unix.SYS_DUP3, uintptr(fd), uintptr(fdRules+i), unix.O_CLOEXEC)
			s.next = uintptr(fdRules + i + 1)
		}
	}
	s.Add(fork.Shared, "open files", 0, unix.SYS_CLOSE_RANGE, s.next, uintptr(^uint32(0)), 0)
}

// freshProc mounts a /proc of the command's own pid namespace, read-only: as
// the host's root one could otherwise write kernel settings that ask for no
// capability. Files that show the kernel's or the host's memory are covered.
func (s *script) freshProc(tasks int) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	proc := s.Text("/proc")
	s.Add(fork.Shared, "/proc", 0, unix.SYS_MOUNT, s.Text("proc"), proc, s.Text("proc"), flags, 0)
	for _, name := range rootfs.HiddenProc {
		s.Add(fork.Shared, "/proc/"+name, uintptr(unix.ENOENT),
			unix.SYS_MOUNT, s.Text("/dev/null"), s.Text("/proc/"+name), 0, unix.MS_BIND, 0)
	}
	s.limitTasks(tasks)
	s.Add(fork.Shared, "read-only /proc", 0, unix.SYS_MOUNT, 0, proc, 0, unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, 0)
}

// limits sets what the kernel counts for each process. Memory of all
// processes is the watch's: a limit on address space breaks every runtime that
// reserves more than it uses.
func (s *script) limits(l Limits, tasks uint64) {
	for _, r := range []struct {
		name string
		id   int
		v    uint64
	}{
		// One byte, not none: with none a core still goes to a program that
		// the host has set up for it.
		{"core", unix.RLIMIT_CORE, 1},
		{"file size", unix.RLIMIT_FSIZE, uint64(l.FileSizeMB) << 20},
		{"processes", unix.RLIMIT_NPROC, tasks},
		// These the kernel counts for a user in every namespace: others get
		// the rest of what a user has as a rule (800 KiB, 8 MiB).
		{"message queues", unix.RLIMIT_MSGQUEUE, 200 << 10},
		{"locked memory", unix.RLIMIT_MEMLOCK, 1 << 20},
		{"pending signals", unix.RLIMIT_SIGPENDING, 4096},
		{"open files", unix.RLIMIT_NOFILE, uint64(l.OpenFiles)},
		{"cpu", unix.RLIMIT_CPU, uint64((l.CPU + time.Second - 1) / time.Second)}, // the kernel counts whole ones
	} {
		if r.id == unix.RLIMIT_CPU && r.v == 0 {
			continue
		}
		v := lowered(r.id, r.v)
		b := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, v), v)
		s.Add(fork.Shared, "limit of "+r.name, 0, unix.SYS_PRLIMIT64, 0, uintptr(r.id), s.Bytes(b), 0)
	}
}

// lowered is a limit, or a stricter one that the host runs under.
func lowered(id int, v uint64) uint64 {
	var now unix.Rlimit
	if unix.Prlimit(0, id, nil, &now) == nil {
		v = min(v, now.Max)
	}
	return v
}
