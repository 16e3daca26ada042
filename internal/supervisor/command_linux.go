package supervisor

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/fork"
	"agency/internal/linux/meter"
)

// locks are the rules of Landlock that a command gets, -1 for none: its own and,
// in the landlock tier, those of its first process.
type locks struct{ rules, scope int }

// underWay is a command that has been forked.
type underWay struct {
	*script
	told  int // where its first process tells how it ended
	leash int // whose other end its host lets go of: fdControl, or of one of several its own
	watch *meter.Watch
	looks func() bool // whether it is this one that looks at what is used
}

// command forks and awaits.
func command(p Plan, in *incoming, l locks, d meter.Disks) (Report, error) {
	u, err := start(p, in, l, d)
	if err != nil {
		return Report{}, err
	}
	return u.await()
}

// start forks.
func start(p Plan, in *incoming, l locks, d meter.Disks) (*underWay, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	all := [4]int{in.files[0], in.files[1], in.files[2], pipe[1]}
	fds, err := above(all)
	if err != nil {
		_, _ = unix.Close(pipe[0]), unix.Close(pipe[1])
		return nil, err
	}
	script := writeScript(p, in.request, fds, l)
	w := meter.New(in.request.Limits.Limits, d)
	w.Open, w.Scoped = p.Landlock, l.scope >= 0
	w.Temp = meter.Temp{Dir: in.request.Tmp, Limit: int64(in.request.Limits.TmpMB) << 20}
	pid, err := script.Fork()
	for _, fd := range append(fds[:], pipe[1]) {
		_ = unix.Close(fd)
	}
	in.close()
	if err != nil {
		_ = unix.Close(pipe[0])
		return nil, fmt.Errorf("fork: %w", err)
	}
	w.First = pid
	return &underWay{script: script, told: pipe[0], leash: fdControl, watch: w, looks: func() bool { return true }}, nil
}

// freeFiles is above all numbers that a script hands out.
const freeFiles = 16

// above gives the files numbers that are none of those which the script hands
// out.
func above(all [4]int) (out [4]int, err error) {
	for i, fd := range all {
		if out[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, freeFiles); err != nil {
			for _, made := range out[:i] {
				_ = unix.Close(made)
			}
			return out, err
		}
	}
	return out, nil
}

// await waits until the command ends or the watch says that a limit is passed,
// and takes all of its processes with it. When the host goes meanwhile, so does
// this process; where it only lets go of the command, that one alone.
func (u *underWay) await() (Report, error) {
	defer func() { _ = unix.Close(u.told) }()
	w, next := u.watch, time.Now().Add(meter.FirstLook)
	for {
		ready, gone, err := u.poll(time.Until(next))
		switch {
		case err != nil:
			return Report{}, err
		case gone:
			ru := endAll(w)
			if u.leash == fdControl {
				os.Exit(HostGone)
			}
			return addUsed(w, Report{Cause: Killed}, ru), nil
		case ready:
			b := make([]byte, fork.RecordSize)
			n, err := unix.Read(u.told, b)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			ru := endAll(w)
			if err != nil || n != fork.RecordSize {
				return addUsed(w, Report{Cause: Killed}, ru), nil
			}
			return reportOf(w, u.script, fork.ReadRecord(b), ru)
		case time.Now().Before(next):
			continue
		}
		if u.looks() {
			if cause := w.Look(); cause != "" {
				return addUsed(w, Report{Cause: string(cause)}, endAll(w)), nil
			}
		}
		next = time.Now().Add(w.Pause)
	}
}

// poll waits until there is something to read of a command's first process, or
// until its host has let go of it: nothing else comes that way while it runs.
func (u *underWay) poll(wait time.Duration) (ready, gone bool, err error) {
	fds := [...]unix.PollFd{{Fd: int32(u.told), Events: unix.POLLIN}, {Fd: int32(u.leash), Events: unix.POLLIN | unix.POLLRDHUP}}
	limit := unix.NsecToTimespec(max(wait, 0).Nanoseconds())
	if _, err := unix.Ppoll(fds[:], &limit, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return false, false, fmt.Errorf("poll: %w", err)
	}
	return fds[0].Revents != 0, fds[1].Revents != 0, nil
}

// endAll kills the first process of a namespace, and so all of them, and waits
// for it, which ends after them. Without a namespace it is told to do so itself,
// or they are killed one by one.
func endAll(w *meter.Watch) *syscall.Rusage {
	sig := unix.SIGKILL
	switch {
	case w.Scoped:
		sig = fork.EndScope
	case w.Open:
		linux.KillDescendants(w.First)
	}
	_ = unix.Kill(w.First, sig)
	ru, ws := &syscall.Rusage{}, syscall.WaitStatus(0)
	for {
		if _, err := syscall.Wait4(w.First, &ws, 0, ru); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if w.Open && !(w.Scoped && ws.Exited()) { // one that was killed has left what there was
		linux.KillDescendants(os.Getpid())
	}
	return ru
}

// addUsed adds to a report what was counted, ru by the kernel for all processes that
// have ended.
func addUsed(w *meter.Watch, rep Report, ru *syscall.Rusage) Report {
	cpu, peakKB := w.Used(ru)
	rep.CPUMicros, rep.MaxRSSKB = cpu.Microseconds(), peakKB
	return rep
}

// reportOf is what a record says.
func reportOf(w *meter.Watch, s *script, r fork.Record, ru *syscall.Rusage) (Report, error) {
	e := syscall.Errno(r.Value)
	switch r.What {
	case fork.Ended:
		return addUsed(w, Report{Wait: uint32(r.Value)}, ru), nil
	case fork.NotStarted:
		err := &os.PathError{Op: "exec", Path: s.program, Err: e}
		return Report{NotStarted: err.Error(), Errno: e}, nil
	}
	if name := s.Name(int(r.Which)); name != stepChdir {
		return Report{}, fmt.Errorf("%s: %w", name, e)
	}
	err := &os.PathError{Op: "chdir", Path: s.dir, Err: e}
	return Report{NotStarted: err.Error(), Errno: e}, nil
}
