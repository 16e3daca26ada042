//go:build linux && (amd64 || arm64)

package seccomp

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retKill  = unix.SECCOMP_RET_KILL_PROCESS
	retEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retNoSys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	retNone  = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)
	// retNoFamily is what a machine says that has no such sockets.
	retNoFamily = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)

	// retNoProtocol is the error of a protocol that the system does not have.
	retNoProtocol = unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)

	opLoad = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opJEQ  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	opJGE  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	opJSET = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	opJump = unix.BPF_JMP | unix.BPF_JA
	opAnd  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	opRet  = unix.BPF_RET | unix.BPF_K

	offNumber = 0
	offArch   = 4
	offArgs   = 16 // eight bytes each, the low half first on these machines
)

// newestCall is the last system call that this list has judged.
const newestCall = unix.SYS_MSEAL

// namespaceFlags are clone's CLONE_NEW*.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// setIDBits of a file's mode would outlive the sandbox, on a file of the
// caller's, root's even.
const setIDBits = unix.S_ISUID | unix.S_ISGID

// refused are the calls of both machines that get EPERM.
var refused = [...]uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_VHANGUP, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PROCESS_MRELEASE,
}

// ofMachine are calls to what belongs to the whole machine where there is no
// namespace of it: shared memory, semaphores and queues that outlive who made
// them, that nobody counts, and that are the user's own programs' too. There they
// get the answer of a kernel that has none.
var ofMachine = [...]uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// ofFiles are calls that change what Landlock has no right for and no build
// needs: attributes of files, and lists of who may use them. Where the user's
// files are in sight they get the answer of a file system without.
var ofFiles = [...]uint32{
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
}

// byNumber is a call that changes a process, or several, which an argument names.
type byNumber struct {
	call uint32
	who  int    // the argument
	all  uint32 // what the first argument is where it means all of a user's; 0: who is always one process
}

var callsByNumber = [...]byNumber{
	{call: unix.SYS_PRLIMIT64},
	{call: unix.SYS_SCHED_SETSCHEDULER},
	{call: unix.SYS_SCHED_SETPARAM},
	{call: unix.SYS_SCHED_SETATTR},
	{call: unix.SYS_SCHED_SETAFFINITY},
	{call: unix.SYS_SETPRIORITY, who: 1, all: unix.PRIO_USER},
	{call: unix.SYS_IOPRIO_SET, who: 1, all: linux.IoprioUser},
}

// absent are calls for which every caller has a second way, and whose
// arguments a filter cannot see, or whose memory nobody could count (a byte in a
// pipe may hold a huge page), or of which the whole machine has only so many
// (asynchronous I/O).
var absent = [...]uint32{
	unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_IO_SETUP, unix.SYS_VMSPLICE,
}

// masked refuses a call when an argument has one of the bits.
type masked struct {
	call uint32
	arg  int
	bits uint32
}

var maskedCalls = [...]masked{
	{call: unix.SYS_FCHMOD, arg: 1, bits: setIDBits},
	{call: unix.SYS_FCHMODAT, arg: 2, bits: setIDBits},
	{call: unix.SYS_FCHMODAT2, arg: 2, bits: setIDBits},
	{call: unix.SYS_MKNODAT, arg: 2, bits: setIDBits},
	// Huge pages are set aside for somebody, and in no process's resident size.
	{call: unix.SYS_MMAP, arg: 3, bits: unix.MAP_HUGETLB},
	{call: unix.SYS_CLOSE_RANGE, arg: 2, bits: unix.CLOSE_RANGE_UNSHARE}, // as threadRule
}

// fastOpens are calls that connect while they send: Landlock does not see it.
var fastOpens = [...]masked{
	{call: unix.SYS_SENDTO, arg: 3, bits: unix.MSG_FASTOPEN},
	{call: unix.SYS_SENDMSG, arg: 2, bits: unix.MSG_FASTOPEN},
	{call: unix.SYS_SENDMMSG, arg: 3, bits: unix.MSG_FASTOPEN},
}

// kindOfSocket are the bits of a socket's type that are no flags.
const kindOfSocket = 0xf

// opening is a call that may make a file; its mode, the argument after its
// flags, counts only where it does.
type opening struct {
	call  uint32
	flags int
}

// makesFile are the flags of open that make a file: O_CREAT and the bit of
// O_TMPFILE that is its own.
const makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// filter is the program, one rule after the other; shared says that the machine's
// own processes and files are in sight, for want of namespaces; a rule that looks at
// arguments ends in a return, because the number is then no longer loaded.
func filter(left Sockets, shared bool) []unix.SockFilter {
	p := []unix.SockFilter{
		{Code: opLoad, K: offArch},
		{Code: opJEQ, Jt: 1, K: auditArch},
		{Code: opRet, K: retKill},
		{Code: opLoad, K: offNumber},
	}
	p = append(p, archRules()...)
	p = append(p, unix.SockFilter{Code: opJGE, Jf: 1, K: newestCall + 1}, unix.SockFilter{Code: opRet, K: retNoSys})
	p = append(p, onCalls(retEPERM, append(refused[:], archRefused()...)...)...)
	p = append(p, onCalls(retNoSys, absent[:]...)...)
	if shared {
		p = append(p, onCalls(retNoSys, ofMachine[:]...)...)
		p = append(p, onCalls(retNone, ofFiles[:]...)...)
	}
	for _, c := range callsByNumber {
		p = append(p, c.rule(shared)...)
	}
	for _, m := range append(maskedCalls[:], archMasked()...) {
		p = append(p, m.rule()...)
	}
	for _, o := range append(archOpens(), opening{call: unix.SYS_OPENAT, flags: 2}) {
		p = append(p, openRule(o)...)
	}
	p = slices.Concat(p, threadRule(), commandRule(), fileCommandRule(), personalityRule(), optionRule(), shownRule())
	if left == SocketsProxy {
		p = append(p, unix.SockFilter{Code: opJEQ, Jf: 1, K: unix.SYS_LISTEN}, unix.SockFilter{Code: opRet, K: retEPERM})
		for _, m := range fastOpens {
			p = append(p, m.rule()...)
		}
	}
	p = append(p, socketRule(unix.SYS_SOCKET, left)...)
	p = append(p, pairRule(left)...)
	return append(p, unix.SockFilter{Code: opRet, K: retAllow})
}

func (m masked) rule() []unix.SockFilter {
	return onCall(m.call,
		load(m.arg),
		unix.SockFilter{Code: opJSET, Jf: 1, K: m.bits},
		unix.SockFilter{Code: opRet, K: retEPERM},
		unix.SockFilter{Code: opRet, K: retAllow})
}

// rule leaves a call on others that are the command's own, which in namespaces of
// its own are all that have a number but the first, and elsewhere only the caller:
// a filter cannot tell whose a number is.
func (c byNumber) rule(shared bool) []unix.SockFilter {
	var p []unix.SockFilter
	if c.all != 0 {
		p = append(p, load(0), unix.SockFilter{Code: opJEQ, Jf: 1, K: c.all}, unix.SockFilter{Code: opRet, K: retEPERM})
	}
	p = append(p, load(c.who))
	if shared {
		return onCall(c.call, append(p, oneOf([]uint32{0}, retAllow, retEPERM)...)...)
	}
	return onCall(c.call, append(p, oneOf([]uint32{1}, retEPERM, retAllow)...)...)
}

func load(arg int) unix.SockFilter {
	return unix.SockFilter{Code: opLoad, K: uint32(offArgs + 8*arg)}
}

// onCall runs body, which must return, when the call is nr.
func onCall(nr uint32, body ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: opJEQ, Jf: uint8(len(body)), K: nr}}, body...)
}

// onCalls returns ret when the call is one of nrs, at most 254. All share one
// return: what a filter costs to put in force is its length.
func onCalls(ret uint32, nrs ...uint32) []unix.SockFilter {
	p := make([]unix.SockFilter, 0, len(nrs)+2)
	for i, nr := range nrs {
		p = append(p, unix.SockFilter{Code: opJEQ, Jt: uint8(len(nrs) - i), K: nr})
	}
	return append(p, unix.SockFilter{Code: opJump, K: 1}, unix.SockFilter{Code: opRet, K: ret})
}

// oneOf returns hit when the loaded argument is one of values, else miss.
func oneOf(values []uint32, hit, miss uint32) []unix.SockFilter {
	var p []unix.SockFilter
	for _, v := range values {
		p = append(p, unix.SockFilter{Code: opJEQ, Jf: 1, K: v}, unix.SockFilter{Code: opRet, K: hit})
	}
	return append(p, unix.SockFilter{Code: opRet, K: miss})
}

// openRule refuses to make a file with set-id bits.
func openRule(o opening) []unix.SockFilter {
	return onCall(o.call,
		load(o.flags),
		unix.SockFilter{Code: opJSET, Jt: 1, K: makesFile},
		unix.SockFilter{Code: opRet, K: retAllow},
		load(o.flags+1),
		unix.SockFilter{Code: opJSET, Jf: 1, K: setIDBits},
		unix.SockFilter{Code: opRet, K: retEPERM},
		unix.SockFilter{Code: opRet, K: retAllow})
}

// threadRule refuses new namespaces, and threads with open files of their own: who
// counts what a process holds sees those of its first thread.
func threadRule() []unix.SockFilter {
	return onCall(unix.SYS_CLONE,
		load(0),
		unix.SockFilter{Code: opJSET, Jf: 1, K: namespaceFlags},
		unix.SockFilter{Code: opRet, K: retEPERM},
		unix.SockFilter{Code: opJSET, Jt: 1, K: unix.CLONE_THREAD},
		unix.SockFilter{Code: opRet, K: retAllow},
		unix.SockFilter{Code: opJSET, Jt: 1, K: unix.CLONE_FILES},
		unix.SockFilter{Code: opRet, K: retEPERM},
		unix.SockFilter{Code: opRet, K: retAllow})
}

// fileCommandRule refuses leases and notices of folders (fcntl(2)): a lease on a
// file of the host holds up whoever opens it outside, for as long as the kernel
// waits. And pipes larger than the kernel makes them: the room for those is one
// user's, in every namespace.
func fileCommandRule() []unix.SockFilter {
	return onCall(unix.SYS_FCNTL, append([]unix.SockFilter{
		load(1),
		{Code: opJEQ, Jf: 4, K: unix.F_SETPIPE_SZ},
		load(2),
		{Code: opJGE, Jf: 1, K: linux.PipeMost + 1},
		{Code: opRet, K: retEPERM},
		{Code: opRet, K: retAllow},
	}, oneOf([]uint32{unix.F_SETLEASE, unix.F_NOTIFY}, retEPERM, retAllow)...)...)
}

// fileSystemCommands are the commands (ioctl(2)) of file systems that are left: those
// that ask, and those that copy into a file that is open for writing.
var fileSystemCommands = [...]uint32{
	unix.FS_IOC_GETFLAGS, linux.GetFlags32, linux.GetVersion, linux.GetVersion32, linux.GetAttributes, linux.GetFieMap, unix.FICLONE, unix.FICLONERANGE,
}

// kindOfCommand are the bits that say whose a command is.
const kindOfCommand = 0xff00

// fileSystems are those of file systems: of all, of ext4, of XFS, of FAT, of btrfs
// (and clones), of bcachefs, of f2fs, of NILFS.
var fileSystems = [...]uint32{'f' << 8, 'v' << 8, 'X' << 8, 'r' << 8, 0x94 << 8, 0xbc << 8, 0xf5 << 8, 'n' << 8}

// commandRule refuses to type into a terminal (TIOCSTI), or to command the
// console. Of the commands of file systems, for which Landlock has no right and
// which ask no more than that a file is the user's, it leaves those that change
// nothing: flags, numbers and keys of a file outside could else be set, and in
// some snapshots be made. The others get the answer of a file system without.
func commandRule() []unix.SockFilter {
	const retNoCommand = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOTTY)
	body := []unix.SockFilter{load(1)}
	for _, c := range []uint32{unix.TIOCSTI, unix.TIOCLINUX} {
		body = append(body, unix.SockFilter{Code: opJEQ, Jf: 1, K: c}, unix.SockFilter{Code: opRet, K: retEPERM})
	}
	for _, c := range fileSystemCommands {
		body = append(body, unix.SockFilter{Code: opJEQ, Jf: 1, K: c}, unix.SockFilter{Code: opRet, K: retAllow})
	}
	body = append(body, unix.SockFilter{Code: opAnd, K: kindOfCommand})
	return onCall(unix.SYS_IOCTL, append(body, oneOf(fileSystems[:], retNoCommand, retAllow)...)...)
}

// shownRule keeps a process from hiding itself from who counts its memory and
// files, and from turning huge pages on again (script.limits). Those that do so
// are told that it is done.
func shownRule() []unix.SockFilter {
	return onCall(unix.SYS_PRCTL, append([]unix.SockFilter{load(0)},
		oneOf([]uint32{unix.PR_SET_DUMPABLE, unix.PR_SET_THP_DISABLE}, unix.SECCOMP_RET_ERRNO, retAllow)...)...)
}

// personalityRule leaves what race detectors and old builds ask for, and the
// question.
func personalityRule() []unix.SockFilter {
	const linux32, uname26, noRandom, ask = 0x0008, 0x20000, 0x40000, 0xffffffff
	return onCall(unix.SYS_PERSONALITY, append([]unix.SockFilter{load(0)},
		oneOf([]uint32{0, linux32, uname26, linux32 | uname26, noRandom, ask}, retAllow, retEPERM)...)...)
}

// optionRule refuses programs for sockets (SO_ATTACH_FILTER and its kin): each
// keeps memory that is in no list, and runs in the kernel.
func optionRule() []unix.SockFilter {
	return onCall(unix.SYS_SETSOCKOPT, append([]unix.SockFilter{
		load(1),
		{Code: opJEQ, Jt: 1, K: unix.SOL_SOCKET},
		{Code: opRet, K: retAllow},
		load(2),
	}, oneOf([]uint32{
		unix.SO_ATTACH_FILTER, unix.SO_ATTACH_BPF, unix.SO_ATTACH_REUSEPORT_CBPF, unix.SO_ATTACH_REUSEPORT_EBPF,
	}, retEPERM, retAllow)...)...)
}

// socketRule leaves unix and internet sockets, of which there is only a
// loopback inside, and of netlink the one that lists interfaces. A socket to
// the machine's hypervisor (AF_VSOCK) is among what it refuses.
//
// Where the network and the file system are the machine's own, so are all that
// listen there, and a filter cannot see whom a socket is for. Sockets but pairs
// are then refused in the way of a machine that has none: programs know that,
// and say it. With a proxy TCP is left, to which Landlock has a rule.
func socketRule(call uint32, left Sockets) []unix.SockFilter {
	const none = retNoFamily
	to := func(ret uint32) []unix.SockFilter { return []unix.SockFilter{{Code: opRet, K: ret}} }
	local, inet, inet6 := to(none), to(none), to(none)
	// What waits in sockets of other protocols no list of the kernel's tells.
	listed := append([]unix.SockFilter{
		load(1),
		{Code: opAnd, K: kindOfSocket},
		{Code: opJGE, Jf: 1, K: unix.SOCK_RAW + 1},
		{Code: opRet, K: retNoProtocol},
		load(2),
	}, oneOf([]uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6}, retAllow, retNoProtocol)...)
	switch left {
	case SocketsAll:
		local, inet, inet6 = to(retAllow), listed, listed
	case SocketsInet:
		inet, inet6 = listed, listed
	case SocketsProxy:
		// Of a stream, which other protocols are too.
		inet = append([]unix.SockFilter{
			load(1),
			{Code: opAnd, K: kindOfSocket},
			{Code: opJEQ, Jt: 1, K: unix.SOCK_STREAM},
			{Code: opRet, K: none},
			load(2),
		}, oneOf([]uint32{0, unix.IPPROTO_TCP}, retAllow, none)...)
	}
	body := []unix.SockFilter{load(0)}
	for _, f := range []struct {
		family uint32
		then   []unix.SockFilter
	}{{unix.AF_INET, inet}, {unix.AF_UNIX, local}, {unix.AF_INET6, inet6}} {
		body = append(append(body, unix.SockFilter{Code: opJEQ, Jf: uint8(len(f.then)), K: f.family}), f.then...)
	}
	body = append(body,
		unix.SockFilter{Code: opJEQ, Jt: 1, K: unix.AF_NETLINK}, unix.SockFilter{Code: opRet, K: retEPERM},
		load(2),
		unix.SockFilter{Code: opJEQ, Jf: 1, K: unix.NETLINK_ROUTE}, unix.SockFilter{Code: opRet, K: retAllow},
		unix.SockFilter{Code: opRet, K: retEPERM})
	return onCall(call, body...)
}

// pairRule leaves pairs of sockets. Where sockets that have a path are refused, a
// half of a pair of datagrams is refused like them: it sends to whatever path it
// is told, and Landlock has no right for that. The halves of other pairs are
// joined for good.
func pairRule(left Sockets) []unix.SockFilter {
	if left == SocketsAll {
		return socketRule(unix.SYS_SOCKETPAIR, left)
	}
	return onCall(unix.SYS_SOCKETPAIR, append([]unix.SockFilter{
		load(0),
		{Code: opJEQ, Jt: 1, K: unix.AF_UNIX},
		{Code: opRet, K: retEPERM},
		load(1),
		{Code: opAnd, K: kindOfSocket},
	}, oneOf([]uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}, retAllow, retNoFamily)...)...)
}

// Arguments are those of the call that puts a process under the filter; hold keeps
// memory for as long as the call can come, and gives its address.
func Arguments(left Sockets, shared bool, hold func([]byte) uintptr) (what string, args []uintptr) {
	p := filter(left, shared)
	raw := make([]byte, 0, len(p)*8)
	for _, f := range p {
		raw = binary.NativeEndian.AppendUint16(raw, f.Code)
		raw = append(raw, f.Jt, f.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, f.K)
	}
	prog := binary.NativeEndian.AppendUint64(nil, uint64(len(p))) // a length of 16 bits, padded: little-endian machines both
	prog = binary.NativeEndian.AppendUint64(prog, uint64(hold(raw)))
	return "seccomp", []uintptr{unix.SECCOMP_SET_MODE_FILTER, 0, hold(prog)}
}
