//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The filter refuses what a build or a test has no use for and the kernel's
// history of holes is made of: new namespaces and mounts, other processes'
// memory, keyrings, programs in the kernel, io_uring, userfaultfd, modules,
// clocks, set-user-id bits, and socket families but four. Calls that are newer
// than this list do not exist inside.

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retKill  = unix.SECCOMP_RET_KILL_PROCESS
	retEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retNoSys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

	opLoad = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opJEQ  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	opJGE  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	opJSET = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
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
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
}

// absent are calls for which every caller has a second way, and whose
// arguments a filter cannot see, or whose memory nobody could count, or of which
// the whole machine has only so many (asynchronous I/O).
var absent = [...]uint32{
	unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_IO_SETUP,
}

// masked refuses a call when an argument has one of the bits.
type masked struct {
	call uint32
	arg  int
	bits uint32
}

var maskedCalls = [...]masked{
	{call: unix.SYS_CLONE, arg: 0, bits: namespaceFlags},
	{call: unix.SYS_FCHMOD, arg: 1, bits: setIDBits},
	{call: unix.SYS_FCHMODAT, arg: 2, bits: setIDBits},
	{call: unix.SYS_FCHMODAT2, arg: 2, bits: setIDBits},
	{call: unix.SYS_MKNODAT, arg: 2, bits: setIDBits},
	// Huge pages are set aside for somebody, and in no process's resident size.
	{call: unix.SYS_MMAP, arg: 3, bits: unix.MAP_HUGETLB},
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

// filter is the program, one rule after the other; a rule that looks at
// arguments ends in a return, because the number is then no longer loaded.
func filter(left sockets) []unix.SockFilter {
	p := []unix.SockFilter{
		{Code: opLoad, K: offArch},
		{Code: opJEQ, Jt: 1, K: auditArch},
		{Code: opRet, K: retKill},
		{Code: opLoad, K: offNumber},
	}
	p = append(p, archRules()...)
	p = append(p, unix.SockFilter{Code: opJGE, Jf: 1, K: newestCall + 1}, unix.SockFilter{Code: opRet, K: retNoSys})
	for _, nr := range append(refused[:], archRefused()...) {
		p = append(p, unix.SockFilter{Code: opJEQ, Jf: 1, K: nr}, unix.SockFilter{Code: opRet, K: retEPERM})
	}
	for _, nr := range absent {
		p = append(p, unix.SockFilter{Code: opJEQ, Jf: 1, K: nr}, unix.SockFilter{Code: opRet, K: retNoSys})
	}
	for _, m := range append(maskedCalls[:], archMasked()...) {
		p = append(p, m.rule()...)
	}
	for _, o := range append(archOpens(), opening{call: unix.SYS_OPENAT, flags: 2}) {
		p = append(p, openRule(o)...)
	}
	p = append(p, terminalRule()...)
	p = append(p, personalityRule()...)
	if left == socketsProxy {
		p = append(p, unix.SockFilter{Code: opJEQ, Jf: 1, K: unix.SYS_LISTEN}, unix.SockFilter{Code: opRet, K: retEPERM})
		for _, m := range fastOpens {
			p = append(p, m.rule()...)
		}
	}
	p = append(p, socketRule(unix.SYS_SOCKET, left)...)
	p = append(p, socketRule(unix.SYS_SOCKETPAIR, socketsAll)...)
	return append(p, unix.SockFilter{Code: opRet, K: retAllow})
}

func (m masked) rule() []unix.SockFilter {
	return onCall(m.call,
		load(m.arg),
		unix.SockFilter{Code: opJSET, Jf: 1, K: m.bits},
		unix.SockFilter{Code: opRet, K: retEPERM},
		unix.SockFilter{Code: opRet, K: retAllow})
}

func load(arg int) unix.SockFilter {
	return unix.SockFilter{Code: opLoad, K: uint32(offArgs + 8*arg)}
}

// onCall runs body, which must return, when the call is nr.
func onCall(nr uint32, body ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: opJEQ, Jf: uint8(len(body)), K: nr}}, body...)
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

// terminalRule refuses to type into a terminal (TIOCSTI), or to command the
// console.
func terminalRule() []unix.SockFilter {
	return onCall(unix.SYS_IOCTL, append([]unix.SockFilter{load(1)},
		oneOf([]uint32{unix.TIOCSTI, unix.TIOCLINUX}, retEPERM, retAllow)...)...)
}

// personalityRule leaves what race detectors and old builds ask for, and the
// question.
func personalityRule() []unix.SockFilter {
	const linux32, uname26, noRandom, ask = 0x0008, 0x20000, 0x40000, 0xffffffff
	return onCall(unix.SYS_PERSONALITY, append([]unix.SockFilter{load(0)},
		oneOf([]uint32{0, linux32, uname26, linux32 | uname26, noRandom, ask}, retAllow, retEPERM)...)...)
}

// socketRule leaves unix and internet sockets, of which there is only a
// loopback inside, and of netlink the one that lists interfaces. A socket to
// the machine's hypervisor (AF_VSOCK) is among what it refuses.
//
// Where the network and the file system are the machine's own, so are all that
// listen there, and a filter cannot see whom a socket is for. Sockets but pairs
// are then refused in the way of a machine that has none: programs know that,
// and say it. With a proxy TCP is left, to which Landlock has a rule.
func socketRule(call uint32, left sockets) []unix.SockFilter {
	ret, inet := uint32(retAllow), []unix.SockFilter{{Code: opRet, K: retAllow}}
	if left != socketsAll {
		ret = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
		inet[0].K = ret
	}
	if left == socketsProxy {
		// Of a stream, which other protocols are too.
		inet = append([]unix.SockFilter{
			load(1),
			{Code: opAnd, K: kindOfSocket},
			{Code: opJEQ, Jt: 1, K: unix.SOCK_STREAM},
			{Code: opRet, K: ret},
			load(2),
		}, oneOf([]uint32{0, unix.IPPROTO_TCP}, retAllow, ret)...)
	}
	body := append([]unix.SockFilter{load(0), {Code: opJEQ, Jf: uint8(len(inet)), K: unix.AF_INET}}, inet...)
	for _, family := range []uint32{unix.AF_UNIX, unix.AF_INET6} {
		body = append(body, unix.SockFilter{Code: opJEQ, Jf: 1, K: family}, unix.SockFilter{Code: opRet, K: ret})
	}
	body = append(body,
		unix.SockFilter{Code: opJEQ, Jt: 1, K: unix.AF_NETLINK}, unix.SockFilter{Code: opRet, K: retEPERM},
		load(2),
		unix.SockFilter{Code: opJEQ, Jf: 1, K: unix.NETLINK_ROUTE}, unix.SockFilter{Code: opRet, K: retAllow},
		unix.SockFilter{Code: opRet, K: retEPERM})
	return onCall(call, body...)
}

// seccompSetModeFilter is SECCOMP_SET_MODE_FILTER.
const seccompSetModeFilter = 1

// filter puts the first process, and so the command, under the filter.
func (s *script) filter(left sockets) {
	p := filter(left)
	raw := make([]byte, 0, len(p)*8)
	for _, f := range p {
		raw = binary.NativeEndian.AppendUint16(raw, f.Code)
		raw = append(raw, f.Jt, f.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, f.K)
	}
	prog := binary.NativeEndian.AppendUint64(nil, uint64(len(p))) // a length of 16 bits, padded: little-endian machines both
	prog = binary.NativeEndian.AppendUint64(prog, uint64(s.bytes(raw)))
	s.add(partShared, "seccomp", 0, unix.SYS_SECCOMP, seccompSetModeFilter, 0, s.bytes(prog))
}
