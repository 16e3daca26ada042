package sandbox

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process that is forked from a program with threads, and does not execute
// another, may do nothing but system calls: the locks of the other threads stay
// as they were, for ever. So what it has to do is written down before the fork,
// as a list of system calls with all that they point to, and the fork itself
// only goes through the list (fork_linux.go).

// step is one system call of a script.
type step struct {
	call uintptr
	args [6]uintptr
	// may is the error that does no harm, or anyError.
	may uintptr
}

const anyError = ^uintptr(0)

// script is all that a command's first process and the command itself do until
// the command's program runs. Its memory does not move: it is reached by
// address from the list.
type script struct {
	// shared is done by the first process of the namespace, before it forks the
	// command; then guard by itself, command by the command, which at last
	// tries each of programs.
	shared, guard, command []step
	programs               []uintptr
	argv, envp             uintptr
	flags                  uintptr // of the fork
	dir, program           string
	names                  [3][]string // of the steps, for messages
	record                 *record     // what is written to fdStatus
	held                   []any       // what the addresses point to
}

// record is what the processes of a script tell PID 1.
type record struct {
	What  int32
	Which int32 // the step of failed ones, in the order shared, guard, command
	Value int32 // an errno, or a wait status
}

const recordSize = int(unsafe.Sizeof(record{}))

// What a record tells.
const (
	tellFailed  = 1 + iota // a step
	tellNoStart            // the program cannot be executed
	tellEnded              // the command, with a wait status
)

func readRecord(b []byte) record {
	return record{
		What:  int32(binary.NativeEndian.Uint32(b)),
		Which: int32(binary.NativeEndian.Uint32(b[4:])),
		Value: int32(binary.NativeEndian.Uint32(b[8:])),
	}
}

// name is what a failed step did.
func (s *script) name(i int) string {
	for _, names := range s.names {
		if i < len(names) {
			return names[i]
		}
		i -= len(names)
	}
	return "?"
}

// Parts of a script.
const (
	partShared = iota
	partGuard
	partCommand
)

func (s *script) add(part int, name string, may uintptr, call uintptr, args ...uintptr) {
	st := step{call: call, may: may}
	copy(st.args[:], args)
	switch part {
	case partShared:
		s.shared = append(s.shared, st)
	case partGuard:
		s.guard = append(s.guard, st)
	default:
		s.command = append(s.command, st)
	}
	s.names[part] = append(s.names[part], name)
}

// text is the address of a string that ends with a null byte.
func (s *script) text(v string) uintptr {
	b := make([]byte, len(v)+1)
	copy(b, v)
	return s.bytes(b)
}

// bytes is the address of memory that lives as long as the script.
func (s *script) bytes(b []byte) uintptr {
	s.held = append(s.held, b) // and so it is on the heap, which does not move
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// texts is the address of a list of addresses of strings that ends with null.
func (s *script) texts(vs []string) uintptr {
	list := make([]byte, 0, (len(vs)+1)*int(unsafe.Sizeof(uintptr(0))))
	for _, v := range vs {
		list = binary.NativeEndian.AppendUint64(list, uint64(s.text(v)))
	}
	return s.bytes(binary.NativeEndian.AppendUint64(list, 0))
}

// keep keeps the script's memory until the fork is over.
func (s *script) keep() { runtime.KeepAlive(s) }

// signalSet is the size of the kernel's set of signals.
const signalSet = 8

// sockets are those that are left to a command.
type sockets int

const (
	// socketsAll: the network is the command's own, or the user opened the
	// machine's.
	socketsAll   sockets = iota
	socketsProxy         // TCP, to the port that Landlock leaves, and pairs
	socketsPairs
)

func socketsOf(p plan, req request) sockets {
	switch {
	case p.Tier != TierLandlock || p.Loopback:
		return socketsAll
	case req.Port != 0:
		return socketsProxy
	}
	return socketsPairs
}

// writeScript writes down one command. rules is -1 where there is no Landlock.
// fds are the command's three streams and where records go, all above the
// numbers that they get.
func writeScript(p plan, req request, fds [4]int, rules int) *script {
	s := &script{record: &record{}, dir: req.Dir, program: req.Argv[0]}
	s.takeFiles(fds, rules)
	tasks := uint64(req.Limits.tasks())
	if p.Tier == TierLandlock {
		tasks += machineTasks() // the kernel counts all of the user's
		s.add(partShared, "orphans", 0, unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		s.add(partShared, "death signal", 0, unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
		s.add(partCommand, "death signal", 0, unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	} else {
		s.flags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
		s.freshProc(req.Limits.tasks())
	}
	s.limits(req.Limits, tasks)
	s.add(partShared, stepChdir, 0, unix.SYS_CHDIR, s.text(req.Dir))
	s.giveUp(p.Tier)
	s.filter(socketsOf(p, req))
	s.add(partCommand, "session", 0, unix.SYS_SETSID)
	if rules >= 0 {
		s.add(partCommand, "landlock", 0, unix.SYS_LANDLOCK_RESTRICT_SELF, fdRules, 0)
	}
	s.defaultSignals()
	none := s.bytes(make([]byte, signalSet))
	s.add(partCommand, "signals", 0, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, none, 0, signalSet)
	s.add(partGuard, "streams", 0, unix.SYS_CLOSE_RANGE, 0, 2, 0)
	s.argv, s.envp = s.texts(req.Argv), s.texts(req.Env)
	for _, p := range candidates(req.Argv[0], getEnv(req.Env, "PATH")) {
		s.programs = append(s.programs, s.text(p))
	}
	return s
}

// defaultSignals undoes what a host that was started by nohup, or in the
// background, ignores; all else that is ignored or caught ends with exec.
func (s *script) defaultSignals() {
	none := s.bytes(make([]byte, 64)) // struct sigaction: SIG_DFL, no flags, an empty mask
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT} {
		s.add(partCommand, "signals", 0, unix.SYS_RT_SIGACTION, uintptr(sig), none, 0, signalSet)
	}
}

// stepChdir is the one step whose failing is the caller's affair.
const stepChdir = "chdir"

// The numbers of the files of a command's first process; the command itself
// has only the streams.
const (
	fdStatus = 3
	fdRules  = 4
)

func (s *script) takeFiles(fds [4]int, rules int) {
	all := make([]byte, signalSet)
	for i := range all {
		all[i] = 0xff
	}
	// What the command sends its first process must not run a handler there.
	s.add(partShared, "signals", 0, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, s.bytes(all), 0, signalSet)
	for to, fd := range fds {
		flags := uintptr(0)
		if to == fdStatus {
			flags = unix.O_CLOEXEC
		}
		s.add(partShared, "streams", 0, unix.SYS_DUP3, uintptr(fd), uintptr(to), flags)
	}
	next := uintptr(fdStatus + 1)
	if rules >= 0 {
		s.add(partShared, "rules", 0, unix.SYS_DUP3, uintptr(rules), fdRules, unix.O_CLOEXEC)
		next++
	}
	s.add(partShared, "open files", 0, unix.SYS_CLOSE_RANGE, next, uintptr(^uint32(0)), 0)
}

// freshProc mounts a /proc of the command's own pid namespace, read-only: as
// the host's root one could otherwise write kernel settings that ask for no
// capability. Files that show the kernel's or the host's memory are covered.
func (s *script) freshProc(tasks int) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	proc := s.text("/proc")
	s.add(partShared, "/proc", 0, unix.SYS_MOUNT, s.text("proc"), proc, s.text("proc"), flags, 0)
	for _, name := range hiddenProc {
		s.add(partShared, "/proc/"+name, uintptr(unix.ENOENT),
			unix.SYS_MOUNT, s.text("/dev/null"), s.text("/proc/"+name), 0, unix.MS_BIND, 0)
	}
	s.limitTasks(tasks)
	s.add(partShared, "read-only /proc", 0, unix.SYS_MOUNT, 0, proc, 0, unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, 0)
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
		{"message queues", unix.RLIMIT_MSGQUEUE, 819200},
		{"pending signals", unix.RLIMIT_SIGPENDING, 4096},
		{"open files", unix.RLIMIT_NOFILE, uint64(l.OpenFiles)},
		{"cpu", unix.RLIMIT_CPU, l.cpuSeconds()},
	} {
		if r.id == unix.RLIMIT_CPU && r.v == 0 {
			continue
		}
		v := lowered(r.id, r.v)
		b := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, v), v)
		s.add(partShared, "limit of "+r.name, 0, unix.SYS_PRLIMIT64, 0, uintptr(r.id), s.bytes(b), 0)
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
