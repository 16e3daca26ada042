package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
)

// runFull runs one command in the full tier.
func (r *Runner) runFull(ctx context.Context, s Spec) (Result, error) {
	if err := checkOwner(s.Place); err != nil {
		return Result{}, err
	}
	layers, err := takeLayers(s.LayerDir, s.Tools.Overlays)
	if err != nil {
		return Result{}, agency.Errorf(agency.KindTransient, "sandbox: cache layers: %w", err)
	}
	defer layers.release()
	p, err := makePlan(s, layers.layers)
	if err != nil {
		return Result{}, agency.Errorf(agency.KindInvalid, "sandbox: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limits.Wall, errWall)
	defer cancel()
	if c, over := endedBy(ctx); over {
		return Result{Cause: c, ExitCode: killedCode}, nil
	}
	group := r.machine.cgroup.open(s.Limits)
	defer group.close()
	out := newOutput(s.Limits.OutputKB)
	began := time.Now()
	rep, err := runChild(ctx, p, s.Stdin, out, group)
	if err != nil {
		if c, over := endedBy(ctx); over { // between the look above and the start
			return Result{Cause: c, ExitCode: killedCode}, nil
		}
		return Result{}, err
	}
	if rep.Setup != "" {
		return Result{}, agency.Errorf(agency.KindTransient, "sandbox: %s", rep.Setup).WithMend("%s", waysOut())
	}
	res := Result{Duration: time.Since(began)}
	out.into(&res)
	rep.into(&res, ctx, group)
	return res, nil
}

// checkOwner refuses root in a checkout that is another user's: what the
// command writes would be root's, and what root alone may read would be open
// to the command.
func checkOwner(p Place) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, dir := range []string{p.At, p.Root} {
		fi, err := os.Stat(dir)
		if err != nil {
			continue
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || st.Uid == 0 {
			continue
		}
		name := strconv.Itoa(int(st.Uid))
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		return agency.Errorf(agency.KindDenied, "sandbox: %s belongs to %s and this is root", dir, name).
			WithMend("run it as that user: sudo -u %s agency ...", name)
	}
	return nil
}

// runChild starts the child, hands it the plan and waits for its report. It
// returns when PID 1 is gone, and PID 1 goes only after every process of its
// namespace.
func runChild(ctx context.Context, p plan, stdin []byte, out *output, group *group) (report, error) {
	// The parent-death signal follows the thread that forked: it must not be
	// one that the runtime ends earlier than the command.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, control, status, err := startChild(ctx, stdin, out, group)
	if err != nil {
		return report{}, err
	}
	sent := writeFrame(control, p)
	// While the child builds its view: it waits for the byte before it starts
	// the command.
	group.adopt(cmd.Process.Pid)
	if _, err := control.Write([]byte{0}); sent == nil {
		sent = err
	}
	waited := cmd.Wait()
	_ = control.Close()
	var rep report
	told := readFrame(status, &rep)
	_ = status.Close()
	// PID 1 that is killed cannot tell; one that ends by itself always does.
	if _, ended := endedBy(ctx); told != nil && !ended && cmd.ProcessState.Exited() {
		return rep, agency.Errorf(agency.KindInternal,
			"sandbox: the child did not answer: sandbox.Child must be the first statement of main: %w", errors.Join(sent, waited, told))
	}
	if told != nil { // killed before it could tell
		rep = report{Cause: causeKilled}
	}
	return rep, nil
}

// causeKilled stands in a report that was never written, until it is known who
// killed PID 1.
const causeKilled Cause = "killed"

func startChild(ctx context.Context, stdin []byte, out *output, group *group) (cmd *exec.Cmd, control, status *os.File, err error) {
	controlR, control, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, agency.Errorf(agency.KindTransient, "sandbox: %w", err)
	}
	defer func() { _ = controlR.Close() }()
	status, statusW, err := os.Pipe()
	if err != nil {
		_ = control.Close()
		return nil, nil, nil, agency.Errorf(agency.KindTransient, "sandbox: %w", err)
	}
	defer func() { _ = statusW.Close() }()
	cmd = childCommand(ctx, stdin, out, group)
	cmd.ExtraFiles = []*os.File{controlR, statusW}
	if err := cmd.Start(); err != nil {
		_, _ = control.Close(), status.Close()
		return nil, nil, nil, agency.Errorf(agency.KindTransient, "sandbox: new namespaces: %w", err).WithMend("%s", waysOut())
	}
	return cmd, control, status, nil
}

func childCommand(ctx context.Context, stdin []byte, out *output, group *group) *exec.Cmd {
	// The program of this very process, also when its file is gone.
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{childName}
	// The last is for builds with the race detector, which else waits a second
	// at the end.
	cmd.Env = []string{"GOGC=off", "GOMAXPROCS=2", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}
	cmd.Dir = "/"
	if len(stdin) > 0 {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	cmd.Stdout, cmd.Stderr = stream{out, true}, stream{out, false}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
			unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: insideID(os.Getuid()), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: insideID(os.Getgid()), HostID: os.Getgid(), Size: 1}},
		// Enough to build the view, nothing outside: these hold in the new
		// namespaces only, and are gone before the command starts.
		// The last is for overlays, whose work folder nobody may enter.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE},
	}
	group.into(cmd.SysProcAttr)
	return cmd
}

// into turns a child's report into a result.
func (rep report) into(res *Result, ctx context.Context, g *group) {
	res.CPU = time.Duration(rep.CPUMicros) * time.Microsecond
	res.MaxRSSKB = rep.MaxRSSKB
	res.OwnCaches = rep.OwnCaches
	switch {
	case rep.NotStarted != "":
		res.Cause, res.ExitCode = CauseNotStarted, rep.Code
		res.Output = append(res.Output, ("sandbox: " + rep.NotStarted + "\n")...)
	case rep.Cause == causeKilled:
		res.Cause, res.ExitCode = CauseSignalled, killedCode
		if c, ok := endedBy(ctx); ok {
			res.Cause = c
		}
	case rep.Cause != "":
		res.Cause, res.ExitCode = rep.Cause, killedCode
	default:
		res.setStatus(syscall.WaitStatus(rep.Wait))
	}
	if g.outOfMemory() && (res.Cause == CauseSignalled || res.Cause == CauseExited && res.ExitCode != 0) {
		res.Cause, res.ExitCode = CauseMemory, killedCode
	}
}
