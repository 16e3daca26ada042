//go:build unix

package sandbox

import (
	"context"
	"errors"
	"syscall"
)

// killedCode is the exit code of a command that the sandbox killed: 128 and
// SIGKILL, as a shell has it.
const killedCode = 137

// errWall is the cause of a context that Limits.Wall ended.
var errWall = errors.New("wall limit")

// tell adds to a command's output what the sandbox has to say of it.
func (r *Result) tell(what string) { r.Output = append(r.Output, "sandbox: "+what+"\n"...) }

// setStatus reads a command's wait status. A shell passes its last command's
// signal on as 128 and its number, so the two signals of a limit are known in
// either form.
func (r *Result) setStatus(ws syscall.WaitStatus) {
	sig := syscall.Signal(0)
	if ws.Signaled() {
		sig = ws.Signal()
		r.Cause, r.ExitCode = CauseSignalled, 128+int(sig)
	} else {
		r.Cause, r.ExitCode = CauseExited, ws.ExitStatus()
		if r.ExitCode > 128 {
			sig = syscall.Signal(r.ExitCode - 128)
		}
	}
	switch sig {
	case syscall.SIGXCPU:
		r.Cause = CauseCPU
	case syscall.SIGXFSZ:
		r.Cause = CauseFileSize
	}
}

// endedBy tells whether ctx is over, and whether by the wall limit or by the
// caller.
func endedBy(ctx context.Context) (Cause, bool) {
	switch {
	case ctx.Err() == nil:
		return "", false
	case errors.Is(context.Cause(ctx), errWall):
		return CauseTimeout, true
	default:
		return CauseCancelled, true
	}
}
