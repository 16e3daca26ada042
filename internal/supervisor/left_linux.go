package supervisor

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/fork"
)

// Without a namespace of pids, and where the kernel killed both a subreaper and the
// first process of its command, nothing ends what the command has left. So all
// below a subreaper bear a mark: two numbers in /proc that a fork and an exec hand
// on, that anybody may read, and that a command cannot write, for Landlock gives
// it no file of /proc to write to. The first is of core dumps, which no command
// makes; the second lets the kernel, where memory is short, end a command before
// what keeps it, and is all that is left to see of a process whose first thread
// has ended.
const (
	markDump  = 0x1a5
	markShort = 947
)

// mark writes the mark. A process that does not show itself may not write it, so
// it is done before this one hides again. Where it fails nothing is lost but the
// mark.
func (s *script) mark() {
	s.Add(fork.Shared, "mark", fork.AnyError, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	for name, v := range map[string]int{"coredump_filter": markDump, "oom_score_adj": markShort} {
		s.writeFile("mark", "/proc/self/"+name, strconv.Itoa(v))
	}
	s.Add(fork.Shared, "mark", fork.AnyError, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// marked says whether a process was started below a subreaper of this user. A
// number that is free to anybody is not taken for proof alone: it must also be
// under a filter, without a way to new rights.
func marked(pid string) bool {
	dump, err := strconv.ParseUint(linux.ProcText(pid, "coredump_filter"), 16, 32)
	if err == nil && dump != markDump || err != nil && linux.ProcText(pid, "oom_score_adj") != strconv.Itoa(markShort) {
		return false
	}
	b, err := os.ReadFile(linux.LivingDir(pid) + "/status")
	if err != nil {
		return false
	}
	uid := []byte("Uid:\t" + strconv.Itoa(os.Getuid()) + "\t")
	return bytes.Contains(b, uid) && bytes.Contains(b, []byte("NoNewPrivs:\t1\n")) && bytes.Contains(b, []byte("Seccomp:\t2\n"))
}

// kept says whether a subreaper lives above a process, which then ends it itself.
// What bears the mark is no subreaper, whatever it calls itself. Where one above has
// just ended it is not known (sure is false): the next look tells.
func kept(pid string) (kept, sure bool) {
	for {
		pid = linux.Parent(pid)
		n, err := strconv.Atoi(pid)
		switch {
		case err != nil:
			return true, false
		case n <= 1:
			return false, true
		}
		if strings.HasPrefix(linux.ProcText(pid, "cmdline"), subreaperName) && !marked(pid) {
			return true, true
		}
	}
}

// Left are the processes that nobody keeps: a command's of the landlock tier, or
// PID 1 of a sandbox, which takes all of its own along. It is not sure where the
// parents of one were changing: it may be left, too.
func Left() (left []string, sure bool) {
	sure = true
	left = slices.DeleteFunc(linux.Processes(), func(n string) bool {
		if !marked(n) {
			return !hostless(n) || !linux.Running(n)
		}
		for range keptLooks {
			if !linux.Running(n) {
				return true
			}
			if is, known := kept(n); known {
				return is
			}
			time.Sleep(keptPause)
		}
		sure = false
		return true
	})
	return left, sure
}

// keptLooks and keptPause bound how long the parents of a process are looked for
// while they end.
const (
	keptLooks = 20
	keptPause = 200 * time.Microsecond
)

// hostless says whether a process is PID 1 of a sandbox whose host is gone: it
// names its host, and has another parent. The kernel ends it with its host; this
// is for the moment in which it has not yet, or where it cannot.
func hostless(pid string) bool {
	name, _, _ := strings.Cut(linux.ProcText(pid, "cmdline"), "\x00")
	host, is := strings.CutPrefix(name, childName+" ")
	if !is || !strings.Contains(linux.ProcText(pid, "status"), "\nUid:\t"+strconv.Itoa(os.Getuid())+"\t") {
		return false
	}
	parent := linux.Parent(pid)
	// It ends, or its parent cannot be seen from here, or is PID 1 itself: what that
	// forks bears its name until it is a command.
	if parent == "" || parent == "0" || strings.HasPrefix(linux.ProcText(parent, "cmdline"), childName) {
		return false
	}
	// Its host told it the number that it has for itself, the last in this list.
	for line := range strings.Lines(linux.ProcText(parent, "status")) {
		if ids, found := strings.CutPrefix(line, "NSpid:"); found {
			f := strings.Fields(ids)
			return len(f) > 0 && f[len(f)-1] != host
		}
	}
	return false
}

// SignalLeft sends a signal to a process that was left, and to no other that has
// got its number meanwhile.
func SignalLeft(pid string, s unix.Signal) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return (marked(pid) || hostless(pid)) && unix.PidfdSendSignal(fd, s, nil, 0) == nil
}
