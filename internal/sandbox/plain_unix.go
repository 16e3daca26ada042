//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"agency/internal/agency"
	"agency/internal/beneath"
)

// plainGrace is how long output is awaited from processes that left the
// command's group; only without a sandbox can there be any.
const plainGrace = 200 * time.Millisecond

// plainDeath is how long those in the command's group are awaited once they are
// killed: a busy machine takes its time, and where nobody reaps orphans they are
// never gone.
const plainDeath = 5 * time.Second

// runPlain is mode off: the command runs on the host in a process group of its
// own, with an environment built from nothing, a home of its own and a wall
// limit. Nothing else is kept from it.
func runPlain(ctx context.Context, s Spec) (Result, error) {
	tmp, err := os.MkdirTemp("", "agency-off-")
	if err != nil {
		return Result{}, agency.Errorf(agency.KindTransient, "sandbox: temporary folder: %w", err)
	}
	defer func() { _ = beneath.Remove(tmp) }()
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limits.Wall, errWall)
	defer cancel()
	out := newOutput(s)
	cmd := plainCommand(ctx, s, tmp, out)
	// The thread that starts the command must live as long as the command:
	// the kernel's parent-death signal follows the thread, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	err = cmd.Run()
	endGroup(cmd)
	res := Result{Duration: time.Since(began)}
	out.into(&res)
	return res, plainOutcome(ctx, cmd, err, &res)
}

func plainCommand(ctx context.Context, s Spec, tmp string, out *output) *exec.Cmd {
	at := onHost(s, nil)
	env := environment(tmp, tmp, moved(s.Tools.Env, at), plainGit(s.Place), moved(s.Env, at))
	cmd := exec.CommandContext(ctx, s.Argv[0], s.Argv[1:]...)
	if !strings.ContainsRune(s.Argv[0], '/') {
		cmd.Path, cmd.Err = findProgram(s.Argv[0], getEnv(env, "PATH"))
	}
	cmd.Dir = filepath.Join(s.Place.Root, s.Dir)
	cmd.Env = env
	cmd.Stdin = bytes.NewReader(s.Stdin)
	if s.Input != nil {
		cmd.Stdin = s.Input
	}
	cmd.Stdout, cmd.Stderr = stream{out, true}, stream{out, false}
	cmd.SysProcAttr = plainAttr()
	cmd.WaitDelay = plainGrace
	cmd.Cancel = func() error { killGroup(cmd); return nil }
	return cmd
}

// plainGit points git at the throw-away git dir, which has no mount at .git
// here.
func plainGit(p Place) []string {
	if p.GitDir == "" {
		return nil
	}
	return []string{"GIT_DIR=" + p.GitDir, "GIT_WORK_TREE=" + p.Root}
}

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// endGroup kills what the command has left in its group and waits until it is
// gone: a process that has its death before it may still write.
func endGroup(cmd *exec.Cmd) {
	killGroup(cmd)
	if cmd.Process == nil {
		return
	}
	until := time.Now().Add(plainDeath)
	for syscall.Kill(-cmd.Process.Pid, 0) == nil && time.Now().Before(until) { // the dead that nobody reaps count, too
		time.Sleep(time.Millisecond)
	}
}

func plainOutcome(ctx context.Context, cmd *exec.Cmd, err error, res *Result) error {
	if cmd.ProcessState == nil {
		res.Cause, res.ExitCode = CauseNotStarted, notStartedCode(err)
		res.tell(err.Error())
		return nil
	}
	ps := cmd.ProcessState
	res.CPU = ps.UserTime() + ps.SystemTime()
	if ru, ok := ps.SysUsage().(*syscall.Rusage); ok {
		res.MaxRSSKB = ru.Maxrss
		if runtime.GOOS == "darwin" { // which counts bytes
			res.MaxRSSKB /= 1024
		}
	}
	if ws, ok := ps.Sys().(syscall.WaitStatus); ok {
		res.setStatus(ws)
	}
	if c, killed := endedBy(ctx); killed && res.Cause == CauseSignalled {
		res.Cause, res.ExitCode = c, killedCode
	}
	return nil
}

// notStartedCode is what a shell answers: 126 for a file that cannot be run,
// 127 for none.
func notStartedCode(err error) int {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
		return 126
	}
	return 127
}

// findProgram looks a bare name up in a list of folders.
func findProgram(name, path string) (string, error) {
	why := os.ErrNotExist
	for _, p := range candidates(name, path) {
		fi, err := os.Stat(p)
		switch {
		case err != nil || fi.IsDir():
		case fi.Mode()&0o111 == 0:
			why = os.ErrPermission
		default:
			return p, nil
		}
	}
	return "", &os.PathError{Op: "exec", Path: name, Err: why}
}

// candidates are the paths at which a program is looked for, in order.
func candidates(name, path string) []string {
	if strings.ContainsRune(name, '/') {
		return []string{name}
	}
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out
}
