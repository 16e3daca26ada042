package escape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

// otherAttempts go for what is not the command's own: its supervisors, all that
// is the user's, what the whole machine has in common.
func otherAttempts(in Inside) []Attempt {
	return []Attempt{
		{"limit the supervisor", func() error { return onSupervisors(limitOther) }},
		{"slow the supervisor down", func() error { return onSupervisors(slowOther) }},
		{"slow down all that is the user's", slowAll},
		{"share memory with the machine", func() error {
			return in.ofMachineOnly(call(unix.SYS_SHMGET, unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600))
		}},
		{"take the machine's semaphores", func() error {
			return in.ofMachineOnly(call(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600))
		}},
		{"leave messages in the machine's queues", in.messageQueues},
		{"leave a file in the machine's shared memory", in.sharedFile},
		{"send a signal to all that is the user's", in.signalOthers},
		{"give a file of the user's an attribute", in.foreignAttribute},
		{"hide from who counts", func() error { return unheeded(unix.PR_SET_DUMPABLE, unix.PR_GET_DUMPABLE, "it stays in sight") }},
		{"take off the supervisor's mark", takeOffMark},
		{"hold up who opens a file", onFile(func(f *os.File) error {
			// The kernel asks no more of another's file than that it is the user's.
			_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
			return err
		})},
		{"fill a pipe with pages", func() error { return call(unix.SYS_VMSPLICE, ^uintptr(0), 0, 0, 0) }},
		{"hold the user's room in pipes", largePipe},
		{"keep huge pages", func() error { return unheeded(unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE, "they stay off") }},
		{"open files that only one thread has", func() error { return unix.CloseRange(1<<30, 1<<30, unix.CLOSE_RANGE_UNSHARE) }},
		{"free a dying process's memory", func() error { return call(unix.SYS_PROCESS_MRELEASE, ^uintptr(0), 0) }},
	}
}

// onSupervisors makes an attempt on the process above this one, and the one
// above that where it has a number here.
func onSupervisors(try func(pid int) error) error {
	above := os.Getppid()
	answers := []error{try(above)}
	if n, err := strconv.Atoi(linux.Parent(strconv.Itoa(above))); err == nil && n > 0 {
		answers = append(answers, try(n))
	}
	return noneOf(answers...)
}

// limitOther sets a limit of another process to what it is.
func limitOther(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &now); err != nil {
		now = unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	}
	return unix.Prlimit(pid, unix.RLIMIT_CPU, &now, nil)
}

// slowOther gives another process the place that everybody has, in each of the
// ways there are.
func slowOther(pid int) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err
	}
	param := int32(0)
	const everybody = 2<<13 | 4 // best effort, in the middle
	p := uintptr(pid)
	return noneOf(
		unix.Setpriority(unix.PRIO_PROCESS, pid, 0),
		unix.SchedSetaffinity(pid, &set),
		unix.SchedSetAttr(pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr}, 0),
		errnoOf(unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, p, unix.SCHED_NORMAL, uintptr(unsafe.Pointer(&param)))),
		errnoOf(unix.RawSyscall(unix.SYS_SCHED_SETPARAM, p, uintptr(unsafe.Pointer(&param)), 0)),
		errnoOf(unix.RawSyscall(unix.SYS_IOPRIO_SET, 1, p, everybody)))
}

func slowAll() error {
	return noneOf(
		unix.Setpriority(unix.PRIO_USER, 0, 0), unix.Setpriority(unix.PRIO_USER, os.Getuid(), 0),
		errnoOf(unix.RawSyscall(unix.SYS_IOPRIO_SET, linux.IoprioUser, 0, 2<<13|4)))
}

// machineIPC is the number that the namespace of the machine's own has for ever.
const machineIPC = "ipc:[4026531839]"

// ofMachineOnly takes what was made for stopped where it was made in a namespace
// of the sandbox's own.
func (in Inside) ofMachineOnly(answer error) error {
	if answer != nil {
		return answer
	}
	if own, err := os.Readlink("/proc/self/ns/ipc"); err == nil && own != machineIPC && in.namespace() {
		return errors.New("they are the sandbox's own")
	}
	return nil
}

func (in Inside) messageQueues() error {
	name, err := unix.BytePtrFromString("agency-escape")
	if err != nil {
		return err
	}
	_, _, e := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600, 0, 0, 0)
	if e == 0 {
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
	}
	return noneOf(
		in.ofMachineOnly(refusedOnly(e)),
		in.ofMachineOnly(call(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o600)))
}

// signalOthers asks of each process that it sees whether it could send it a
// signal; of PID 1 of a namespace another attempt asks.
func (in Inside) signalOthers() error {
	tried := 0
	for _, p := range linux.Processes() {
		pid, err := strconv.Atoi(p)
		if err != nil || pid == os.Getpid() || pid == 1 && in.namespace() {
			continue
		}
		if tried++; unix.Kill(pid, 0) == nil {
			return nil
		}
	}
	return fmt.Errorf("none of %d", tried)
}

// sharedFile makes one where shared memory of POSIX has its names.
func (in Inside) sharedFile() error {
	const path = "/dev/shm/agency-escape"
	err := opened(path, os.O_CREATE|os.O_RDWR)
	if err == nil {
		_ = os.Remove(path)
	}
	return in.ofMachineOnly(err)
}

// foreignAttribute tries the folders that this program and the checkout lie in,
// which are its user's where they are in sight.
func (in Inside) foreignAttribute() error {
	at, err := os.Getwd()
	if err != nil {
		return err
	}
	answers := []error{}
	for dir := filepath.Dir(at); ; dir = filepath.Dir(dir) {
		err := unix.Setxattr(dir, "user.agency-escape", []byte("x"), 0)
		if err == nil {
			_ = unix.Removexattr(dir, "user.agency-escape")
			if linux.Within(dir, "/tmp") && in.namespace() {
				err = errors.New("it is the sandbox's own")
			}
		}
		answers = append(answers, err)
		if dir == "/" {
			return noneOf(answers...)
		}
	}
}

// largePipe makes a pipe larger than the kernel does.
func largePipe() error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(p[0]), unix.Close(p[1]) }()
	_, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETPIPE_SZ, 2*linux.PipeMost)
	return err
}

// unheeded asks the kernel to set a flag of this process to 0, and looks whether it
// stays 1.
func unheeded(set, get int, stays string) error {
	if err := unix.Prctl(set, 0, 0, 0, 0); err != nil {
		return err
	}
	defer func() { _ = unix.Prctl(set, 1, 0, 0, 0) }()
	now, err := unix.PrctlRetInt(get, 0, 0, 0, 0)
	if err == nil && now == 1 {
		return errors.New(stays)
	}
	return err
}

// takeOffMark writes the files by which a supervisor knows its own.
func takeOffMark() error {
	var answers []error
	for _, name := range []string{"coredump_filter", "oom_score_adj", "timerslack_ns", "comm"} {
		at := "/proc/self/" + name
		b, err := os.ReadFile(at)
		if err == nil {
			err = os.WriteFile(at, b, 0)
		}
		answers = append(answers, err)
	}
	if err := noneOf(answers...); err == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.TrimSpace(answers[0].Error()))
}
