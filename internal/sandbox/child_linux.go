package sandbox

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is the first statement of main and of every TestMain whose package
// runs commands. Where this process was started to be a sandbox, or the probe
// in one, it never returns; everywhere else it does nothing.
func Child() {
	switch {
	case len(os.Args) == 1 && os.Args[0] == childName && os.Getpid() == 1:
		os.Exit(initProcess())
	case len(os.Args) == 2 && os.Args[1] == probeArg && os.Getppid() == 1:
		os.Exit(runAttempts())
	}
}

// hostGone is PID 1's exit code when the host is no more; nobody reads it.
const hostGone = 1

// initProcess is PID 1 of the sandbox: it builds the view, starts the command,
// reaps what the command leaves, and ends when the command does, a limit is
// passed, or the host is gone. The kernel then kills every other process of
// the namespace.
func initProcess() int {
	// The thread that gives up its rights is the one that forks the command,
	// which inherits them. The others stay as they are and run only this
	// package.
	runtime.LockOSThread()
	control := os.NewFile(fdControl, "control")
	status := os.NewFile(fdStatus, "status")
	if err := unix.CloseRange(fdControl, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return hostGone
	}
	catchSignals()
	var p plan
	if err := readFrame(control, &p); err != nil {
		return hostGone
	}
	if err := writeFrame(status, runPlan(p, control)); err != nil {
		return hostGone
	}
	return 0
}

// catchSignals keeps a signal that the command sends to PID 1 from ending it.
// They are caught, not ignored: ignored ones would stay so in the command.
func catchSignals() {
	signal.Notify(make(chan os.Signal, 1))
}

// runPlan does everything and reports it. The command starts when the host says
// so, with a byte, and ends when control does.
func runPlan(p plan, control *os.File) report {
	own, err := buildView(p)
	if err != nil {
		return report{Setup: err.Error()}
	}
	program, err := findProgram(p.Argv[0], getEnv(p.Env, "PATH"))
	if err == nil {
		err = os.Chdir(p.Dir)
	}
	if err != nil {
		return report{NotStarted: err.Error(), Code: notStartedCode(err), OwnCaches: own}
	}
	if err := giveUp(p); err != nil {
		return report{Setup: err.Error()}
	}
	if _, err := io.ReadFull(control, make([]byte, 1)); err != nil {
		os.Exit(hostGone)
	}
	go func() {
		_, _ = io.Copy(io.Discard, control)
		os.Exit(hostGone)
	}()
	w := newWatch(p.Limits)
	pid, err := syscall.ForkExec(program, p.Argv, &syscall.ProcAttr{
		Dir: p.Dir, Env: p.Env, Files: []uintptr{0, 1, 2},
		// A session of its own is also a scheduling group of its own, so that
		// a fork bomb does not keep PID 1 from the processor.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		err = &os.PathError{Op: "exec", Path: p.Argv[0], Err: err}
		return report{NotStarted: err.Error(), Code: notStartedCode(err), OwnCaches: own}
	}
	rep := await(pid, w)
	rep.OwnCaches = own
	return rep
}

// await reaps until the command ends or the watch says that a limit is passed.
func await(pid int, w *watch) report {
	ended := make(chan syscall.WaitStatus, 1)
	go reap(pid, ended)
	tick := time.NewTimer(firstLook)
	defer tick.Stop()
	for {
		select {
		case ws := <-ended:
			return w.report(report{Wait: uint32(ws)})
		case <-tick.C:
			if cause := w.look(); cause != "" {
				return w.report(report{Cause: cause})
			}
			tick.Reset(nextLook)
		}
	}
}

// reap collects every child, the orphans that PID 1 inherits among them.
func reap(pid int, ended chan<- syscall.WaitStatus) {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return // no child is left: the command has been reported
		case got == pid:
			ended <- ws
		}
	}
}
