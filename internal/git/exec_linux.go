package git

import (
	"os/exec"
	"syscall"
)

// isolate puts the command into a process group of its own that is killed
// whole, and lets the kernel kill it when this process dies.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
